#!/usr/bin/env python3
"""A backend that dies at random: mortal.py PROGRAM [ARG]... runs PROGRAM on its own stdin and stdout.

QTX_MORTAL is the mean of its life in seconds (exponential distribution; without it nothing happens), QTX_MORTAL_SEED with the process
id seeds what happens, QTX_MORTAL_LOG is a file that each death adds a line to before it happens. WAYS says how, with its weight.
"""
import os
import random
import signal
import subprocess
import sys
import threading
import time

WAYS = {
    "killed": 4,  # PROGRAM by SIGKILL
    "exit": 2,  # status 3
    "orphan": 2,  # this process by SIGKILL, while PROGRAM has the pipes
    "closed": 1,  # stdout is closed, the process stays
    "cut": 1,  # half of what PROGRAM writes next, then status 0
    "hang": 2,  # no death: PROGRAM stands still for a second
}


class Output(threading.Thread):
    """Hands on what PROGRAM writes, until it is cut."""

    def __init__(self, source):
        super().__init__(daemon=True)
        self.source, self.cut = source, False

    def run(self):
        while data := os.read(self.source.fileno(), 1 << 16):
            if self.cut:
                os.write(1, data[:len(data) // 2])
                os._exit(0)  # PROGRAM loses its pipes
            while data:
                data = data[os.write(1, data):]


def note(way):
    if "QTX_MORTAL_LOG" in os.environ:
        with open(os.environ["QTX_MORTAL_LOG"], "a", encoding="utf-8") as log:
            log.write(way + "\n")


def die(way, program, output):
    if way == "orphan":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "closed":
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        program.kill()
        while os.read(0, 1 << 16):
            pass
        return 0
    if way == "cut":
        output.cut = True
        return program.wait()
    program.kill()
    program.wait()
    return 3 if way == "exit" else 1


def main():
    mean = float(os.environ.get("QTX_MORTAL", 0))
    draw = random.Random(f"{os.environ.get('QTX_MORTAL_SEED', '')} {os.getpid()}")
    way = draw.choices(list(WAYS), list(WAYS.values()))[0]
    through = mean and way in ("closed", "cut")
    program = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE if through else None)
    output = Output(program.stdout) if through else None
    if output:
        output.start()
    while True:
        try:
            status = program.wait(draw.expovariate(1 / mean) if mean else None)
            if output:
                output.join()
            return status
        except subprocess.TimeoutExpired:
            if way != "hang":
                note(way)
                return die(way, program, output)
            program.send_signal(signal.SIGSTOP)
            time.sleep(1)
            program.send_signal(signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(main())
