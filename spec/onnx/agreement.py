#!/usr/bin/env python3
"""agreement.py ARITHMETIC REPORT...: how far reports of `qtx validate --json` agree.

Of the cases that every report has a result for in ARITHMETIC: how many pass everywhere, and how many fail somewhere.
"""
import json
import pathlib
import sys


def outcomes(path, arithmetic):
    for backend in json.loads(pathlib.Path(path).read_text())["backends"]:
        if backend["arithmetic"] == arithmetic:
            return {case["id"]: case["outcome"] for case in backend["cases"]}
    sys.exit(f"{path}: no results in arithmetic '{arithmetic}'")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    reports = [outcomes(path, sys.argv[1]) for path in sys.argv[2:]]
    common = [case for case in reports[0] if all(report.get(case) in ("pass", "fail") for report in reports)]
    passed = sum(all(report[case] == "pass" for report in reports) for case in common)
    print(f"{len(common)} cases run in all {len(reports)}: {passed} pass in all, {len(common) - passed} fail in some, "
          f"{sum(all(report[case] == 'fail' for report in reports) for case in common)} of them in all")


if __name__ == "__main__":
    main()
