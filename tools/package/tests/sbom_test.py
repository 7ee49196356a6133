#!/usr/bin/env python3
"""Holds the SPDX list of an installed build to the files themselves: sbom_test.py BUILD.

What a validator of SPDX finds besides: `pyspdxtools -i qtx.spdx.json` (spdx-tools, PyPI), by hand.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
SOURCE = PACKAGE.parent.parent


def sha256sum(folder, names):
    """{name: SHA-256} as coreutils computes it."""
    lines = subprocess.run(["sha256sum", *names], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line[66:]: line[:64] for line in lines}


def needed(path):
    """Names of the libraries that a program loads, as binutils reads them."""
    shown = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.*)\]", shown)


def faults_of(document, folder):
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    listed = {file["fileName"].removeprefix("./"): {sum["algorithm"]: sum["checksumValue"] for sum in file["checksums"]}["SHA256"]
              for file in document["files"]}
    if listed != sha256sum(folder, names):
        yield "the files and their SHA-256 are others"
    identifiers = [part["SPDXID"] for part in [document, *document["packages"], *document["files"]]]
    if len(set(identifiers)) != len(identifiers):
        yield "an SPDXID is there twice"
    for relation in document["relationships"]:
        for key in ("spdxElementId", "relatedSpdxElement"):
            if relation[key] not in identifiers:
                yield f"a relationship of {relation[key]}, which is not there"
    related = {relation[key] for relation in document["relationships"] for key in ("spdxElementId", "relatedSpdxElement")}
    yield from (f"{name}: has no relationship" for name in identifiers if name not in related)
    packages = {package["name"]: package["versionInfo"] for package in document["packages"]}
    wanted = re.findall(r"^[a-z0-9]\S*", (SOURCE / "tools/dependencies.txt").read_text(), re.M)
    yield from (f"{name}: of tools/dependencies.txt, not in the list" for name in wanted if name not in packages)
    # A library libNAME.so.N is of a package whose name begins with libNAME, in most cases.
    for library in needed(folder / "bin/qtx"):
        stem = library.split(".so")[0].lower().rstrip("0123456789")
        if stem in ("libz", "libm", "libc", "libgcc_s", "ld-linux-x86-", "ld-linux-aarch"):
            continue
        if not any(name.startswith(stem) and not name.endswith("-dev") for name in packages):
            yield f"{library}: loaded, not in the list"
    yield from (f"{name}: version unknown" for name, version in packages.items() if version == "unknown")


def main():
    with tempfile.TemporaryDirectory(prefix="qtx") as temporary:
        folder = pathlib.Path(temporary).resolve()
        subprocess.run(["cmake", "--install", sys.argv[1], "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
        texts = [subprocess.run([sys.executable, "-B", PACKAGE / "sbom.py", folder], check=True, capture_output=True).stdout for _ in range(2)]
        faults = ["two runs give different bytes"] if texts[0] != texts[1] else []
        document = json.loads(texts[0])
        faults += faults_of(document, folder)
    print("\n".join(faults), file=sys.stderr)
    print(f"{len(document['files'])} files, {len(document['packages'])} packages; {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
