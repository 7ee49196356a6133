#!/usr/bin/env python3
"""Installs a build and reads from each program, library and archive that cmake/hardening.cmake was in force.

Usage: hardening_test.py BUILD SOURCE [CXX]. With CXX, the compiler, small programs that each lack one property must be found out, too.
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import elf  # noqa: E402

ENDBR64 = b"\xf3\x0f\x1e\xfa"
# Local functions that nobody takes the address of, and cold parts, have none: of qtx-backend-x86 60 % have one; of unhardened code
# one in 30,000. Objects in archives say exactly.
LEAST_ENDBR64 = 0.1
# Small libraries may have no buffer on the stack, and no call that a size is known for; these do.
HAVE_BUFFERS = ("qtx", "libqtx_format", "qtx-backend-x86", "qtx-backend-faulty")


def linked_faults(file, is_program):
    """What a program or shared library lacks."""
    dynamic = file.dynamic()
    flags, flags_1 = (dynamic.get(tag, [0])[0] for tag in (elf.DT_FLAGS, elf.DT_FLAGS_1))
    stack = file.segments_of(elf.PT_GNU_STACK)
    if file.kind != elf.ET_DYN or (is_program and not flags_1 & elf.DF_1_PIE):
        yield "is not position-independent"
    if not file.segments_of(elf.PT_GNU_RELRO):
        yield "has no RELRO"
    if not (elf.DT_BIND_NOW in dynamic or flags & elf.DF_BIND_NOW or flags_1 & elf.DF_1_NOW):
        yield "does not bind at start (BIND_NOW)"
    if not stack or stack[0][1] & elf.PF_X:
        yield "has an executable stack"
    if any(flags & elf.PF_W and flags & elf.PF_X for _, flags, *_ in file.segments_of(elf.PT_LOAD)):
        yield "has a segment to write and execute"
    if elf.DT_TEXTREL in dynamic:
        yield "relocates its code"
    for tag in (elf.DT_RPATH, elf.DT_RUNPATH):
        for path in file.dynamic_texts(tag):
            if not all(part.startswith("$ORIGIN") for part in path.split(":")):
                yield f"looks for libraries in {path}"
    if file.machine == elf.EM_X86_64:
        functions = file.functions()
        marked = sum(file.data[at:at + 4] == ENDBR64 for at in functions)
        if marked < LEAST_ENDBR64 * len(functions):
            yield f"has {marked} of {len(functions)} functions with endbr64 (-fcf-protection)"


def symbol_faults(names):
    """What calls of the C library tell of the compiler's options."""
    if "__stack_chk_fail" not in names:
        yield "has no stack protector"
    if not any(name.endswith("_chk") for name in names):
        yield "has no checked call (_FORTIFY_SOURCE)"


def stem(name):
    """libqtx_format of libqtx_format.a and libqtx_format.so.VERSION."""
    return name.split(".")[0]


def faults_of(name, data, is_program):
    """What a program, library or archive lacks, by its content; nothing of other files."""
    objects = []
    if data[:8] == b"!<arch>\n":
        objects = [(member, elf.Elf(content)) for member, content in elf.members(data)]
        if any(any(stamp) for stamp in elf.stamps(data)):
            yield "has times or owners"
        for member, file in objects:
            if file.machine == elf.EM_X86_64 and file.has_code() and file.x86_features() & 3 != elf.X86_IBT_AND_SHSTK:
                yield f"{member}: was compiled without -fcf-protection"
    elif data[:4] == b"\x7fELF":
        file = elf.Elf(data)
        objects = [(name, file)]
        yield from linked_faults(file, is_program)
    if objects and stem(name) in HAVE_BUFFERS:
        yield from symbol_faults(set().union(*(file.undefined() for _, file in objects)))


def installed_faults(build, source):
    """(number of programs, libraries and archives, faults) of what `cmake --install` puts into a fresh folder."""
    faults, seen = [], set()
    with tempfile.TemporaryDirectory(prefix="qtx") as folder:
        subprocess.run(["cmake", "--install", build, "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
        extensions = pathlib.Path(build).glob("python/qtx/_core*.so")
        for path in [*sorted(pathlib.Path(folder).rglob("*")), *extensions]:
            if not path.is_file() or path.is_symlink():
                continue
            data = path.read_bytes()
            if data[:4] not in (b"\x7fELF", b"!<ar"):
                continue
            seen.add(stem(path.name))
            is_program = path.parent.name == "bin"
            faults += [f"{path.name}: {fault}" for fault in faults_of(path.name, data, is_program)]
            # The extension in the build folder finds the package's files in the source.
            if source.encode() in data and path.name.split(".")[0] != "_core":
                at = data.index(source.encode())
                faults.append(f"{path.name}: has a folder of the build: {data[at:at + 80]}")
    faults += [f"{name}: is not installed" for name in HAVE_BUFFERS if name not in seen and "x86" not in name]
    return len(seen), faults


PROGRAM = """#include <cstdio>
#include <cstring>
extern "C" int f(const char* text) { char copy[40]; std::strcpy(copy, text); return std::puts(copy); }
int main(int count, char** words) { return f(words[count - 1]); }
"""
HARDENED = ["-O2", "-fPIE", "-pie", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro", "-Wl,-z,now",
            "-Wl,-z,noexecstack"]
# What is added to the options above, and the fault that must be the only one.
LACKING = [
    ([], None),
    (["-fno-PIE", "-no-pie"], "is not position-independent"),
    (["-Wl,-z,norelro"], "has no RELRO"),
    (["-Wl,-z,lazy"], "does not bind at start (BIND_NOW)"),
    (["-Wl,-z,execstack"], "has an executable stack"),
    (["-fno-stack-protector"], "has no stack protector"),
    (["-U_FORTIFY_SOURCE"], "has no checked call (_FORTIFY_SOURCE)"),
    (["-Wl,-rpath,/tmp/build"], "looks for libraries in /tmp/build"),
]


def check_detection(compiler):
    """Faults of this test: programs of one property less whose fault it does not name."""
    faults = []
    with tempfile.TemporaryDirectory(prefix="qtx") as folder:
        source = pathlib.Path(folder, "small.cc")
        source.write_text(PROGRAM)
        for options, expected in LACKING:
            subprocess.run([compiler, *HARDENED, *options, source, "-o", f"{folder}/qtx"], check=True)
            # A small program's start-up code, which is the system's, is most of it.
            found = [fault for fault in faults_of("qtx", pathlib.Path(folder, "qtx").read_bytes(), True) if "endbr64" not in fault]
            if found != ([expected] if expected else []):
                faults.append(f"{options}: found {found}, expected {expected}")
        for options, expected in ((["-fcf-protection=full"], 0), (["-fcf-protection=none"], 1)):
            if elf.Elf(pathlib.Path(folder, "qtx").read_bytes()).machine != elf.EM_X86_64:
                break
            subprocess.run([compiler, "-c", "-O2", *options, source, "-o", f"{folder}/small.o"], check=True)
            subprocess.run(["ar", "rcsD", f"{folder}/libsmall.a", f"{folder}/small.o"], check=True)
            found = list(faults_of("libsmall.a", pathlib.Path(folder, "libsmall.a").read_bytes(), False))
            pathlib.Path(folder, "libsmall.a").unlink()
            if len(found) != expected:
                faults.append(f"{options}: found {found}, expected {expected} faults")
    return faults


def main():
    build, source = sys.argv[1:3]
    count, faults = installed_faults(build, source)
    if len(sys.argv) > 3:
        faults += check_detection(sys.argv[3])
    print("\n".join(faults), file=sys.stderr)
    print(f"{count} programs, libraries and archives; {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
