"""Holds packed weights of com.microsoft's operators to ONNX Runtime's dequantization: weights.py QTX [FILTER]

Products of 3, 5, 6 and 7 bits, which its CPU kernels refuse, are held to its document's packing, undone in numpy.
Each case is a model of one product or gather. The identity is fed, so that the result is the weights themselves:
ONNX Runtime's and the reference's (float32) must agree in every bit. Then each goes the way of operators.py.
"""
import copy
import logging
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from common import MICROSOFT, Forms, distance, in_reference, in_runtime

RNG = np.random.default_rng(31)
# What DequantizeLinear does not have: scales of 0 and below, other constants of FLOAT16 reals.
NOT_LOWERED = ("greater than 0", "is no FLOAT16")


class Weights:
    """A model with one node, and what is fed."""

    def __init__(self, name, model, given, bits_of=True, stays=False, refused=""):
        self.name, self.model, self.given = name, model, given
        self.bits_of, self.stays, self.refused = bits_of, stays, refused


def one_node(node, inputs, output, stored, opset=21):
    """The model of it, with `stored` as initializers."""
    graph = helper.make_graph([node], "g", inputs, [output],
                              [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def value(name, array_type, *dims):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(array_type)), dims)


def n_bits(name, rows, columns, bits, block, zero=None, g_idx=False, bias=False, real=np.float32, scales=None, attributes=None,
           **rest):
    """MatMulNBits of random codes, those past K too. `zero`: None, "packed", "real" or "whole"."""
    blocks = -(-rows // block)
    stored = {"B": RNG.integers(0, 256, (columns, blocks, block * bits // 8)).astype(np.uint8)}
    stored["scales"] = RNG.standard_normal((columns, blocks)).astype(real) if scales is None else scales
    inputs = ["A", "B", "scales", "", "", ""]
    if zero == "packed":
        stored["zeros"] = RNG.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8)
    elif zero == "real":
        stored["zeros"] = (RNG.random((columns, blocks)) * 2 ** bits).astype(real)
    elif zero == "whole":
        stored["zeros"] = RNG.integers(0, 2 ** bits, (columns, blocks)).astype(real)
    if zero:
        inputs[3] = "zeros"
    if g_idx:
        stored["g_idx"] = (RNG.permutation(rows) // block).astype(np.int32)
        inputs[4] = "g_idx"
    if bias:
        stored["bias"] = RNG.standard_normal(columns).astype(real)
        inputs[5] = "bias"
    while not inputs[-1]:
        inputs.pop()
    node = helper.make_node("MatMulNBits", inputs, ["Y"], name="the_node", domain=MICROSOFT, K=rows, N=columns, bits=bits,
                            block_size=block, **(attributes or {}))
    model = one_node(node, [value("A", real, "M", rows)], value("Y", real, "M", columns), stored)
    return Weights(name, model, {"A": np.eye(rows, dtype=real)}, **rest)


def products():
    for bits in (2, 4, 8):
        for block in (16, 32, 64, 128, 256):
            for zero in (None, "packed", "real"):
                if zero == "real" and bits == 8:
                    continue  # ONNX Runtime refuses it
                yield n_bits(f"nbits{bits}_{block}_{zero}", 2 * block, 5, bits, block, zero)
        yield n_bits(f"nbits{bits}_short", 40, 3, bits, 32, "packed")
        yield n_bits(f"nbits{bits}_odd_blocks", 48, 3, bits, 16, "packed", bias=True)
        yield n_bits(f"nbits{bits}_level", 64, 3, bits, 32, attributes={"accuracy_level": 1})
    yield n_bits("nbits4_whole_zeros", 64, 5, 4, 16, "whole", bits_of=False)
    yield n_bits("nbits4_g_idx", 64, 5, 4, 16, None, g_idx=True, bits_of=False)
    yield n_bits("nbits4_g_idx_real", 64, 5, 4, 16, "real", g_idx=True, bias=True)
    yield n_bits("nbits4_zero_scale", 64, 3, 4, 32, "packed", scales=np.array([[0, 1], [2, 0], [-0.0, -3]], np.float32))
    yield n_bits("nbits4_tiny_scale", 64, 3, 4, 32, None, scales=np.full((3, 2), 1e-41, np.float32))
    for zero in (None, "packed", "real"):
        yield n_bits(f"nbits4_half_{zero}", 64, 5, 4, 32, zero, real=np.float16)
    yield n_bits("nbits4_half_real_all", 48, 5, 4, 16, "real", real=np.float16, g_idx=True, bias=True)
    yield n_bits("nbits4_half_real_wide", 512, 64, 4, 32, "real", real=np.float16)
    yield n_bits("nbits4_half_whole", 64, 5, 4, 16, "whole", real=np.float16)


def undone(model):
    """The weights of a MatMulNBits by the document: codes one after the other from the lowest bit, (code - zero point) * scale."""
    node = model.graph.node[0]
    rows, columns, bits, block = (next(a.i for a in node.attribute if a.name == name) for name in ("K", "N", "bits", "block_size"))
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}

    def codes(array, count):
        every = np.unpackbits(array.reshape(columns, -1), axis=1, bitorder="little")[:, :count * bits]
        return every.reshape(columns, count, bits).astype(np.int64) @ (1 << np.arange(bits))

    scales, blocks = stored["scales"].astype(np.float32), -(-rows // block)
    w = codes(stored["B"], blocks * block).reshape(columns, blocks, block)
    zeros = stored.get("zeros")
    if zeros is None or zeros.dtype == np.uint8:
        whole = codes(zeros, blocks) if zeros is not None else np.full((columns, blocks), 1 << (bits - 1))
        w = (w - whole[..., None]).astype(np.float32) * scales[..., None]
    else:
        w = w.astype(np.float32) * scales[..., None] + (-zeros.astype(np.float32) * scales)[..., None]
    return w.reshape(columns, -1)[:, :rows].T


def without_kernels():
    for bits in (3, 5, 6, 7):
        for block in (16, 32, 128):
            for zero in (None, "packed", "real"):
                yield n_bits(f"nbits{bits}_{block}_{zero}", 2 * block, 5, bits, block, zero)
        yield n_bits(f"nbits{bits}_short", 40, 3, bits, 32, "packed")
        yield n_bits(f"nbits{bits}_odd_blocks", 48, 3, bits, 16, "packed")


def four_bit_floats():
    for kind, label in ((0, "fp4"), (1, "nf4")):
        for rows, columns, block, real in ((64, 5, 16, np.float32), (64, 6, 64, np.float32), (48, 5, 32, np.float32),
                                           (64, 4, 32, np.float16)):
            count = rows * columns
            stored = {"B": RNG.integers(0, 256, ((count + 1) // 2)).astype(np.uint8),
                      "absmax": np.abs(RNG.standard_normal(-(-count // block))).astype(real)}
            node = helper.make_node("MatMulBnb4", ["A", "B", "absmax"], ["Y"], name="the_node", domain=MICROSOFT, K=rows,
                                    N=columns, block_size=block, quant_type=kind)
            model = one_node(node, [value("A", real, "M", rows)], value("Y", real, "M", columns), stored)
            yield Weights(f"{label}_{rows}x{columns}_{block}_{np.dtype(real).name}", model,
                          {"A": np.eye(rows, dtype=real)})


def gathers():
    def case(name, data, scales, zeros=None, kind=None, **attributes):
        stored = [helper.make_tensor("data", kind, data.shape, data.ravel().tolist()) if kind
                  else onnx.numpy_helper.from_array(data, "data"), onnx.numpy_helper.from_array(scales, "scales")]
        inputs = ["data", "indices", "scales"]
        if zeros is not None:
            inputs.append("zeros")
            stored.append(helper.make_tensor("zeros", kind, zeros.shape, zeros.ravel().tolist()) if kind
                          else onnx.numpy_helper.from_array(zeros, "zeros"))
        node = helper.make_node("GatherBlockQuantized", inputs, ["Y"], name="the_node", domain=MICROSOFT, **attributes)
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("indices", TensorProto.INT64, ["n"])],
                                  [helper.make_tensor_value_info("Y", helper.np_dtype_to_tensor_dtype(scales.dtype), None)],
                                  stored)
        imports = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        size = data.shape[attributes.get("gather_axis", 0)]
        return Weights("gather_" + name, model, {"indices": RNG.permutation(size).astype(np.int64)})

    for bits in (2, 4, 8):
        data = RNG.integers(0, 256, (7, 64 * bits // 8)).astype(np.uint8)
        scales = RNG.standard_normal((7, 4)).astype(np.float32)
        yield case(f"bytes{bits}", data, np.abs(scales), bits=bits, block_size=16, quantize_axis=1)
        zeros = RNG.integers(0, 256, (7, -(-4 * bits // 8))).astype(np.uint8)
        yield case(f"bytes{bits}_zeros", data, scales, zeros, bits=bits, block_size=16, quantize_axis=1)
    for kind, low, label in ((TensorProto.UINT4, 0, "uint4"), (TensorProto.INT4, -8, "int4")):
        data = RNG.integers(low, low + 16, (6, 40))
        scales = np.abs(RNG.standard_normal((6, 3))).astype(np.float32)
        yield case(label, data, scales, kind=kind, block_size=16, quantize_axis=1)
        yield case(label + "_zeros", data, scales, RNG.integers(low, low + 16, (6, 3)), kind=kind, block_size=16,
                   quantize_axis=-1)
        data = RNG.integers(low, low + 16, (48, 5))
        yield case(label + "_axis0", data, np.abs(RNG.standard_normal((3, 5))).astype(np.float32), kind=kind,
                   block_size=16, quantize_axis=0, gather_axis=1)


def by_quantizer():
    """Models that ONNX Runtime's own quantizers write, of a product [128, 8] and of a table [12, 64]."""
    from onnxruntime.quantization import matmul_bnb4_quantizer as bnb4  # pylint: disable=import-outside-toplevel
    from onnxruntime.quantization import matmul_nbits_quantizer as nbits  # pylint: disable=import-outside-toplevel
    from onnxruntime.quantization.quant_utils import QuantFormat  # pylint: disable=import-outside-toplevel

    weights = RNG.standard_normal((128, 8)).astype(np.float32)
    weights[:32, 0] = 0  # a block of zeros
    weights[:32, 1] = -0.7  # and one of a value
    product = one_node(helper.make_node("MatMul", ["A", "W"], ["Y"], name="p"), [value("A", np.float32, "M", 128)],
                       value("Y", np.float32, "M", 8), {"W": weights})
    table = one_node(helper.make_node("Gather", ["W", "indices"], ["Y"], name="p"), [value("indices", np.int64, "n")],
                     value("Y", np.float32, "n", 64), {"W": RNG.standard_normal((12, 64)).astype(np.float32)})

    def made(config, model):
        quantizer = nbits.MatMulNBitsQuantizer(copy.deepcopy(model), block_size=32, algo_config=config)
        quantizer.process()
        return quantizer.model.model

    eye = {"A": np.eye(128, dtype=np.float32)}
    for bits in (4, 8):
        for symmetric in (False, True):
            for form in (QuantFormat.QOperator, QuantFormat.QDQ):
                if bits == 8 and form == QuantFormat.QDQ:
                    continue  # the quantizer leaves such a product as it is
                config = nbits.DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=symmetric, bits=bits,
                                                            quant_format=form)
                name = f"made_default{bits}_{'symmetric' if symmetric else 'asymmetric'}_{form.name}"
                yield Weights(name, made(config, product), eye)
    for name, config in (("rtn", nbits.RTNWeightOnlyQuantConfig()), ("kquant", nbits.KQuantWeightOnlyQuantConfig())):
        try:
            yield Weights("made_" + name, made(config, product), eye)
        except (ImportError, ModuleNotFoundError) as missing:
            print(f"made_{name}: left out, {missing}")
    for symmetric in (False, True):
        config = nbits.DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=symmetric,
                                                    op_types_to_quantize=("Gather",), quant_axes=(("Gather", 1),))
        yield Weights(f"made_gather_{symmetric}", made(config, table), {"indices": np.arange(12, dtype=np.int64)})
    for kind in (0, 1):
        quantizer = bnb4.MatMulBnb4Quantizer(copy.deepcopy(product), kind, 32)
        quantizer.process()
        yield Weights(f"made_bnb4_{kind}", quantizer.model.model, eye)


def hold(program, case, folder):
    forms = Forms(program, case.model, folder)
    held = case.name.startswith(tuple(f"nbits{bits}_" for bits in (3, 5, 6, 7)))
    expected = undone(case.model) if held else in_runtime(forms.stock, case.given)["Y"]
    forms.convert()
    kept = [n.op_type for n in onnx.load(forms.extended).graph.node if n.domain == MICROSOFT]
    assert not kept, f"{kept} stays as it is"
    ours = in_reference(program, forms.extended, case.given, "float32")["Y"]
    same = np.array_equal(ours, expected)  # 0 and -0 are equal: a sum of products has no -0
    far = distance(ours, expected)
    assert same or (not case.bits_of and far < 1e-6), f"weights differ by {far:.1e}"
    differs = forms.come_back()
    assert not differs, differs
    found = "same bits" if same else f"{far:.1e}"
    try:
        forms.lower()
    except RuntimeError as error:
        if not any(why in str(error) for why in NOT_LOWERED):
            raise
        return found + ", not lowered"
    lowered = in_runtime(forms.lowered, case.given)["Y"]
    assert distance(lowered, expected) < (1e-6 if expected.dtype == np.float32 else 1e-3), "lowered weights differ"
    assert forms.lift(), "lifting gives other bytes"
    return found


def main():
    logging.disable(logging.INFO)
    program, wanted = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    failed = total = 0
    for family in (products, without_kernels, four_bit_floats, gathers, by_quantizer):
        for case in family():
            if wanted not in case.name:
                continue
            total += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    print(f"{case.name}: {hold(program, case, folder)}")
                except Exception as error:  # pylint: disable=broad-except
                    failed += 1
                    print(f"{case.name}: FAILED {str(error)[:400]}")
    print(f"{total - failed} of {total}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
