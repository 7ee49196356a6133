#!/usr/bin/env python3
"""Measures `qtx` on stock ONNX with int4 weights in blocks and external data: started by hand.

    blocks_size.py QTX FOLDER [WEIGHTS]

Needs onnx 1.23, gguf 0.19.0 and numpy, and the space of two files of 28 MB for each of the weights (90): [4096,11008] and
[11008,4096] in turn, blocks of 32 along the first axis, FLOAT scales.  Prints the seconds of each step, those of cp of the
weights, and the peak of anonymous memory (RssAnon).  What is lifted must be the model that was lowered.
"""
import filecmp
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).parent.parent / "gguf"))
from size import measure

WIDTH, HIDDEN, BLOCK = 4096, 11008, 32


def external(file, name, data_type, dims, raw):
    tensor = TensorProto(name=name, data_type=data_type, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in (("location", Path(file.name).name), ("offset", file.tell()), ("length", len(raw))):
        tensor.external_data.add(key=key, value=str(value))
    file.write(raw)
    return tensor


def write(path, count):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 256, WIDTH * HIDDEN // 2, dtype=np.uint8).tobytes()
    scales = (rng.random(WIDTH * HIDDEN // BLOCK, dtype=np.float32) + 0.01).tobytes()
    nodes, initializers, x = [], [], "x"
    with open(path.with_suffix(".data"), "wb") as file:
        for i in range(count):
            k, n = (WIDTH, HIDDEN) if i % 2 == 0 else (HIDDEN, WIDTH)
            initializers.append(external(file, f"w{i}", TensorProto.INT4, [k, n], weights))
            initializers.append(external(file, f"s{i}", TensorProto.FLOAT, [k // BLOCK, n], scales))
            nodes.append(helper.make_node("DequantizeLinear", [f"w{i}", f"s{i}"], [f"d{i}"], axis=0, block_size=BLOCK))
            nodes.append(helper.make_node("MatMul", [x, f"d{i}"], [f"y{i}"]))
            x = f"y{i}"
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "blocks", [value("x")], [value(x)], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def main():
    qtx, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    stock, model, low, lifted, copy = (folder / n for n in ("m.onnx", "c.onnx", "low.onnx", "lifted.onnx", "copy.data"))
    data = stock.with_suffix(".data")
    try:
        write(stock, int(sys.argv[3]) if len(sys.argv) > 3 else 90)
        subprocess.run(["sync"], check=True)
        took, busy, _ = measure(["cp", "--reflink=never", data, copy])
        copy.unlink()
        print(f"{data.stat().st_size / 1e9:.2f} GB; cp {took:.1f} s, {busy:.1f} s of processor time")
        for name, arguments in (("convert", ["convert", stock, "-o", model]), ("check", ["check", model]),
                                ("lower", ["lower", model, "-o", low]), ("lift", ["lift", low, "-o", lifted]),
                                ("diff", ["diff", model, lifted])):
            took, busy, peak = measure([qtx, *arguments, "-q"])
            print(f"{name}: {took:.1f} s, {busy:.1f} s of processor time; {peak} MB", flush=True)
        print("same bytes" if filecmp.cmp(model, lifted, shallow=False) else "OTHER BYTES")
    finally:
        for path in (stock, data, model, low, lifted, copy, low.with_name(low.name + ".data")):
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
