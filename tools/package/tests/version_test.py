#!/usr/bin/env python3
"""Holds the version that a program tells to the newest heading of CHANGELOG.md with a day: version_test.py QTX SOURCE."""
import json
import pathlib
import re
import subprocess
import sys


def main():
    qtx, source = sys.argv[1:]
    told = json.loads(subprocess.run([qtx, "--version", "--json"], check=True, capture_output=True, text=True).stdout)
    changes = pathlib.Path(source, "CHANGELOG.md").read_text()
    version = told["provenance"]["qtx"]["version"]
    released = re.search(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)", changes, flags=re.M)
    if released is None or version != released[1]:
        sys.exit(f"CHANGELOG.md: found {released and released[1]}, expected {version}, which `qtx --version` tells")


if __name__ == "__main__":
    main()
