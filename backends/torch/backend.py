"""PyTorch's quantized operators (torch.ops.quantized), with the kernels of FBGEMM, QNNPACK or oneDNN."""

import numpy as np
import qtx
from qtx.backend_kit import Backend, serve

# Engines of torch.backends.quantized, and what their answers are held to.
ENGINES = {"fbgemm": ["float32", "fbgemm"], "qnnpack": ["float32", "qnnpack"], "onednn": ["float32"]}
# What makes quint8 of stored values.
MOVED = {"UINT8Q": 0, "INT8Q": 128}
RESIZES = {("nearest", "asymmetric", "floor"): {"mode": "nearest"},
           ("linear", "half_pixel", "round_prefer_floor"): {"mode": "bilinear", "align_corners": False},
           ("linear", "align_corners", "round_prefer_floor"): {"mode": "bilinear", "align_corners": True}}


def symmetric(pads, auto_pad):
    """The pads of each side, which torch has one of."""
    half = len(pads) // 2
    if auto_pad not in ("NOTSET", "VALID") or tuple(pads[:half]) != tuple(pads[half:]):
        raise qtx.Unsupported("pads of one number for both sides are what torch has")
    return list(pads[:half])


class Kernels:
    """Operators of ONNX by those of torch: `Conv(x, w, b, y=..., **attributes)`, as qtx.from_kernels calls them."""

    def __init__(self, torch):
        self.torch, self.ops = torch, torch.ops.quantized

    def activation(self, value):
        """A tensor of quint8, which the kernels take. INT8Q is moved by 128 with its offset, which leaves its reals as they are."""
        if not isinstance(value, qtx.Tensor) or value.type not in MOVED or value.axis is not None:
            raise qtx.Unsupported("torch's activations are quint8 with one scale and offset")
        moved = MOVED[value.type]
        stored = self.torch.from_numpy(np.asarray(value.stored.astype(np.int16) + moved, np.uint8))
        return self.torch._make_per_tensor_quantized_tensor(stored, float(value.scale), int(value.offset) + moved)

    def weights(self, value, transposed=False):
        """A tensor of qint8."""
        if not isinstance(value, qtx.Tensor) or value.type != "INT8Q" or value.block_shape or isinstance(value.axis, tuple):
            raise qtx.Unsupported("torch's weights are qint8, with one scale or one for each channel")
        stored = np.array(value.stored)
        stored = self.torch.from_numpy(np.ascontiguousarray(stored.T if transposed else stored))
        if value.axis is None:
            return self.torch._make_per_tensor_quantized_tensor(stored, float(value.scale), int(value.offset))
        scales, offsets = self.torch.tensor(value.scale.astype(np.float64)), self.torch.tensor(value.offset.astype(np.int64))
        return self.torch._make_per_channel_quantized_tensor(stored, scales, offsets, 1 - value.axis if transposed else value.axis)

    def bias(self, value):
        """A bias, which torch wants as floats."""
        if value is None:
            return None
        return self.torch.from_numpy(np.array(value.real() if isinstance(value, qtx.Tensor) else value, np.float32))

    def parameters(self, y):
        """Scale and offset of an output of quint8."""
        moved = MOVED.get(y.type)
        if moved is None or (y.quant_min, y.quant_max) != (-moved, 255 - moved) or y.axis is not None:
            raise qtx.Unsupported("torch's results are quint8 of the whole range with one scale and offset")
        return float(y.scale), int(y.offset) + moved

    def stored(self, result, y):
        """The stored integers of a result, which must have the parameters of `y`: many operators keep those of their input."""
        if (result.q_scale(), result.q_zero_point()) != self.parameters(y):
            raise qtx.Unsupported("torch's operator has the parameters of its input at its output")
        stored = result.int_repr().contiguous().numpy().astype(np.int16) - MOVED[y.type]
        return np.asarray(stored, np.int8 if MOVED[y.type] else np.uint8)

    def Conv(self, x, w, b=None, *, y, strides=None, pads=None, dilations=None, group=1, kernel_shape=None, auto_pad="NOTSET"):
        rank = len(w.shape) - 2
        pads = symmetric(pads or [0] * 2 * rank, auto_pad)
        prepack, conv = getattr(self.ops, f"conv{rank}d_prepack", None), getattr(self.ops, f"conv{rank}d", None)
        if conv is None:
            raise qtx.Unsupported(f"{rank} spatial dimensions")
        packed = prepack(self.weights(w), self.bias(b), list(strides or [1] * rank), pads, list(dilations or [1] * rank), group)
        return self.stored(conv(self.activation(x), packed, *self.parameters(y)), y)

    def linear(self, x, w, b, y):
        """x by the transposed weights w, plus b."""
        packed = self.ops.linear_prepack(w, self.bias(b))
        return self.stored(self.ops.linear(self.activation(x), packed, *self.parameters(y)), y)

    def Gemm(self, x, w, b=None, *, y, transA=0, transB=0, alpha=1.0, beta=1.0):
        if transA or (alpha, beta) != (1.0, 1.0) or (b is not None and len(b.shape) != 1):
            raise qtx.Unsupported("linear has x * w + b")
        return self.linear(x, self.weights(w, transposed=not transB), b, y)

    def MatMul(self, x, w, *, y):
        if len(w.shape) == 2 and isinstance(x, qtx.Tensor) and w.type == "INT8Q":
            return self.linear(x, self.weights(w, transposed=True), None, y)
        return self.stored(self.ops.matmul(self.activation(x), self.activation(w), *self.parameters(y)), y)

    def binary(self, operation, a, b, y):
        return self.stored(operation(self.activation(a), self.activation(b), *self.parameters(y)), y)

    def Add(self, a, b, *, y):
        return self.binary(self.ops.add, a, b, y)

    def Mul(self, a, b, *, y):
        return self.binary(self.ops.mul, a, b, y)

    def pool(self, name, x, y, kernel_shape, strides, pads, auto_pad, *rest):
        rank = len(kernel_shape)
        pads = symmetric(pads or [0] * 2 * rank, auto_pad)
        operation = getattr(self.torch.nn.functional, f"{name}{rank}d")
        return self.stored(operation(self.activation(x), list(kernel_shape), list(strides or [1] * rank), pads, *rest), y)

    def AveragePool(self, x, *, y, kernel_shape, strides=None, pads=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0):
        return self.pool("avg_pool", x, y, kernel_shape, strides, pads, auto_pad, bool(ceil_mode), bool(count_include_pad))

    def MaxPool(self, x, *, y, kernel_shape, strides=None, pads=None, auto_pad="NOTSET", ceil_mode=0, dilations=None):
        dilations = list(dilations or [1] * len(kernel_shape))
        return self.pool("max_pool", x, y, kernel_shape, strides, pads, auto_pad, dilations, bool(ceil_mode))

    def GlobalAveragePool(self, x, *, y):
        rank = len(x.shape) - 2
        return self.stored(getattr(self.torch.nn.functional, f"adaptive_avg_pool{rank}d")(self.activation(x), [1] * rank), y)

    def Softmax(self, x, *, y, axis=-1):
        return self.stored(self.ops.softmax(self.activation(x), axis, *self.parameters(y)), y)

    def Concat(self, *values, y, axis):
        return self.stored(self.ops.cat([self.activation(value) for value in values], axis, *self.parameters(y)), y)

    def Resize(self, x, roi=None, scales=None, sizes=None, *, y, mode="nearest", coordinate_transformation_mode="half_pixel",
               nearest_mode="round_prefer_floor"):
        how = RESIZES.get((mode, coordinate_transformation_mode, nearest_mode))
        if how is None or len(y.shape) != 4 or tuple(y.shape[:2]) != tuple(x.shape[:2]):
            raise qtx.Unsupported("interpolate has none of these")
        if scales is not None:
            how = {**how, "scale_factor": [float(scale) for scale in scales[2:]], "recompute_scale_factor": False}
        else:
            how = {**how, "size": list(y.shape[2:])}
        return self.stored(self.torch.nn.functional.interpolate(self.activation(x), **how), y)

    def Relu(self, x, *, y):
        return self.stored(self.torch.relu(self.activation(x)), y)

    def Clip(self, x, low=None, high=None, *, y):
        if not all(bound is None or getattr(bound, "dtype", None) == np.float32 for bound in (low, high)):
            raise qtx.Unsupported("bounds of clamp are numbers")
        low, high = (None if bound is None else float(bound) for bound in (low, high))
        return self.stored(self.torch.clamp(self.activation(x), low, high), y)

    def Sigmoid(self, x, *, y):
        return self.stored(self.ops.sigmoid(self.activation(x), *self.parameters(y)), y)

    def Tanh(self, x, *, y):
        return self.stored(self.torch.tanh(self.activation(x)), y)

    def LeakyRelu(self, x, *, y, alpha=0.01):
        return self.stored(self.ops.leaky_relu(self.activation(x), alpha, False, *self.parameters(y)), y)

    def Elu(self, x, *, y, alpha=1.0):
        return self.stored(self.ops.elu(self.activation(x), *self.parameters(y), alpha, 1.0, 1.0), y)

    def HardSwish(self, x, *, y):
        return self.stored(self.ops.hardswish(self.activation(x), *self.parameters(y)), y)

    def Cast(self, x, *, y, to=None, saturate=1):
        if isinstance(x, qtx.Tensor) or x.dtype != np.float32:
            if y.type != "FLOAT":
                raise qtx.Unsupported("torch quantizes floats, and makes floats of integers")
            return self.activation(x).dequantize().numpy()
        scale, offset = self.parameters(y)
        return self.stored(self.torch.quantize_per_tensor(self.torch.from_numpy(np.array(x)), scale, offset, self.torch.quint8), y)


class Torch(Backend):
    """One model, node by node."""

    takes = "qtx"

    def __init__(self, options):
        super().__init__(options)
        import torch
        torch.set_num_threads(options.threads)
        torch.backends.quantized.engine = options.engine
        self._kernels = Kernels(torch)
        self.name, self.version = f"torch-{options.engine}", torch.__version__.split("+")[0]
        self.device = f"CPU, threads {options.threads}"
        self.arithmetics = ENGINES[options.engine]

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--engine", choices=ENGINES, default="fbgemm", help="of torch.backends.quantized")

    def prepare(self, model):
        loaded = qtx.load(model)
        if loaded.opset < 13 and any(node.op_type == "Softmax" for node in loaded.nodes):
            raise qtx.Unsupported("torch's softmax is along one axis, as ONNX's is since opset 13")
        kernels = {name: getattr(self._kernels, name) for name in dir(self._kernels) if name[0].isupper()}
        self._run = qtx.from_kernels(kernels)(model)

    def run(self, inputs):
        return self._run(inputs)


if __name__ == "__main__":
    serve(Torch)
