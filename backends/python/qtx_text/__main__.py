"""A backend of the QTX protocol, written from the text of the specification alone (README.md says why).

`qtx-backend-python` speaks the protocol on standard input and output; `--operators` lists its operators.
"""
import sys

from .ops import OPERATORS
from .serve import serve


def main():
    if "--operators" in sys.argv[1:]:
        print("\n".join(sorted(OPERATORS)))
        return 0
    return serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    sys.exit(main())
