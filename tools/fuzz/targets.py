#!/usr/bin/env python3
"""What each libFuzzer program begins with: its seeds, and the words of what it reads.

Usage: targets.py BIN OUTPUT   (BIN: the folder of the programs qtx_fuzz_NAME)

Writes OUTPUT/NAME/ with seeds and OUTPUT/NAME.dict for each program. Seeds are corpus/NAME, texts of the specification and of the
suite, and models that BIN/qtx_make_seeds makes of the suite's cases. Words are the literals of the sources that read them, so that a new
key or operator is a word by itself.
"""
import collections
import hashlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST = 1 << 14  # bytes of a seed
MOST_SEEDS = 2000
WORD = re.compile(r"[\w.:/%@!#<>=+*\[\]{}()|&^,;~-]{2,40}")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')

# seeds: globs from the root; GLOB#INFO: the fenced blocks of that kind in files of Markdown; made/GLOB: of qtx_make_seeds.
# words: globs of sources.
Row = collections.namedtuple("Row", "seeds words", defaults=((), ()))

MODELS = Row(("made/model/*", "tools/fuzz/corpus/c*/*.onnx"), ("proto/src/catalogue/*.cc",))
STOCK = ("proto/src/catalogue/onnx_*.cc", "tools/convert/src/q*/*.cc")
JSON_OF_REPORTS = ("conformance/src/report_*.cc",)
CASE_WORDS = ("conformance/src/*_parser.cc", "conformance/src/generator.cc", "conformance/src/yaml*.cc", "reference/src/arithmetic/*.cc")
FORMULA_WORDS = ("formula/src/*.cc",)
TARGETS = {
    **{name: MODELS for name in ("wire", "wire_large", "check", "infer", "run_model", "quantize", "inspect", "convert_qtx")},
    **{f"convert_{kind}": Row((f"made/{kind}/*",), words) for kind, words in {
        "tflite": (), "qdq": STOCK, "qoperator": STOCK, "qonnx": STOCK, "gguf": ("tools/convert/src/gguf/*.cc",),
        "safetensors": ("tools/convert/src/safetensors/*.cc", "tools/convert/src/decoder/*.cc"), "glow": ("tools/convert/src/glow/*.cc",),
        "ort": ("tools/convert/src/ort/*.cc",), "csv": ("tools/convert/src/table/*.cc",), "json": ("tools/convert/src/table/*.cc",),
        "stablehlo": ("tools/convert/src/stablehlo/*.cc",), "nnef": ("tools/convert/src/nnef/*.cc",),
        "paddle": ("tools/convert/src/paddle/*.cc",), "caffe2": ("tools/convert/src/caffe2/*.cc",)}.items()},
    "convert_onnx": Row(("made/qdq/*", "tools/fuzz/corpus/infer/*"), STOCK),
    "npy": Row(words=("proto/src/npy.cc",)),
    "sample_npy": Row(("tools/fuzz/corpus/npy/*",), ("proto/src/npy.cc",)),
    "sample_tensor": Row(("tools/fuzz/corpus/tensor_proto/*",)),
    "preprocessing": Row(words=("tools/calibrate/src/data/preprocessing.cc",)),
    "gram": Row(("tools/fuzz/corpus/calibration_journal/*", "tools/fuzz/corpus/check/*"), ("tools/calibrate/src/gram.cc",)),
    "calibration_journal": Row(words=("tools/calibrate/src/journal.cc", "tools/calibrate/src/coverage.cc")),
    "rules": Row(words=("tools/quantize/src/*rule*.cc", "tools/quantize/src/p*.cc")),
    "cases": Row(("conformance/cases/*/*/*.yaml",), CASE_WORDS),
    "formula_cases": Row(("spec/*/*.md#formula-cases",), CASE_WORDS),
    "proposal_examples": Row(("spec/proposals/*/examples/*.yaml",), CASE_WORDS),
    "reports": Row(words=JSON_OF_REPORTS),
    "scoreboard": Row(("tools/fuzz/corpus/reports/*",), JSON_OF_REPORTS),
    "deviations": Row(("scoreboard/deviations/*.md",), ("tools/scoreboard/src/*.cc",)),
    "text_answers": Row(("conformance/cases/text_answers.txt",)),
    "validation_journal": Row(words=("conformance/src/journal*.cc", *JSON_OF_REPORTS)),
    "fuzz_journal": Row(words=("conformance/src/*journal*.cc",)),
    "formulas": Row(("spec/*/*.md", "spec/*.md"), FORMULA_WORDS + CASE_WORDS),
    "chapter": Row(("spec/*/*.md", "tools/fuzz/corpus/formulas/*"), FORMULA_WORDS),
    "overlay": Row(("spec/proposals/*/overlay/*/*.md",), FORMULA_WORDS),
    "expression": Row(("spec/*/*.md#formula",), FORMULA_WORDS),
    "diff": Row(("spec/proposals/*/proposal.md#diff",), ("tools/spec/src/proto_change.cc",)),
    "proposal": Row(("spec/proposals/*/proposal.md",), ("tools/spec/src/proposal.cc", *CASE_WORDS)),
}
DASHES = re.compile(r"^---+\n", re.MULTILINE)


def row_of(name):
    return MODELS if name.startswith("write_") else TARGETS.get(name, Row())


def blocks(text, info):
    """The fenced blocks of a kind; of formula-cases what is below the line of dashes, of formula what is above."""
    part = {"formula": 0, "formula-cases": -1}.get(info)
    for block in re.findall(rf"^```{info.partition('-')[0]}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield (block if part is None else DASHES.split(block)[part]).encode()


def seeds_of(name, made):
    """The bytes of its seeds, each once."""
    found = [path.read_bytes() for path in sorted((ROOT / "tools/fuzz/corpus" / name).glob("*"))]
    for pattern in row_of(name).seeds:
        glob, _, info = pattern.partition("#")
        base, glob = (made, glob.removeprefix("made/")) if glob.startswith("made/") else (ROOT, glob)
        for path in sorted(base.glob(glob)):
            found += blocks(path.read_text(errors="replace"), info) if info else [path.read_bytes()[:None if path.suffix != ".txt" else 2000]]
    found = [data for data in dict.fromkeys(found) if len(data) <= LONGEST]
    return found[::max(1, -(-len(found) // MOST_SEEDS))]


def words_of(name):
    """Literals that look like words, in the order of the sources."""
    words = {}
    for pattern in row_of(name).words:
        for path in sorted(ROOT.glob(pattern)):
            lines = (line for line in path.read_text().splitlines() if not line.startswith("#include"))
            for literal in LITERAL.findall("\n".join(lines)):
                if WORD.fullmatch(literal):
                    words[literal] = None
    return list(words)


def write(names, bin_folder, output):
    """Seeds and dictionaries of these targets."""
    made = output / "made"
    if not made.is_dir():
        subprocess.run([bin_folder / "qtx_make_seeds", ROOT / "conformance/cases", made], check=True)
    for name in names:
        folder = output / name
        folder.mkdir(parents=True, exist_ok=True)
        for data in seeds_of(name, made):
            (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
        if words := words_of(name):
            (output / f"{name}.dict").write_text("".join(f'"{word}"\n' for word in words))


def names_in(bin_folder):
    return [path.name.removeprefix("qtx_fuzz_") for path in sorted(bin_folder.glob("qtx_fuzz_*"))]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    bin_folder, output = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    write(names_in(bin_folder), bin_folder, output)


if __name__ == "__main__":
    main()
