"""Runs the tutorials, or writes them as notebooks."""

import argparse
import pathlib
import sys
import time

from qtx import tutorials


def main():
    """Status 1 where a page prints something else than it says."""
    parser = argparse.ArgumentParser(prog="python -m qtx.tutorials", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(tutorials.names())} (default: all)")
    parser.add_argument("--notebooks", metavar="FOLDER", type=pathlib.Path, help="write NAME.ipynb there, and run nothing")
    options = parser.parse_args()
    unknown = set(options.names) - set(tutorials.names())
    if unknown:
        parser.error(f"found {sorted(unknown)}, expected some of {tutorials.names()}")
    for name in options.names or tutorials.names():
        path = tutorials.FOLDER / f"{name}.md"
        if options.notebooks:
            target = options.notebooks / f"{name}.ipynb"
            try:
                options.notebooks.mkdir(parents=True, exist_ok=True)
                target.write_text(tutorials.notebook(path.read_text(encoding="utf-8")), encoding="utf-8")
            except OSError as fault:
                sys.exit(f"{fault.filename}: {fault.strerror}")
            print(target)
            continue
        begin = time.monotonic()
        try:
            count, missing = tutorials.run(path)
        except tutorials.Mismatch as fault:
            sys.exit(str(fault))
        left_out = f", without those that need {', '.join(missing)}" if missing else ""
        print(f"{path}: {count} cells print what the page says{left_out}; {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
