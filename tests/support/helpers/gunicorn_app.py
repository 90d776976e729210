"""An application for gunicorn: a request creates the file "begun" in the directory WORK, and is answered with "done" when
there is a file "go".
"""

import os
import time
from pathlib import Path

work = Path(os.environ["WORK"])


def app(environ, start_response):
    (work / "begun").touch()
    while not (work / "go").exists():
        time.sleep(0.02)
    start_response("200 OK", [("Content-Length", "4")])
    return [b"done"]
