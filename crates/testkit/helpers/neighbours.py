"""Takes kazoo's own locks when it is told to, for tests of zklock beside them.

usage: python neighbours.py HOSTS SECONDS, with that session timeout, then lines on stdin:
  take ID KIND PATH                prints "held ID" when it has it; KINDS has the kinds
  give ID                          prints "released ID"
Ends with stdin.
"""

import os
import sys
import threading

from kazoo.client import KazooClient


KINDS = {
    "lock": lambda client, path: client.Lock(path),
    "named": lambda client, path: client.Lock(path, "kazoo-host:4711"),
    "read": lambda client, path: client.ReadLock(path),
    "write": lambda client, path: client.WriteLock(path),
    "semaphore": lambda client, path: client.Semaphore(path, max_leases=2),
}


def say(*words):
    # One write a line: several threads speak.
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def hold(client, id, kind, path, given):
    try:
        lock = KINDS[kind](client, path)
        lock.acquire()
        say("held", id)
        given.wait()
        lock.release()
        say("released", id)
    except Exception as failure:
        say("failed", id, repr(failure))


client = KazooClient(hosts=sys.argv[1], timeout=int(sys.argv[2]))
client.start(timeout=20)
taken = {}
for line in sys.stdin:
    verb, id, *rest = line.split()
    if verb == "take":
        given = taken[id] = threading.Event()
        threading.Thread(target=hold, args=(client, id, *rest, given), daemon=True).start()
    else:
        taken.pop(id).set()
os._exit(0)
