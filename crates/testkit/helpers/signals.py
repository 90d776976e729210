"""Prints "ready PID", then "got NUMBER" for each signal that comes, as often as it comes. Ends at KILL.

usage: python3 signals.py [LEAVE | CHILDREN [NUMBER]]

LEAVE: first joins the process group of a child, which ends with it.
CHILDREN: has two children that do the same, one in the process group and one in a session of its own. They print
"member PID" and "outside PID" before that line, and then "member got NUMBER" and "outside got NUMBER". At the signal
NUMBER the first process exits with 7.
"""

import os
import signal
import sys

everything = signal.valid_signals()
signal.pthread_sigmask(signal.SIG_BLOCK, everything)
arguments = sys.argv[1:]


def print_signals(who, last=None):
    while True:
        got = signal.sigwait(everything)
        print(f"{who}got {int(got)}", flush=True)
        if got == last:
            os._exit(7)


if arguments == ["LEAVE"]:
    alive, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        os.setpgid(0, 0)
        os.read(alive, 1)
        os._exit(0)
    os.setpgid(child, child)
    os.setpgid(0, child)
if arguments[:1] == ["CHILDREN"]:
    for who in ["member", "outside"]:
        ready, end = os.pipe()
        if os.fork() == 0:
            if who == "outside":
                os.setsid()
            print(who, os.getpid(), flush=True)
            os.close(end)
            print_signals(who + " ")
        os.close(end)
        os.read(ready, 1)
print("ready", os.getpid(), flush=True)
print_signals("", int(arguments[1]) if len(arguments) > 1 else None)
