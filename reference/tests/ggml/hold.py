#!/usr/bin/env python3
"""Holds the arithmetics ggml and ggml-avx2 to llama.cpp's own kernels: started by hand.

    hold.py QTX SOURCES [--rounds N] [--seed N] [--types Q4_K,...]

SOURCES is the folder ggml of llama.cpp (of vendor/llama.cpp in the sdist of llama-cpp-python 0.3.36). Its kernels are
compiled twice: the generic C code for the processor's baseline, and the x86 kernels with AVX2, FMA and F16C; in the
latter ggml-quants.c stays baseline code, as in upstream's build. Each round multiplies rows of x of all kinds (NaN,
infinities, ties, zeros, magnitudes from 1e-45 to 1e38) by columns of random and of extreme records whose binary16 are
finite, in Gemm, with K of 1 to 5 records, by `qtx run`; the bits of all results are compared, all NaN being one.

Needs gguf 0.19, numpy, onnx, a C compiler and a processor with AVX2.  Status: 1 a difference.
"""
import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np
import onnx
from gguf import GGMLQuantizationType as T
from gguf.constants import GGML_QUANT_SIZES

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools/convert/tests/gguf"))
import blocks as make_blocks  # noqa: E402

# The activations of each type of weights, and the bytes of one of their records.
ACTIVATIONS = {"Q4_0": ("q8_0", 34), "Q8_0": ("q8_0", 34), "Q5_0": ("q8_0", 34), "Q4_1": ("q8_1", 36), "Q5_1": ("q8_1", 36),
               "IQ4_NL": ("q8_0", 34), "Q2_K": ("q8_K", 292), "Q3_K": ("q8_K", 292), "Q4_K": ("q8_K", 292),
               "Q5_K": ("q8_K", 292), "Q6_K": ("q8_K", 292)}
FLAGS = ["-std=gnu11", "-O3", "-DNDEBUG", "-D_GNU_SOURCE", "-fPIC", "-w"]
BUILDS = {"ggml": ["-DGGML_CPU_GENERIC"], "ggml-avx2": ["-mavx2", "-mfma", "-mf16c"]}
# What the kernels want of the rest of ggml.
REST = """
#include "ggml-impl.h"
float ggml_table_f32_f16[1 << 16], ggml_table_f32_e8m0_half[1 << 8], ggml_table_f32_ue4m3[1 << 8];
__attribute__((constructor)) static void fill(void) {
  for (int i = 0; i < 1 << 16; ++i) ggml_table_f32_f16[i] = GGML_COMPUTE_FP16_TO_FP32((ggml_fp16_t)i);
}
void ggml_abort(const char* file, int line, const char* text, ...) { __builtin_trap(); }
void ggml_critical_section_start(void) {}
void ggml_critical_section_end(void) {}
"""


def compile_kernels(sources, name, folder):
    include = [f"-I{sources / part}" for part in ("include", "src", "src/ggml-cpu")]
    (folder / "rest.c").write_text(REST)
    kernels = [sources / "src/ggml-cpu/quants.c"]
    if name != "ggml":
        kernels.append(sources / "src/ggml-cpu/arch/x86/quants.c")
    objects = []
    for i, (source, flags) in enumerate([(sources / "src/ggml-quants.c", []), (folder / "rest.c", [])] +
                                        [(kernel, BUILDS[name]) for kernel in kernels]):
        objects.append(folder / f"{name}{i}.o")
        subprocess.run(["cc", *FLAGS, *flags, *include, "-c", source, "-o", objects[-1]], check=True)
    library = folder / f"{name}.so"
    subprocess.run(["cc", "-shared", "-o", library, *objects, "-lm"], check=True)
    return ctypes.CDLL(str(library), mode=os.RTLD_LAZY)


def products(library, type_name, x, w):
    """The kernels' products of FLOAT x [M, K] and the records w [N, bytes], [M, N]."""
    stem, size = ACTIVATIONS[type_name]
    depth = x.shape[1]
    records = depth // (256 if stem == "q8_K" else 32)
    # Sums of a super-block of zeros are not written.
    rows = np.full((len(x), records * size), 0x5A, np.uint8)
    quantize = getattr(library, f"quantize_row_{stem}")
    kernel = getattr(library, f"ggml_vec_dot_{type_name.lower().replace('_k', '_K')}_{stem}")
    for from_row, to_row in zip(x, rows):
        quantize(ctypes.c_void_p(from_row.ctypes.data), ctypes.c_void_p(to_row.ctypes.data), ctypes.c_int64(depth))
    y = np.zeros((len(x), len(w)), np.float32)
    none, one = ctypes.c_size_t(0), ctypes.c_int(1)
    for i in range(len(x)):
        for j in range(len(w)):
            kernel(ctypes.c_int(depth), ctypes.c_void_p(y[i, j:].ctypes.data), none, ctypes.c_void_p(w[j].ctypes.data), none,
                   ctypes.c_void_p(rows[i].ctypes.data), none, one)
    return y


def rows_of_x(rng, count, depth):
    """FLOAT [count, depth], a sixth of which has NaN or infinities."""
    with np.errstate(all="ignore"):
        x = rng.standard_normal((count, depth))
        for i in range(count):
            blocks = x[i].reshape(-1, 32)
            kind = i % 12
            if kind == 1:  # other magnitudes in each block
                blocks *= 10.0 ** rng.uniform(-42, 38, (len(blocks), 1))
            elif kind == 2:
                x[i] *= 10.0 ** rng.uniform(-45, 38, depth)
            elif kind == 3:  # ties where the greatest is 127
                x[i] = rng.integers(-254, 255, depth) / 2 * 2.0 ** rng.integers(-30, 20)
                x[i, rng.integers(0, 32)::32] = 127
            elif kind == 4:
                x[i, rng.random(depth) < 0.97] = 0
            elif kind == 5:
                x[i] = rng.choice([-1.0, 1.0, 0.5, -0.5], depth) * 10.0 ** rng.uniform(-3, 3)
            elif kind == 6:  # a greatest whose inverse is infinite, or nearly
                x[i] *= 10.0 ** rng.uniform(-38, -36)
            elif kind == 7:
                x[i] *= 10.0 ** rng.uniform(34, 38)
            elif kind == 8:  # only one record, the last one or another, is not 0
                at = depth - 32 if rng.random() < 0.5 else 32 * rng.integers(0, depth // 32)
                x[i, :at] = x[i, at + 32:] = 0
            elif kind == 9:
                x[i, rng.random(depth) < 0.05] = np.nan
                x[i, rng.random(depth) < 0.3] = -0.0
            elif kind == 10:
                x[i, rng.random(depth) < 0.01] = rng.choice([np.inf, -np.inf, np.nan])
            elif kind == 11:  # whatever bits; of NaN the one that has no payload
                x[i] = rng.integers(0, 1 << 32, depth, dtype=np.uint64).astype(np.uint32).view(np.float32)
        x = x.astype(np.float32)
    x[np.isnan(x)] = np.nan
    return x


def records_of_w(rng, qtype, count):
    size = GGML_QUANT_SIZES[qtype][1]
    w = rng.integers(0, 256, (count, size), dtype=np.uint8)
    w[rng.random(count) < 0.1] = 0xFF
    w[rng.random(count) < 0.1] = 0
    w[rng.random(count) < 0.05] = 0x80
    for which in range(len(make_blocks.HALVES[qtype])):
        codes = make_blocks.random_halves(rng, count)
        usual = rng.uniform(-0.1, 0.1, count).astype(np.float16).view(np.uint16)
        edges = rng.choice(np.array(make_blocks.EDGE_HALVES, np.uint16), count)
        draw = rng.random(count)
        make_blocks.set_half(w, qtype, which, np.where(draw < 0.6, usual, np.where(draw < 0.8, codes, edges)))
    return w


def run_qtx(qtx, arithmetic, qtype, x, w, folder, repack):
    writer = gguf.GGUFWriter(folder / "w.gguf", "test")
    writer.add_tensor("w", w, raw_dtype=qtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    command = [qtx, "convert", folder / "w.gguf", "-o", folder / "w.onnx", "-q"] + (["--repack"] if repack else [])
    subprocess.run(command, check=True)
    model = onnx.load(folder / "w.onnx", load_external_data=False)
    model.graph.node.append(onnx.helper.make_node("Gemm", ["x", "w"], ["y"], transB=1))
    model.graph.input.append(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape))
    model.graph.output.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    (folder / "run.onnx").write_bytes(model.SerializeToString())
    np.save(folder / "x.npy", x)
    subprocess.run([qtx, "run", folder / "run.onnx", "--arithmetic", arithmetic, "--input", f"x={folder / 'x.npy'}",
                    "--output-dir", folder, "-q"], check=True)
    return np.load(folder / "y.npy")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("qtx")
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", default=",".join(ACTIVATIONS))
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        libraries = {name: compile_kernels(options.sources, name, folder) for name in BUILDS}
        for type_name in options.types.split(","):
            qtype = T[type_name]
            block = GGML_QUANT_SIZES[qtype][0]
            for arithmetic, library in libraries.items():
                sums = different = finite = special = 0
                for i in range(options.rounds):
                    count = 1 + i % 5
                    x = rows_of_x(rng, 48, count * block)
                    w = records_of_w(rng, qtype, 64 * count).reshape(64, -1)
                    expected = products(library, type_name, x, w)
                    found = run_qtx(options.qtx, arithmetic, qtype, x, w, folder, i % 2 == 1)
                    same = (expected.view(np.uint32) == found.view(np.uint32)) | (np.isnan(expected) & np.isnan(found))
                    sums += same.size
                    finite += np.isfinite(expected).sum()
                    special += (~np.isfinite(x).all(1)).sum() * same.shape[1]
                    different += (~same).sum()
                    for m, n in np.argwhere(~same)[:3]:
                        print(f"  row {m} (kind {m % 12}), column {n}, {count} records: found {found[m, n]!r}, "
                              f"expected {expected[m, n]!r}")
                failed |= different > 0
                print(f"{type_name:5} {arithmetic:9} {sums} sums, {finite} finite, {special} of rows with NaN or infinities: "
                      f"{different} differ", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
