"""A backend of the QTX protocol, written from the text of the specification alone.

Why it exists: the specification and its C++ reference were written by the same hands, so that the one cannot show where
the other is wrong, unclear or silent. This program is a second reading of the text, by somebody who has not seen the
reference. Where the two give different answers to the same frames, the text or one of the programs has to change
(fuzz_wire.py looks for such frames). What the text leaves open is listed in questions.md with the reading taken here.

`python3 -m qtx_text` speaks the protocol on standard input and output; `--operators` prints what it has.
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
