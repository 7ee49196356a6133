#!/usr/bin/env python3
"""A backend that dies at random: mortal.py PROGRAM [ARG]... runs PROGRAM on its own stdin and stdout and kills it after a time of
exponential distribution, QTX_MORTAL seconds in the mean; without that it lives."""
import os
import random
import subprocess
import sys


def main():
    mean = float(os.environ.get("QTX_MORTAL", 0))
    program = subprocess.Popen(sys.argv[1:])
    try:
        return program.wait(random.SystemRandom().expovariate(1 / mean) if mean else None)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()
        return 1


if __name__ == "__main__":
    sys.exit(main())
