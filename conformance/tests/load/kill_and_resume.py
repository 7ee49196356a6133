#!/usr/bin/env python3
"""Kills `qtx validate --resume` again and again, over backends that die at random, and holds the end to an undisturbed run.

Usage: kill_and_resume.py QTX SERVER [--suite DIR] [--kills 100] [--jobs 16] [--death SECONDS] [--full N]

SERVER is a backend's program (qtx-backend-x86). A run is killed (SIGKILL, harness alone: its backends must end by themselves) when its
journal has grown by a share of what the undisturbed run writes; each N-th run finds a disk that is full instead (a limit of
file size in the midst of a record). At last a run ends, without deaths of backends. It fails where
- a case of the undisturbed run is not in the report, is there twice, or has another outcome; one that a backend's death ended is a
  crash in the journal, and stays one;
- the journal holds a result twice;
- a full disk is not an error with status 4;
- a process is left.
"""
import argparse
import collections
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

MORTAL = pathlib.Path(__file__).with_name("mortal.py")
DEADLINE = 3600  # seconds of one run


def outcomes(report):
    """{(arithmetic, case): [outcomes]} of a report."""
    found = collections.defaultdict(list)
    for backend in json.loads(report.read_text())["backends"]:
        for case in backend["cases"]:
            found[backend["arithmetic"], case["id"]].append(case["outcome"])
    return found


def journal_results(journal):
    """How often the journal holds each (arithmetic, case), and how many lines are cut off."""
    counts, cut = collections.Counter(), 0
    for line in journal.read_bytes().split(b"\n"):
        if not line:
            continue
        try:
            result = json.loads(line)["result"]
        except (ValueError, KeyError):
            cut += 1
            continue
        counts[result["arithmetic"], result["id"]] += 1
    return counts, cut


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def of_marker(marker):
    """Processes whose environment has the marker."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


class Load:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.journal, self.report = folder / "journal", folder / "report.json"
        self.marker = f"QTX_LOAD={folder.name}"
        self.faults = []

    def start(self, limit=None, mortal=True):
        """A run that goes on from the journal; with `limit`, no file of it may grow beyond so many bytes. The command is always
        the same, since a journal is of one."""
        def restrict():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        a = self.arguments
        backend = f"cmd:{sys.executable} {MORTAL} {a.server}"
        environment = {**os.environ, **dict([self.marker.split("=")]), **({"QTX_MORTAL": str(a.death)} if mortal else {})}
        command = [a.qtx, "validate", "--suite", a.suite, "--jobs", str(a.jobs), "--backend", backend, "--resume", self.journal,
                   "--json", self.report, "--quiet"]
        return subprocess.Popen(command, preexec_fn=restrict if limit else None, stderr=subprocess.PIPE, env=environment)

    def fill(self, room, results):
        """A run on a full disk: it ends by itself, with one line. False: nothing was left to write, of so many results."""
        if self.journal.exists() and len(journal_results(self.journal)[0]) == results:
            return False
        run = self.start(limit=size_of(self.journal) + room)
        error = run.communicate(timeout=DEADLINE)[1].decode()
        if run.returncode != 4 or len(error.strip().splitlines()) != 1:
            self.faults.append(f"full disk: status {run.returncode}, expected 4 and one line: {error[:300]}")
        return True

    def kill(self, growth):
        """Kills a run when the journal has grown by that. False: it ended before."""
        run, begin = self.start(), size_of(self.journal)
        while run.poll() is None and size_of(self.journal) < begin + growth:
            time.sleep(0.002)
        ended = run.poll() is not None
        run.kill()
        run.communicate()
        return not ended

    def finish(self):
        run = self.start(mortal=False)
        error = run.communicate(timeout=DEADLINE)[1].decode()
        if run.returncode not in (0, 1):
            self.faults.append(f"last run: status {run.returncode}: {error[:300]}")

    def hold(self, expected):
        found = outcomes(self.report)
        crashed = 0
        for key in expected.keys() | found.keys():
            if len(found.get(key, [])) != 1 or key not in expected:
                self.faults.append(f"{key}: {len(found.get(key, []))} results, expected {len(expected.get(key, []))}")
            elif found[key] == ["crash"]:
                crashed += 1
            elif found[key] != expected[key]:
                self.faults.append(f"{key}: {found[key]}, undisturbed {expected[key]}")
        counts, cut = journal_results(self.journal)
        self.faults += [f"{key}: {count} times in the journal" for key, count in counts.items() if count != 1]
        return len(found), crashed, cut


def undisturbed(arguments, folder):
    """Outcomes, and bytes of the journal, of a run that nothing happens to."""
    report, journal = folder / "undisturbed.json", folder / "undisturbed"
    subprocess.run([arguments.qtx, "validate", "--suite", arguments.suite, "--backend", f"cmd:{arguments.server}", "--resume", journal,
                    "--json", report, "--quiet"], check=False, timeout=DEADLINE)
    return outcomes(report), size_of(journal)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    parser.add_argument("server")
    parser.add_argument("--suite", default=str(pathlib.Path(__file__).resolve().parents[2] / "cases"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--death", type=float, default=5, help="seconds that a backend lives, on average")
    parser.add_argument("--full", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qtxload") as temporary:
        folder, begin = pathlib.Path(temporary), time.monotonic()
        expected, size = undisturbed(arguments, folder)
        load, killed, filled = Load(arguments, folder), 0, 0
        for i in range(arguments.kills):
            growth = max(1, size // (arguments.kills + 10))
            if arguments.full and i % arguments.full == arguments.full - 1:
                filled += load.fill(growth, len(expected))
            else:
                killed += load.kill(growth)
        load.finish()
        results, crashed, cut = load.hold(expected)
        time.sleep(1)
        load.faults += [f"process {pid} is left" for pid in of_marker(load.marker)]
        print("\n".join(load.faults[:50]), file=sys.stderr)
        print(f"{results} results, {crashed} ended by a backend's death; {killed} kills, {filled} full disks, {cut} lines cut off, "
              f"{time.monotonic() - begin:.0f} s; {len(load.faults)} faults")
        return 1 if load.faults else 0


if __name__ == "__main__":
    sys.exit(main())
