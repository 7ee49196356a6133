#!/usr/bin/env python3
"""Kills `qtx validate --resume` again and again, over backends that die at random, and holds the end to an undisturbed run.

Usage: kill_and_resume.py QTX SERVER [--suite DIR] [--copies N] [--shards N] [--kills 100] [--jobs 16] [--death SECONDS] [--full N] [--seed N]

SERVER is a backend's program (qtx-backend-x86); the suite is asked N times, its copies under ids of their own. Each shard has a
journal on a small file system. A run is killed (SIGKILL or SIGTERM, the harness alone: its backends must end by themselves) when its
journal has grown by a random share; each N-th run finds a disk that has no room beyond such a share. At last a run of each shard
ends, over backends that live. Root is needed, for the file system. It fails where
- a case of the undisturbed run is not in the merged report, is there twice, or has another outcome; one that a backend's death ended
  is a crash (a protocol error where half an answer came) of the backend as a report sees it, and stays one, and there are no more
  of them than deaths;
- a journal holds a result twice, or none of one in the report;
- a full disk is not an error with status 4, at once;
- a process, a lock or a temporary file is left.
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MORTAL = pathlib.Path(__file__).with_name("mortal.py")
DEADLINE = 7200  # seconds of one run
ENDED_BY_DEATH = ("crash", "protocol_error")


def copies_of(suite, count, folder):
    """A suite with each case `count` times; ids of copies begin with c2/, c3/, ..."""
    shutil.copytree(suite, folder)
    kept = folder / "text_answers.txt"
    answers = re.findall(r"^[0-9a-f]{16} .*\n(?:  .*\n)*", kept.read_text() if kept.exists() else "", flags=re.M)
    all_answers = list(answers)
    for k in range(2, count + 1):
        prefix = rf"\g<1>c{k}/"
        for path in suite.rglob("*.yaml"):
            copy = folder / f"copy{k}" / path.relative_to(suite)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(re.sub(r"""^(id: ["']?)""", prefix, path.read_text(), flags=re.M))
        all_answers += [re.sub(r"^([0-9a-f]{16} )", prefix, answer) for answer in answers]
    all_answers.sort(key=lambda answer: answer.splitlines()[0].split(" ", 1)[1].encode())
    if all_answers:
        kept.write_text("".join(all_answers))
    return folder


@contextlib.contextmanager
def file_system(folder):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=50%", "qtx-load", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=False)


def limit(folder, room):
    """Leaves the file system so many bytes, all of them if None."""
    state = os.statvfs(folder)
    used = (state.f_blocks - state.f_bfree) * state.f_frsize
    size = "50%" if room is None else str(used + room)
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)


def outcomes(report):
    """{(arithmetic, case): [results]} of a report."""
    found = collections.defaultdict(list)
    for backend in json.loads(report.read_text())["backends"]:
        for case in backend["cases"]:
            found[backend["arithmetic"], case["id"]].append(case)
    return found


def journal_results(journals):
    """How often the journals hold each (arithmetic, case)."""
    counts = collections.Counter()
    for journal in journals:
        for line in journal.read_text().splitlines():
            result = json.loads(line)["result"]
            counts[result["arithmetic"], result["id"]] += 1
    return counts


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
    def __init__(self, arguments, folder, suite):
        self.arguments, self.folder, self.suite = arguments, folder, suite
        self.disk, self.temporary, self.log = folder / "disk", folder / "temporary", folder / "deaths"
        self.marker = f"QTX_LOAD={folder.name}"
        self.draw = random.Random(arguments.seed)
        self.faults, self.counts = [], collections.Counter()
        self.temporary.mkdir()
        self.log.touch()

    def journal(self, shard):
        return self.disk / f"journal{shard}"

    def report(self, shard):
        return self.folder / f"report{shard}.json"

    def start(self, shard, mortal=True):
        """A run that goes on from the journal. The command is always the same, since a journal is of one."""
        a = self.arguments
        name, value = self.marker.split("=")
        environment = {**os.environ, name: value, "TMPDIR": str(self.temporary)}
        if mortal:
            environment |= {"QTX_MORTAL": str(a.death), "QTX_MORTAL_SEED": str(a.seed), "QTX_MORTAL_LOG": str(self.log)}
        command = [a.qtx, "validate", "--sandbox", "off", "--suite", self.suite, "--jobs", str(a.jobs), "--backend", f"cmd:{sys.executable} {MORTAL} {a.server}",
                   "--shard", f"{shard}/{a.shards}", "--resume", self.journal(shard), "--json", self.report(shard), "--quiet"]
        return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)

    def fill(self, shard, room):
        """A run on a disk that gets full: it ends by itself, with one line."""
        limit(self.disk, room)
        begin = time.monotonic()
        run = self.start(shard)
        error = run.communicate(timeout=DEADLINE)[1].decode()
        limit(self.disk, None)
        self.counts["full disks"] += 1
        if run.returncode != 4 or len(error.strip().splitlines()) != 1:
            self.faults.append(f"full disk: status {run.returncode} after {time.monotonic() - begin:.0f} s, expected 4 and one line: {error[:300]}")

    def kill(self, shard, growth):
        """Kills a run when the journal has grown by that. False: it ended before."""
        number = self.draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        run, begin = self.start(shard), size_of(self.journal(shard))
        while run.poll() is None and size_of(self.journal(shard)) < begin + growth:
            time.sleep(0.002)
        run.send_signal(number)
        error = run.communicate()[1].decode()
        if run.returncode != -number:
            if run.returncode not in (0, 1):
                self.faults.append(f"status {run.returncode}: {error[:300]}")
            return False
        self.counts[f"{signal.Signals(number).name}s"] += 1
        return True

    def disturb(self, shard, kills, size):
        """Runs of a shard, whose journal gets about `size` bytes, until it was killed so often or has all results."""
        full, done = self.arguments.full, 0
        while done < kills:
            mean = (size - size_of(self.journal(shard))) / ((kills - done) * (1 + 1 / full) + 2)
            growth = max(1, int(mean * self.draw.uniform(0.2, 1.8)))
            if not self.kill(shard, growth):
                return
            done += 1
            if done % full == 0:
                self.fill(shard, growth)
        print(f"shard {shard}: {size_of(self.journal(shard))} of about {size} bytes, {dict(self.counts)}", file=sys.stderr, flush=True)

    def finish(self, shard):
        run = self.start(shard, mortal=False)
        error = run.communicate(timeout=DEADLINE)[1].decode()
        if run.returncode not in (0, 1):
            self.faults.append(f"last run: status {run.returncode}: {error[:300]}")

    def merge(self):
        merged = self.folder / "merged.json"
        parts = [self.report(shard) for shard in range(1, self.arguments.shards + 1)]
        if len(parts) == 1:
            return parts[0]
        with open(merged, "wb") as file:
            run = subprocess.run([self.arguments.qtx, "report", "merge", *parts, "--json", merged], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, check=False)
        if run.returncode not in (0, 1):
            self.faults.append(f"merge: status {run.returncode}: {run.stderr.decode()[:300]}")
        return merged

    def hold(self, expected):
        """The number of results, and of each outcome that a death made."""
        found, ended = outcomes(self.merge()), collections.Counter()
        for key in expected.keys() | found.keys():
            results, wanted = found.get(key, []), expected.get(key, [])
            if len(results) != 1 or len(wanted) != 1:
                self.faults.append(f"{key}: {len(results)} results, expected {len(wanted)}")
            elif results[0]["outcome"] != wanted[0]["outcome"]:
                ended[results[0]["outcome"]] += 1
                if results[0]["outcome"] not in ENDED_BY_DEATH:
                    self.faults.append(f"{key}: {results[0]['outcome']} ({results[0]['diagnosis'][:200]}), undisturbed {wanted[0]['outcome']}")
        deaths = collections.Counter(self.log.read_text().split())
        if sum(ended.values()) > sum(deaths.values()):
            self.faults.append(f"{sum(ended.values())} results ended by {sum(deaths.values())} deaths")
        counts = journal_results(self.disk.iterdir())
        self.faults += [f"{key}: {counts[key]} times in the journals" for key in counts.keys() | found.keys() if counts[key] != 1]
        return len(found), ended, deaths

    def hold_leftovers(self):
        time.sleep(2)
        self.faults += [f"process {pid} is left" for pid in of_marker(self.marker)]
        known = {self.journal(shard) for shard in range(1, self.arguments.shards + 1)}
        self.faults += [f"{path} is left" for path in (*self.temporary.iterdir(), *self.disk.iterdir()) if path not in known]
        self.faults += [f"{path} is left" for path in self.folder.glob("*report*.json?*")]


def undisturbed(arguments, folder, suite):
    """Results, and bytes of the journal, of a run that nothing happens to."""
    report, journal = folder / "undisturbed.json", folder / "undisturbed"
    subprocess.run([arguments.qtx, "validate", "--suite", suite, "--backend", f"cmd:{arguments.server}", "--resume", journal, "--json", report,
                    "--quiet"], check=False, timeout=DEADLINE)
    return outcomes(report), size_of(journal)


def run(arguments, folder):
    begin = time.monotonic()
    suite = copies_of(pathlib.Path(arguments.suite), arguments.copies, folder / "suite")
    expected, size = undisturbed(arguments, folder, suite)
    print(f"undisturbed: {len(expected)} results, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    load, shards = Load(arguments, folder, suite), range(1, arguments.shards + 1)
    with file_system(load.disk):
        for shard in shards:
            load.disturb(shard, -(-arguments.kills // arguments.shards), size // arguments.shards)
            load.finish(shard)
        results, ended, deaths = load.hold(expected)
        load.hold_leftovers()
    print("\n".join(load.faults[:50]), file=sys.stderr)
    print(f"{results} results, {dict(ended)} ended by {dict(deaths)}; {dict(load.counts)}; {time.monotonic() - begin:.0f} s; "
          f"{len(load.faults)} faults")
    return 1 if load.faults else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    parser.add_argument("server")
    parser.add_argument("--suite", default=str(pathlib.Path(__file__).resolve().parents[2] / "cases"))
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--death", type=float, default=5, help="seconds that a backend lives, on average")
    parser.add_argument("--full", type=int, default=10, help="a full disk after so many kills")
    parser.add_argument("--seed", type=int, default=0)
    with tempfile.TemporaryDirectory(prefix="qtxload") as temporary:
        return run(parser.parse_args(), pathlib.Path(temporary))


if __name__ == "__main__":
    sys.exit(main())
