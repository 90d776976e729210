"""Runs a command under kazoo's Lock. Usage: kazoo_lock.py HOSTS PATH COMMAND..."""

import subprocess
import sys

from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1], timeout=30)
client.start()
with client.Lock(sys.argv[2]):
    code = subprocess.call(sys.argv[3:])
client.stop()
sys.exit(code)
