#!/usr/bin/env python3
"""Measures `qtx convert`, `check` and `convert --to gguf` on a large file: started by hand.

    size.py QTX FOLDER [LAYERS [--repack] [--parts N]]

Needs gguf 0.19.0, numpy and the space of two files: 0.12 GB for each of the layers (20), whose types
are those of Q4_K_M.  Prints seconds, each against those of cp of the file, and the peak of anonymous
memory (RssAnon).  The files are removed.

--repack: the model has ordinary tensors, and one more of 1.1 billion elements of Q8_0; it takes the
space of five files.  --parts: it is read from so many files, and comes back as the one.
"""
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as T

import blocks as make_blocks

WIDTH, HIDDEN, TOKENS = 4096, 11008, 32000


def tensors(layers, large=False):
    if large:
        yield "large.weight", (268800, WIDTH), T.Q8_0
    yield "token_embd.weight", (TOKENS, WIDTH), T.Q4_K
    yield "output.weight", (TOKENS, WIDTH), T.Q6_K
    for i in range(layers):
        more = T.Q6_K if i % 2 == 0 else T.Q4_K
        for name, shape, qtype in (
                ("attn_q", (WIDTH, WIDTH), T.Q4_K), ("attn_k", (WIDTH, WIDTH), T.Q4_K),
                ("attn_v", (WIDTH, WIDTH), more), ("attn_output", (WIDTH, WIDTH), T.Q4_K),
                ("ffn_gate", (HIDDEN, WIDTH), T.Q4_K), ("ffn_up", (HIDDEN, WIDTH), T.Q4_K),
                ("ffn_down", (WIDTH, HIDDEN), more)):
            yield f"blk.{i}.{name}.weight", shape, qtype
        yield f"blk.{i}.attn_norm.weight", (WIDTH,), T.F32


def write(path, held, part=0, parts=1):
    """A file with these tensors, or part `part` of a file in `parts`."""
    rng = np.random.default_rng(1)
    records = {q: make_blocks.make(q, 4096, rng) for q in (T.Q4_K, T.Q6_K, T.Q8_0)}
    writer = gguf.GGUFWriter(path, "llama", use_temp_file=False)
    if part == 0:
        writer.add_array("tokenizer.ggml.tokens", [f"token{i}" for i in range(TOKENS)])
    if parts > 1:
        writer.add_uint16("split.no", part)
        writer.add_uint16("split.count", parts)
        writer.add_int32("split.tensors.count", len(held))
        held = held[part * len(held) // parts:(part + 1) * len(held) // parts]
    data = []
    for name, shape, qtype in held:
        if qtype == T.F32:
            data.append(np.ones(shape, dtype=np.float32))
            writer.add_tensor_info(name, shape, np.dtype(np.float32), data[-1].nbytes)
            continue
        block, size = gguf.GGML_QUANT_SIZES[qtype]
        row = shape[1] // block * size
        data.append((qtype, shape[0] * row // size))
        writer.add_tensor_info(name, (shape[0], row), np.dtype(np.uint8), shape[0] * row, qtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    out = writer.fout[0]
    writer.write_padding(out, out.tell())
    for item in data:
        if isinstance(item, tuple):
            qtype, count = item
            for at in range(0, count, 4096):
                out.write(records[qtype][:min(4096, count - at)].tobytes())
        else:
            out.write(item.tobytes())
        writer.write_padding(out, out.tell())
    writer.close()


def measure(arguments):
    """Seconds, those of processor time, and the peak of RssAnon in MB."""
    begin = time.monotonic()
    process = subprocess.Popen([str(a) for a in arguments])
    peak = 0

    def watch():
        nonlocal peak
        while process.returncode is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak = max(peak, int(status.split("RssAnon:")[1].split()[0]) // 1024)
            except (OSError, IndexError):
                pass
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        raise SystemExit(f"failed: {arguments}")
    took = time.monotonic() - begin
    watcher.join()
    return took, used.ru_utime + used.ru_stime, peak


def main():
    qtx, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    source, model, back, copy = (folder / n for n in ("big.gguf", "big.onnx", "back.gguf", "copy.gguf"))
    repack = ["--repack"] if "--repack" in sys.argv else []
    count = int(sys.argv[sys.argv.index("--parts") + 1]) if "--parts" in sys.argv else 1
    parts = [folder / f"big-{i + 1:05}-of-{count:05}.gguf" for i in range(count)] if count > 1 else []
    try:
        held = list(tensors(int(sys.argv[3]) if len(sys.argv) > 3 else 20, bool(repack)))
        write(source, held)
        for i, part in enumerate(parts):
            write(part, held, i, count)
        subprocess.run(["sync"], check=True)
        size = source.stat().st_size
        seconds, busy, _ = measure(["cp", "--reflink=never", source, copy])
        copy.unlink()
        print(f"{size / 1e9:.2f} GB; cp {seconds:.1f} s, {busy:.1f} s of processor time")
        for name, arguments in (
                ("convert", ["convert", parts[0] if parts else source, *repack, "-o", model, "-q"]),
                ("check", ["check", model, "-q"]),
                ("convert --to gguf", ["convert", model, "--to", "gguf", "-o", back, "-q"])):
            took, busy, peak = measure([qtx, *arguments])
            print(f"{name}: {took:.1f} s, {took / seconds:.2f} of cp, {busy:.1f} s of processor time; "
                  f"{peak} MB", flush=True)
        print(f"model {model.stat().st_size / 1e3:.0f} KB")
        subprocess.run(["cmp", source, back], check=True)
    finally:
        for path in (source, model, back, copy, Path(f"{model}.data"), *parts):
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
