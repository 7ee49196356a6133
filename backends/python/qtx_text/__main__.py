"""A backend of the QTX protocol, written from the text of the specification alone (README.md says why).

`qtx-backend-python` speaks the protocol on standard input and output; `--operators` prints what it has.
"""
import sys

from .arithmetic import ARITHMETICS
from .ops import OPERATORS
from .serve import serve


def main():
    if "--operators" in sys.argv[1:]:
        print("operators:", " ".join(sorted(OPERATORS)))
        print("arithmetics:", " ".join(ARITHMETICS))
        return 0
    return serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    sys.exit(main())
