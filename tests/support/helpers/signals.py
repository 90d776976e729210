"""Prints "ready PID", then "got NUMBER" for each signal that comes, as often as it comes. Ends at KILL.

usage: python3 signals.py [LEAVE]

LEAVE: first joins the process group of a child, which ends with it.
"""

import os
import signal
import sys

everything = signal.valid_signals()
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
if sys.argv[1:] == ["LEAVE"]:
    alive, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        os.setpgid(0, 0)
        os.read(alive, 1)
        os._exit(0)
    os.setpgid(child, child)
    os.setpgid(0, child)
print("ready", os.getpid(), flush=True)
while True:
    print("got", signal.sigwait(everything), flush=True)
