"""Reads a line from the terminal and prints it as "<line>".

As ssh does when it asks for a password, it catches TTIN, stops itself by it, and reads again. It stops only when its
group has the terminal and goes on, which is as late as it can be.

usage: python3 late_stop.py LEADER
"""

import os
import signal
import sys
import time


class Caught(Exception):
    pass


def catch(*_):
    raise Caught


def is_continued():
    with open(f"/proc/{sys.argv[1]}/stat") as stat:
        state = stat.read().rpartition(") ")[2][0]
    return os.tcgetpgrp(tty) == os.getpgrp() and state != "T"


tty = os.open("/dev/tty", os.O_RDWR)
while True:
    signal.signal(signal.SIGTTIN, catch)
    try:
        line = os.read(tty, 100)
        break
    except Caught:
        while not is_continued():
            time.sleep(0.01)
        signal.signal(signal.SIGTTIN, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTTIN)
print(f"<{line.decode().strip()}>")
