#!/usr/bin/env python3
"""Writes what an installed QTX consists of as SPDX 2.3 (JSON): its files, what is compiled into them, what they load.

Usage: sbom.py PREFIX [-o FILE]. PREFIX is a folder of `cmake --install`; the program in it says version, commit and the packages of its
build (`qtx --version --json`), the ELF headers what is loaded, dpkg which packages that is of, components.txt the licences.
The same PREFIX gives the same bytes: the time is SOURCE_DATE_EPOCH, else that of the newest file.
Exit status 1 where a package or a library is in no row of components.txt. Source: https://spdx.github.io/spdx-spec/v2.3/.
"""
import argparse
import collections
import datetime
import hashlib
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import urllib.parse

import elf

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
Component = collections.namedtuple("Component", "name how licence")
# The relationship of QTX's package to a component of that kind; a tool is related to QTX.
RELATIONS = {"static": "STATIC_LINK", "content": "CONTAINS", "shared": "DYNAMIC_LINK", "tool": "BUILD_TOOL_OF"}


class Unknown(Exception):
    """What no table says."""


def read_components():
    rows = []
    for line in pathlib.Path(__file__).with_name("components.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            rows.append(Component(*line.split(" ", 2)))
    return rows


def component_of(package, rows):
    """The row of a package; one whose name ends in * only where no row is of the whole name."""
    for row in rows:
        if row.name == package:
            return row
    for row in rows:
        if row.name.endswith("*") and package.startswith(row.name[:-1]) and not package.endswith("-dev"):
            return row
    raise Unknown(f"package {package}: found no row in components.txt")


def files_of(prefix):
    """Paths below PREFIX that are no links, sorted."""
    return sorted(path for path in prefix.rglob("*") if path.is_file() and not path.is_symlink())


def loaded_libraries(paths):
    """Names of the shared libraries that the programs and libraries load, but for their own."""
    names, own = set(), {path.name for path in paths}
    for path in paths:
        data = path.read_bytes()
        if data[:4] == b"\x7fELF":
            names.update(elf.Elf(data).dynamic_texts(elf.DT_NEEDED))
    return sorted(name for name in names if name not in own and not re.match(r"libqtx_", name))


def library_paths():
    """{name: paths} of the loader's cache."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    found = {}
    for name, path in re.findall(r"^\s+(\S+) \(.*\) => (\S+)$", listed, re.M):
        found.setdefault(name, []).append(path)
    return found


def package_of(path):
    """(name, version) of the Debian package that has the file."""
    real = os.path.realpath(path)
    for candidate in (path, real, path.removeprefix("/usr"), real.removeprefix("/usr")):
        owner = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if owner.returncode == 0:
            name = owner.stdout.split(":")[0].split(",")[0]
            shown = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", name], check=True, capture_output=True, text=True)
            return name, shown.stdout.split("\n")[0]
    raise Unknown(f"{path}: found no package that has it")


def packages_of(facts, paths):
    """{name: version} of the packages of the build and of those that programs load."""
    packages = {package["name"]: package["version"] for package in facts["build"]["packages"]}
    known = library_paths()
    for name in loaded_libraries(paths):
        if name not in known:
            raise Unknown(f"{name}: the loader's cache has no library of that name")
        package, version = package_of(known[name][0])
        packages[package] = version
    return packages


def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def purl(name, version):
    """Source: https://github.com/package-url/purl-spec, type deb."""
    architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
    return f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(version, safe='~')}?arch={architecture}"


def package_entry(name, version, licence):
    return {
        "SPDXID": identifier("Package", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl(name, version)}],
    }


def file_entry(path, prefix, digest):
    kind = "BINARY" if path.read_bytes()[:4] in (b"\x7fELF", b"!<ar") else "OTHER"
    return {
        "SPDXID": identifier("File", digest["SHA1"][:12], str(path.relative_to(prefix))),
        "fileName": f"./{path.relative_to(prefix)}",
        "fileTypes": [kind],
        "checksums": [{"algorithm": algorithm, "checksumValue": value} for algorithm, value in digest.items()],
        "licenseConcluded": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }


def digest_of(path):
    data = path.read_bytes()
    return {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}


def qtx_entry(version, digests):
    """QTX itself, with the code of its files (clause 7.9: SHA-1 of the sorted SHA-1s)."""
    code = hashlib.sha1("".join(sorted(digest["SHA1"] for digest in digests)).encode()).hexdigest()
    return {
        "SPDXID": identifier("Package", "qtx"),
        "name": "qtx",
        "versionInfo": version,
        "supplier": "Organization: The QTX developers",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": code},
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    }


def relationships_of(packages, rows, files):
    qtx = identifier("Package", "qtx")
    yield ("SPDXRef-DOCUMENT", "DESCRIBES", qtx)
    for name in packages:
        how = component_of(name, rows).how
        pair = (qtx, RELATIONS[how], identifier("Package", name))
        yield pair if how != "tool" else pair[::-1]
    for file in files:
        yield (qtx, "CONTAINS", file["SPDXID"])


def created(paths):
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    seconds = int(epoch) if epoch else int(max(path.stat().st_mtime for path in paths))
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def document_of(prefix):
    paths = files_of(prefix)
    facts = json.loads(subprocess.run([prefix / "bin/qtx", "--version", "--json"], check=True, capture_output=True).stdout)
    version = facts["provenance"]["qtx"]["version"]
    rows = read_components()
    packages = dict(sorted(packages_of(facts, paths).items()))
    digests = [digest_of(path) for path in paths]
    files = [file_entry(path, prefix, digest) for path, digest in zip(paths, digests)]
    entries = [qtx_entry(version, digests)]
    entries += [package_entry(name, of, component_of(name, rows).licence) for name, of in packages.items()]
    code = entries[0]["packageVerificationCode"]["packageVerificationCodeValue"]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"qtx-{version}",
        "documentNamespace": f"https://qtx.example/spdx/qtx-{version}-{code}",
        "comment": f"commit {facts['provenance']['qtx']['commit']}; {facts['provenance']['build']['compiler']}; "
                   f"{facts['build']['compile']}; {facts['build']['link']}",
        "creationInfo": {"created": created(paths), "creators": [f"Tool: qtx-sbom-{version}"]},
        "packages": entries,
        "files": files,
        "relationships": [{"spdxElementId": a, "relationshipType": relation, "relatedSpdxElement": b}
                          for a, relation, b in relationships_of(packages, rows, files)],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    if not (arguments.prefix / "bin/qtx").is_file():
        print(f"sbom.py: {arguments.prefix}: found no bin/qtx, expected a folder of cmake --install", file=sys.stderr)
        return 2
    try:
        text = json.dumps(document_of(arguments.prefix.resolve()), indent=1) + "\n"
    except Unknown as fault:
        print(f"sbom.py: {fault}", file=sys.stderr)
        return 1
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        temporary = arguments.output.with_name(arguments.output.name + ".new")
        temporary.write_text(text)
        temporary.replace(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
