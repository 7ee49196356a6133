#!/usr/bin/env python3
"""Holds `qtx convert` of GGUF files to the gguf package: started by hand.

    hold.py QTX [RECORDS [SEED]]

Needs gguf 0.19.0, numpy and onnx.  For each type of ggml: records of random bits, all zeros and all
ones, with random factors and with those at the edges of binary16; their reals, as `qtx run` gives
them by a Cast to FLOAT in exact, are compared with gguf's dequantization bit for bit (a zero of the
other sign counts as equal: exact reals have one zero).  Each file goes in twice, in place and with
--repack, comes back byte for byte, and the two models are diffed.  Records with infinite or NaN
factors must stay bytes.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np
import onnx
from gguf import GGMLQuantizationType as T

import blocks as make_blocks

FLOAT = onnx.TensorProto.FLOAT
# Types whose tensors have an encoding, unless they are repacked.
IN_PLACE = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL",
            "IQ4_XS", "TQ2_0", "MXFP4", "NVFP4"]


def run(*arguments, status=0):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != status:
        raise SystemExit(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def write(path, tensors, **options):
    writer = gguf.GGUFWriter(path, "llama", **options)
    writer.add_name("test")
    writer.add_array("a.list", [["nested", "texts"], ["of", "two", "arrays"]])
    writer.add_array("tokens", ["<s>", "", "\u00e4\u20ac"])
    writer.add_float64("a.double", 0.1)
    writer.add_bool("a.bool", True)
    for name, (data, qtype) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=qtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def with_casts(path, names, out):
    """The model with a Cast to FLOAT of each tensor, by its name and '.real'."""
    model = onnx.load(path, load_external_data=False)
    for i, name in enumerate(names):
        model.graph.node.append(onnx.helper.make_node("Cast", [name], [f"real{i}"], to=FLOAT))
        model.graph.output.append(onnx.helper.make_tensor_value_info(f"real{i}", FLOAT, None))
    out.write_bytes(model.SerializeToString())


def compare(name, found, expected):
    same = (found.view(np.uint32) == expected.view(np.uint32)) | ((found == 0) & (expected == 0))
    if same.all():
        return len(expected)
    i = int(np.argmin(same))
    raise SystemExit(f"{name}: element {i} of {len(expected)} is {found[i]!r}, gguf says "
                     f"{expected[i]!r}; {int((~same).sum())} differ")


def tensors_of(qtype, records, rng):
    if qtype in make_blocks.PLAIN:
        return {"random": make_blocks.make(qtype, records, rng)}
    found = {}
    for bits in ("random", "zeros", "ones"):
        for edges in (False, True):
            name = f"{bits}{'.edges' if edges else ''}"
            found[name] = make_blocks.make(qtype, records, rng, bits, edges)
    return found


def hold(qtx, folder, qtype, records, rng):
    tensors = tensors_of(qtype, records, rng)
    source = folder / f"{qtype.name}.gguf"
    write(source, {name: (data.reshape(4, -1), qtype) for name, data in tensors.items()})
    count = 0
    for form, options in (("place", []), ("repack", ["--repack"])):
        model, back = folder / f"{form}.onnx", folder / f"{form}.gguf"
        run(qtx, "convert", source, "-o", model, *options, "-q")
        run(qtx, "check", model)
        run(qtx, "convert", model, "--to", "gguf", "-o", back, "-q")
        if back.read_bytes() != source.read_bytes():
            raise SystemExit(f"{qtype.name}: {form}: another file came back")
        if qtype in make_blocks.PLAIN or qtype in make_blocks.OPAQUE:
            continue
        cast, results = folder / "cast.onnx", folder / "results"
        with_casts(model, list(tensors), cast)
        run(qtx, "run", cast, "--output-dir", results, "-q")
        for i, (name, data) in enumerate(tensors.items()):
            expected = make_blocks.reals(data, qtype)
            found = np.load(results / f"real{i}.npy").reshape(-1)
            count += compare(f"{qtype.name}: {form}: {name}", found, expected)
    hold_diff(qtx, folder, qtype)
    return count


def hold_diff(qtx, folder, qtype):
    """The two forms differ in encodings alone: codes, scales and bases are the same."""
    differs = qtype in make_blocks.QUANTIZED and qtype.name in IN_PLACE
    said = run(qtx, "diff", folder / "place.onnx", folder / "repack.onnx", status=int(differs))
    others = [line for line in said.splitlines()[:-1] if "' encoding: " not in line]
    if others:
        raise SystemExit(f"{qtype.name}: diff: {others}")


def hold_non_finite(qtx, folder, qtype, rng):
    """A tensor of which one factor is infinite or NaN stays bytes, and comes back."""
    data = make_blocks.make(qtype, 8, rng)
    if qtype in make_blocks.BYTES:
        data[3, 0] = 255
    else:
        code = rng.choice(np.array([0x7C00, 0xFC00, 0x7E01], dtype=np.uint16))
        single = data[3:4].copy()
        make_blocks.set_half(single, qtype, 0, [code])
        data[3] = single
    source, model, back = (folder / name for name in ("bad.gguf", "bad.onnx", "back.gguf"))
    write(source, {"w": (data.reshape(2, -1), qtype)})
    said = run(qtx, "convert", source, "-o", model, "--ledger")
    if "as its bytes" not in said:
        raise SystemExit(f"{qtype.name}: with an infinite factor: {said}")
    run(qtx, "check", model)
    run(qtx, "convert", model, "--to", "gguf", "-o", back, "-q")
    if back.read_bytes() != source.read_bytes():
        raise SystemExit(f"{qtype.name}: infinite: another file came back")


def hold_splits(qtx, folder, rng):
    """Parts are read as one model, which is written as the file that was split."""
    tensors = {f"t{i}": (make_blocks.make(T.Q4_K, 8, rng).reshape(4, -1), T.Q4_K) for i in range(7)}
    write(folder / "whole.gguf", tensors)
    write(folder / "parts.gguf", tensors, split_max_tensors=3)
    for options in ([], ["--repack"]):
        run(qtx, "convert", folder / "parts-00001-of-00003.gguf", "-o", folder / "parts.onnx", "-q",
            *options)
        run(qtx, "convert", folder / "parts.onnx", "--to", "gguf", "-o", folder / "joined.gguf", "-q")
        if (folder / "joined.gguf").read_bytes() != (folder / "whole.gguf").read_bytes():
            raise SystemExit("parts: the joined file is another")


def main():
    qtx = Path(sys.argv[1]).resolve()
    records = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    rng = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    total = 0
    for qtype in make_blocks.PLAIN + make_blocks.OPAQUE + make_blocks.QUANTIZED:
        with tempfile.TemporaryDirectory() as folder:
            count = hold(qtx, Path(folder), qtype, records, rng)
            if qtype in make_blocks.QUANTIZED:
                hold_non_finite(qtx, Path(folder), qtype, rng)
        print(f"{qtype.name}: {count} reals", flush=True)
        total += count
    with tempfile.TemporaryDirectory() as folder:
        hold_splits(qtx, Path(folder), rng)
    print(f"{total} reals, all as the gguf package has them")


if __name__ == "__main__":
    main()
