"""A task for a celery worker, whose broker is the directory WORK: it creates the file "begun", waits for the file "go", and
creates the file "done".

usage: python -c "import celery_task; celery_task.wait.delay()" queues it.
"""

import os
import time
from pathlib import Path

from celery import Celery

work = Path(os.environ["WORK"])
for folder in ["queue", "control"]:
    (work / folder).mkdir(exist_ok=True)
queue = str(work / "queue")

app = Celery("celery_task", broker="filesystem://")
app.conf.broker_transport_options = {
    "data_folder_in": queue,
    "data_folder_out": queue,
    "control_folder": str(work / "control"),
}


@app.task
def wait():
    (work / "begun").touch()
    while not (work / "go").exists():
        time.sleep(0.02)
    (work / "done").touch()
