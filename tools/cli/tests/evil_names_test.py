"""Names that mean harm, in every place where a name can stand, through every command and every output.

evil_names_test.py QTX SOURCE_FOLDER [--count]: exit status 1 if an output is not what it is for a harmless name. A
terminal gets no other control than a line feed, each line begins as it does for the harmless name, and none is long;
JSON and XML parse; pages have the same elements and, in Chromium where there is one, run no script of the name's.
--count prints the number of failing combinations of command, output and name.
"""

import concurrent.futures
import csv
import functools
import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree

import pyte
import yaml

sys.dont_write_bytecode = True  # the source tree stays as it is
QTX, SOURCE = sys.argv[1:3]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(SOURCE, "conformance/tests/browser")]
import chromium
import evil_models

HARMLESS = b"Ordinary"
SCRIPT = b"</script><script>window.owned = 1</script><img src=x onerror='window.owned = 1'>"
EVIL = {
    "newline": b"x\nqtx: all good", "title": b"x\x1b]0;owned\x07\x1b[2J\x1b[Hqtx: all good", "nul": b"x\0y",
    "controls": b"xyz\b\b\r\ty\x7f" + "\x9b2Jy\x85".encode(),
    "not UTF-8": b"x\xff\x9b2J \xc0\xaf\xe0\x80\xaf \xed\xa0\x80y",  # a byte, overlong, a surrogate
    "not seen": "\u202egpj.\u2066 \u200b\ufeff\u00ad \u2028qtx: all good\u2029 \U000e0041\ufffe\uffff".encode(),
    "huge": b"n" * 1_000_000, "script": SCRIPT, "json": b'"]}\'\\&', "path": b"../../x", "dots": b"..", "format": b"%s{}{0}%n",
}
EVERY_CHARACTER = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
# Unicode's categories of what is not seen or moves other text.
UNSEEN = {c for c in EVERY_CHARACTER if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
MAX_ARGUMENT = 60_000  # bytes of one argument that Linux takes
csv.field_size_limit(10_000_000)
MAX_MORE = 1500         # characters that a line may be longer than for the harmless name


def yaml_scalar(name):
    """A double-quoted scalar; what is not UTF-8 stays as it is, for YAML has no way to write it."""
    return b'"' + b"".join(b"\\x%02x" % c if c < 32 or c in b'"\\\x7f' else bytes([c]) for c in name) + b'"'


CASE = b"""id: %(name)s
spec: %(clause)s
why: %(name)s
op: {type: Relu}
inputs: {x: {type: float, data: [-1.0]}}
expect: {y: {type: float, shape: [1], data: [%(result)s]}}
arithmetics: [exact]
derivation: %(name)s
tags: [%(name)s]
"""


EXAMPLE = b"""id: %(id)s
spec: exact.S1
why: %(name)s
op: {type: Cast, attributes: {to: int8q}}
inputs: {x: {type: float, data: [2.5]}}
before: {y: {type: int8q, scale: [1.0], offset: [3], data: [5]}}
expect: {y: {type: int8q, scale: [1.0], offset: [3], data: [6]}}
"""
PROPOSAL = "proposals/0003-offset-before-rounding"


def npy(values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%df" % len(values), *values)


def files(name):
    """{file: bytes} that the commands below read."""
    quoted = yaml_scalar(name)
    text = json.dumps(name.decode("utf-8", "surrogateescape"), ensure_ascii=False).encode("utf-8", "surrogateescape")
    made = evil_models.models(name)
    made["other.onnx"] = evil_models.model(name + b"2", evil_models.node(name + b"2", op_type=b"Sub"))
    made["x.npy"] = npy([1, -2])
    made["bad/x.npy"] = npy([1, 2, 3])
    made["suite/a.yaml"] = CASE % {b"name": quoted, b"clause": b"relu.S1", b"result": b"5.0"}
    made["nospec/a.yaml"] = CASE % {b"name": quoted, b"clause": quoted, b"result": b"0.0"}
    made["broken/a.yaml"] = b"id: x\n%s: 3\n" % quoted
    made["net.csv"] = b'name,elem_type,scale\n"%s.x",%s,0.5\n' % (name.replace(b'"', b'""'), b"FLOAT")
    made["type.csv"] = b'name,elem_type\n"%s","%s"\n' % ((name.replace(b'"', b'""'),) * 2)
    made["net.json"] = b'{"values": [{"name": %s, "elem_type": %s}]}' % (text, text)
    made["glow.yaml"] = b"---\n- nodeOutputName: %s\n  scale: %s\n  offset: 0\n...\n" % (quoted, quoted)
    made["ort.json"] = b'{"CLS": "TensorsData", "data": {%s: {"CLS": %s}}}' % (text, text)
    made["types/value_info.json"] = b'{%s.x": [2, [1, 2], 0.5, 128]}' % text[:-1]
    made["rules.yaml"] = b"- {match: %s, %s: 1}\n" % (quoted, quoted)
    made["expected.txt"] = name.replace(b"\n", b" ") + b"  # " + name.replace(b"\n", b" ") + b"\n"
    proposal = pathlib.Path(SOURCE, "spec/proposals/0003-offset-before-rounding/proposal.md").read_bytes()
    line = name.replace(b"\n", b" ").replace(b"\r", b" ")
    made[PROPOSAL + "/proposal.md"] = proposal.replace(b"ing after the", line, 1).replace(b"\n\nPeople", b"\n\n    " + line + b"\n\nPeople", 1)
    made[PROPOSAL + "/examples/one.yaml"] = EXAMPLE % {b"id": yaml_scalar(b"offset_before_rounding/" + name), b"name": quoted}
    return made


# In a command NAME is the name itself, GUEST a backend that says it. Files named in a command that end as an output does
# are read after it.
COMMANDS = """
check good.onnx operator.onnx domain.onnx attribute.onnx unresolved.onnx shape.onnx external.onnx named.onnx
check --json - good.onnx operator.onnx domain.onnx attribute.onnx unresolved.onnx shape.onnx external.onnx named.onnx
check NAME
check net.csv
check good.onnx --json NAME
check --NAME good.onnx
check --feature NAME good.onnx
NAME
inspect good.onnx --findings
inspect good.onnx --json - --findings
inspect good.onnx --html inspect.html
inspect operator.onnx --json -
convert good.onnx -o out.onnx
convert good.onnx -o out.onnx --ledger
convert good.onnx -o out.onnx --json -
convert good.onnx -o out.csv
convert good.onnx --to json -o out.json
convert good.onnx -o out.tflite --allow documentation
diff good.onnx out.tflite
convert good.onnx -o NAME
convert good.onnx -o out.onnx --to NAME
convert operator.onnx --infer -o out.onnx
convert domain.onnx -o out.tflite
convert --from csv net.csv --with good.onnx -o out.onnx
convert --from csv type.csv --with good.onnx -o out.onnx
convert --from json net.json --with good.onnx -o out.onnx --json -
convert --from glow glow.yaml --with good.onnx -o out.onnx
convert --from ort ort.json --with good.onnx -o out.onnx
convert --from qonnx quant.onnx -o out.onnx
convert --from paddle good.pdmodel -o out.onnx
convert --from paddle operator.pdmodel -o out.onnx
convert --from caffe2 good.pb --with types/value_info.json -o out.onnx
convert --from caffe2 operator.pb --with types/value_info.json -o out.onnx
convert int8.onnx --to qonnx -o out.onnx
convert int8.onnx --to tensorrt -o out.cache
lower good.onnx -o out.onnx
lift good.onnx -o out.onnx --json -
diff good.onnx other.onnx
diff good.onnx other.onnx --json -
diff good.onnx NAME
inspect named.onnx
run external.onnx --input x.npy
run good.onnx --input x.npy --output-dir run
run good.onnx --input x.npy --output-dir run --json -
run good.onnx
run good.onnx --input NAME=x.npy --input NAME=x.npy
run good.onnx --input bad/x.npy
run good.onnx --input x.npy --backend NAME
run good.onnx --input x.npy --arithmetic NAME
run good.onnx --input x.npy --node-arithmetic NAME=NAME
run good.onnx --input x.npy --profile NAME
run good.onnx --input x.npy --backend GUEST
run good.onnx --input x.npy --backend LIAR --output-dir run
run operator.onnx --input x.npy
calibrate good.onnx --data x.npy -o calibrated.onnx
calibrate good.onnx --data x.npy -o calibrated.onnx --json -
convert calibrated.onnx --to glow -o out.yaml --allow statistics
convert calibrated.onnx --to ort -o ort_out.json --allow statistics
inspect calibrated.onnx --html calibrated.html
calibrate good.onnx --data NAME -o calibrated.onnx
calibrate good.onnx --data data --on-error skip -o calibrated.onnx
calibrate good.onnx --data data --on-error skip -o calibrated.onnx --json -
calibrate --merge good.onnx other.onnx -o calibrated.onnx
quantize calibrated.onnx -o quantized.onnx
quantize calibrated.onnx -o quantized.onnx --json -
quantize calibrated.onnx -o quantized.onnx --data x.npy --report quantized.html
quantize calibrated.onnx -o quantized.onnx --data x.npy --report quantized.json
quantize calibrated.onnx -o quantized.onnx --rules rules.yaml
quantize good.onnx -o quantized.onnx --range NAME
validate --suite suite --backend reference --json report.json --junit report.xml --html report.html
validate --suite suite --backend reference --json -
validate --suite suite --backend reference --expected-failures expected.txt
validate --suite suite --backend GUEST --json guest.json --junit guest.xml --html guest.html
validate --suite suite --filter NAME
validate --suite suite --backend reference --filter * --filter NAME
validate --suite nospec --backend reference
validate --suite broken --backend reference
validate --suite NAME
validate --suite suite --coverage --json -
report merge report.json guest.json --json -
report merge report.json guest.json --junit merged.xml --html merged.html
report merge NAME
identify --backend GUEST --suite suite
identify --backend GUEST --suite suite --json -
shrink --backend GUEST --suite suite --case NAME -o shrunk
shrink --backend LIAR --model good.onnx --input x.npy -o shrunk
shrink --backend LIAR --model good.onnx --input x.npy -o shrunk --json -
validate --suite suite --backend LIAR --html liar.html
fuzz --backend GUEST --cases 1 --operators Relu
fuzz --backend LIAR --cases 3 --operators Relu --json -
fuzz --backend NAME --cases 1
serve --backend NAME
power --filter NAME
bench --models models --filter net/* --list
bench --filter NAME --list
spec run suite
spec run NAME
spec new op NAME --folder nowhere
spec new NAME x
review NAME
review proposals/0003-offset-before-rounding --suite suite --models models --json review.json --html review.html
""".strip().splitlines()
# Those that take a second: for one name.
LONG_COMMANDS = """
bench --backend GUEST --models models --types file --filter net/good* --rounds 7 --seconds 0.001 --json bench.json --svg bench.svg
spec html -o site --report report.json
""".strip().splitlines()


class Structure(html.parser.HTMLParser):
    """The elements of a page, and its title."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, sorted(name for name, _ in attributes)))


class Screen:
    """What a terminal does with a text: pyte calls a method for each thing."""

    def __init__(self, text):
        self.events = set()
        pyte.Stream(self).feed(text)

    def __getattr__(self, event):
        return lambda *_, **__: self.events.add(event)



def plain(line):
    """A line without what depends on the length of a name: blanks and rules of tables, sizes."""
    return re.sub(r"\d+", "0", re.sub(r"-{5,}", "-", " ".join(line.split())))


def terminal_faults(text, harmless, same_lines):
    screen = Screen(text)
    if unwanted := screen.events - {"draw", "linefeed"}:
        return "a terminal does " + ", ".join(sorted(unwanted))
    if unseen := set(text) & UNSEEN - {"\n"}:
        return f"a terminal gets {sorted(unseen)}"
    lines = text.split("\n")
    longest = max(map(len, harmless.split("\n"))) + MAX_MORE
    if any(len(line) > longest for line in lines):
        return f"a line of {max(map(len, lines))} characters"
    if same_lines:
        expected = harmless.split("\n")
        if len(lines) != len(expected):
            return f"{len(lines) - 1} lines, expected {len(expected) - 1}"
        for line, start in zip(lines, [line.split(HARMLESS.decode())[0] for line in expected]):
            if not plain(line).startswith(plain(start)):
                return f"a line begins {line[:40]!r}, expected {start[:40]!r}"
    return ""


def fault(kind, output, harmless, same_lines):
    """What is wrong with one output, or ""; `same_lines`: the command ended as it does for the harmless name."""
    if kind == "terminal" and len(output) > len(harmless) + 100_000:
        return f"{len(output)} bytes"
    try:
        text = output.decode()
        if kind == "json":
            json.loads(text)
            return terminal_faults(text, text, False)
        elif kind == "xml":
            xml.etree.ElementTree.fromstring(text)
        elif kind == "html":
            if Structure(text).tags != Structure(harmless.decode()).tags:
                return "other elements than for a harmless name"
        elif kind == "terminal":
            return terminal_faults(text, harmless.decode(), same_lines)
    except (ValueError, xml.etree.ElementTree.ParseError) as error:
        return str(error)[:100]
    return ""


KINDS = {".json": "json", ".xml": "xml", ".svg": "xml", ".html": "html"}


def run(name, folder):
    """{(command, output): (kind, bytes, status)} of all commands."""
    argument = os.fsdecode(name[:MAX_ARGUMENT])
    (folder / "name").write_bytes(name)
    for path, data in files(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "models").mkdir()
    shutil.copy(folder / "good.onnx", folder / "models/good.onnx")
    # A folder of samples, one of which has the name and is no sample; not all names can be a file's.
    (folder / "data").mkdir()
    shutil.copy(folder / "x.npy", folder / "data/0.npy")
    if 0 < len(name) < 200 and b"/" not in name and b"\0" not in name:
        (folder / "data" / os.fsdecode(b"1" + name + b".npy")).write_bytes(npy([1, 2, 3]))
    else:
        (folder / "data/1Ordinary.npy").write_bytes(npy([1, 2, 3]))
    answers = {}
    own = "cmd:%s -S -E %s name" % (sys.executable, os.path.abspath(evil_models.__file__))
    programs = {"GUEST": own, "LIAR": own + " --lies"}
    for command in COMMANDS + (LONG_COMMANDS if name in (HARMLESS, SCRIPT) else []):
        if "NAME" in command and b"\0" in name:
            continue  # no argument has one
        words = [programs.get(word, word.replace("NAME", argument)) for word in command.split(" ")]
        outputs = re.findall(r"(?:--\w+|-o) (\w+\.(?:json|xml|html|svg))", command)
        for output in outputs:
            (folder / output).unlink(missing_ok=True)
        done = subprocess.run([QTX, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=60, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
        kind = "json" if done.stdout.startswith(b"{") else "terminal"
        answers[command, "stdout"] = kind, done.stdout, done.returncode
        answers[command, "stderr"] = "terminal", done.stderr, done.returncode
        for output in outputs:
            path = folder / output
            if path.exists():
                answers[command, output] = KINDS[path.suffix], path.read_bytes(), done.returncode
    return answers


TEXTS = re.compile(r"suite|broken|nospec|net\.|glow|ort\.json|value_info")


def compare(harmless, name, folder):
    """{(command, output, name): fault}"""
    found = {}
    for key, (kind, output, status) in run(EVIL[name], folder).items():
        _, expected, usual = harmless[key]
        # A name that is not UTF-8, or too long, is another error for a reader of texts.
        same_lines = status == usual and not (name in ("huge", "not UTF-8") and TEXTS.search(key[0]))
        if problem := fault(kind, output, expected, same_lines):
            found[(*key, name)] = problem
        if status < 0:
            found[(*key, name)] = f"ended by signal {-status}"
    for path in folder.glob("run/**/*"):
        if path.parent.name != "run" or path.suffix != ".npy":
            found["run", str(path), name] = "is no output's file name"
    if len(list(folder.glob("run/*.npy"))) != 1:
        found["run", "run", name] = "the output is not in its folder"
    return found | readers_faults(folder, EVIL[name])


def cells(path):
    """The names in a CSV, by Python's reader."""
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return {os.fsencode(row["name"]) for row in csv.DictReader(file)}


def scalars(path):
    """The names in a profile of Glow, by PyYAML."""
    with path.open(encoding="utf-8") as file:
        documents = yaml.load_all(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return {entry["NodeOutputName"].encode() for entry in [*documents][-1]}


def lines(path):
    """The names in a cache of TensorRT, whose every line but the first ends in ": " and 8 digits."""
    found = [re.fullmatch(b"(.*?): [0-9a-f]{8}", line) for line in path.read_bytes().split(b"\n")[1:-1]]
    return {match and match[1] for match in found}


def legal(name):
    """As Glow has names: letters, digits and _."""
    return re.sub(rb"[^A-Za-z0-9_]", b"_", name)


def readers_faults(folder, name):
    """Whether readers of others find in text outputs the names that the models have; a cache may be refused."""
    expected = {"out.csv": (cells, {name + b".x", name + b".y"}),
                "out.yaml": (scalars, {legal(name + b".x") + b":0", legal(name + b".w") + b":0", legal(name) + b":0"})}
    refused = b": " in name or any(c < 32 or c == 127 for c in name)
    if refused == (folder / "out.cache").exists():
        return {("convert --to tensorrt", "out.cache", name[:20]): "written" if refused else "not written"}
    if not refused:
        expected["out.cache"] = lines, {name + b".x", name + b".y"}
    return {("convert", file, name[:20]): "other names for an independent reader"
            for file, (read, names) in expected.items() if read(folder / file) != names}


def every_character(folder):
    """Whether the program and Unicode agree on what is not seen: JSON keeps every character, and shows those that are."""
    name = EVERY_CHARACTER
    (folder / "all.onnx").write_bytes(evil_models.model(name.encode(), evil_models.node(name.encode())))
    text = subprocess.run([QTX, "inspect", folder / "all.onnx", "--json", "-"], capture_output=True, check=True).stdout.decode()
    shown = set(text)
    wrong = {c for c in name if unicodedata.category(c) not in ("Cn", "Co") and c not in '"\\<\n'
             and (c in shown) == (c in UNSEEN)}
    if json.loads(text)["nodes"][0]["name"] != name:
        wrong.add("another text")
    return {("inspect --json", "stdout", "every character"): f"{sorted(map(ascii, wrong))[:9]}"} if wrong else {}


def browser_faults(folders):
    """Opens the pages of the name that is a script."""
    if not chromium.find():
        return {}
    found = {}
    with chromium.Page(chromium.find()) as page:
        for path in [*sorted(folders["script"].glob("*.html")), *folders["script"].glob("site/results/*.html")]:
            page.open((folders["harmless"] / path.relative_to(folders["script"])).as_uri())
            usual = page.run("document.title")
            page.open(path.as_uri())
            title = page.run("document.title").replace(SCRIPT.decode(), HARMLESS.decode())
            if title != usual or page.run("window.owned") or page.errors:
                found["chromium", path.name, "script"] = f"title {title!r}, expected {usual!r}; {page.errors}"
    return found


def main():
    with tempfile.TemporaryDirectory(prefix="qtx-evil-") as top:
        folders = {name: pathlib.Path(top) / str(i) / "a" / "b" for i, name in enumerate(["harmless", *EVIL])}
        for folder in folders.values():
            folder.mkdir(parents=True)
        harmless = run(HARMLESS, folders["harmless"])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = {}
            for faults in pool.map(lambda name: compare(harmless, name, folders[name]), EVIL):
                found |= faults
        found |= every_character(pathlib.Path(top)) | browser_faults(folders)
        combinations = len(harmless) * len(EVIL)
    for (command, output, name), problem in sorted(found.items()):
        if "--count" not in sys.argv:
            print(f"{name}: qtx {command}: {output}: {problem}")
    print(f"{combinations} combinations of command, output and name; {len(found)} fail")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
