"""The program `qtx` of the package: the C++ program, which takes the place of this process."""

import os
import pathlib
import sys

from qtx import _core


def program():
    """The path of the program: in the package, else where the source tree builds it."""
    here = pathlib.Path(__file__).parent
    for path in (here / "bin/qtx", pathlib.Path(_core.__file__).parents[2] / "bin/qtx"):
        if path.is_file():
            return str(path)
    raise FileNotFoundError("the program qtx is not in this package")


def main():
    """Runs it with this process's arguments."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
