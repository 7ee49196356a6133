#!/usr/bin/env python3
"""ONNX Runtime as a backend, on stdin and stdout (spec/backend_protocol.md).

A model in the extended form is lowered to QDQ by `qtx lower`, which ONNX Runtime fuses into integer
kernels; a stock ONNX model runs unchanged. Quantized inputs and outputs stay integers: the quantizing and
dequantizing at the graph's borders are cut away.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
    from google.protobuf.unknown_fields import UnknownFieldSet
except ImportError as error:
    VENV = HERE / "venv/bin/python"
    if VENV.exists() and pathlib.Path(sys.prefix) != HERE / "venv":
        os.execv(VENV, [str(VENV), *sys.argv])
    sys.exit(f"{error}; backends/onnxruntime/install makes an environment with what is missing")

MAX_FRAME = 1 << 30
MAX_REPETITIONS = 1 << 20
FLOAT = onnx.TensorProto.FLOAT
NUMPY = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32,
         7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}
QUANTIZED = range(1002, 1102)  # element types of the extended form; their storage is 1000 less
INVALID, UNSUPPORTED, IO, PROTOCOL = 0, 1, 3, 5


class Refusal(Exception):
    def __init__(self, code, where, text):
        super().__init__(text)
        self.code, self.where, self.text = code, where, " ".join(text.split())[:400]


def load_messages():
    """Request, Response and Quantization, from the texts that define them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "set")
        subprocess.run(["protoc", f"--descriptor_set_out={path}", f"--proto_path={ROOT}/proto",
                        "qtx/backend.proto", "qtx/quantization.proto"], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(path).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName(f"qtx.{name}"))
            for name in ("Request", "Response", "Quantization")]


def is_extended(model):
    values = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    return any(v.type.tensor_type.elem_type in QUANTIZED for v in values)


def inline_quantization(Quantization, value, node, constants):
    """The qtx.Quantization of a quantized value, field 1001 of its type, its parameters inline
    (backend_protocol.S13): those that its QuantizeLinear or DequantizeLinear has, in the same order."""
    fields = UnknownFieldSet(value.type.tensor_type)
    q = Quantization.FromString(b"".join(f.data for f in fields if f.field_number == 1001))
    if q.scale_levels or q.HasField("scale_tensor"):
        for field in ("scale_levels", "scale_tensor"):
            q.ClearField(field)
        q.scale.extend(constants[node.input[1]].flatten())
    if q.HasField("offset_tensor"):
        q.ClearField("offset_tensor")
        q.offset.extend(constants[node.input[2]].flatten().astype(int))
    return q.SerializeToString()


def lower(model, qtx):
    """The QDQ form of an extended model. Errors: INVALID when it breaks a rule, else UNSUPPORTED."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
        pathlib.Path(source).write_bytes(model)
        done = subprocess.run([qtx, "lower", source, "-o", target], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            text = done.stderr.replace(source + ": ", "") or f"status {done.returncode}"
            broken = re.search(r"\[\w+\.[CS]\d+\]", text)
            raise Refusal(INVALID if broken else UNSUPPORTED, "qtx lower", text)
        return onnx.ModelProto.FromString(pathlib.Path(target).read_bytes())


def keep_integers(lowered, extended, Quantization):
    """Graph inputs and outputs that are quantized become the stored integers. Returns the serialised
    quantization of each of them."""
    graph = lowered.graph
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
    declared = {v.name: v for v in [*extended.graph.input, *extended.graph.output]}
    quantizations = {}
    consumers = {name: node for node in graph.node for name in node.input}
    producers = {name: node for node in graph.node for name in node.output}
    types = {v.name: v.type.tensor_type.elem_type
             for v in [*extended.graph.input, *extended.graph.output]}
    for value in graph.input:
        node = consumers.get(value.name)
        if types.get(value.name) in QUANTIZED and node is not None:
            if node.op_type != "QuantizeLinear":
                raise Refusal(UNSUPPORTED, f"input '{value.name}'", "not quantized where expected")
            quantizations[value.name] = inline_quantization(
                Quantization, declared[value.name], node, constants)
            set_stored(value, node.output[0], types[value.name])
            graph.node.remove(node)
    for value in graph.output:
        node = producers.get(value.name)
        if types.get(value.name) in QUANTIZED:
            if node is None or node.op_type != "DequantizeLinear":
                raise Refusal(UNSUPPORTED, f"output '{value.name}'", "no node computes it")
            quantizations[value.name] = inline_quantization(
                Quantization, declared[value.name], node, constants)
            last = not any(value.name in n.input for n in graph.node)
            set_stored(value, node.input[0], types[value.name])
            if last:
                graph.node.remove(node)
    return quantizations


def set_stored(value, name, elem_type):
    shape = value.type.tensor_type.shape
    fresh = onnx.helper.make_tensor_value_info(name, elem_type - 1000, None)
    fresh.type.tensor_type.shape.CopyFrom(shape)
    value.CopyFrom(fresh)


class Prepared:
    def __init__(self, model_bytes, options, Quantization):
        try:
            extended = onnx.ModelProto.FromString(model_bytes)
        except message.DecodeError:
            raise Refusal(INVALID, "model", "not a ModelProto") from None
        constants = {t.name for t in extended.graph.initializer}
        self.inputs = [v for v in extended.graph.input if v.name not in constants]
        self.outputs = list(extended.graph.output)
        self.quantizations, self.Quantization = {}, Quantization
        model = extended
        if is_extended(extended):
            model = lower(model_bytes, options.qtx)
            self.quantizations = keep_integers(model, extended, Quantization)
        for i in reversed(range(len(model.opset_import))):
            if model.opset_import[i].domain == "qtx":
                del model.opset_import[i]
        self.session = self.open(model, options)
        for v in self.session.get_inputs():
            if re.sub(r"tensor\((.*)\)", r"\1", v.type) in ("uint4", "int4", "uint2", "int2",
                                                            "bfloat16", "string"):
                raise Refusal(UNSUPPORTED, f"input '{v.name}'", f"of type {v.type}")

    @staticmethod
    def open(model, options):
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = options.threads
        settings.inter_op_num_threads = 1
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        # INT8 activations go to integer kernels too, as they do on Arm without being asked.
        settings.add_session_config_entry("session.qdqisint8allowed", "1")
        if options.precise:
            settings.add_session_config_entry("session.x64quantprecision", "1")
        try:
            return ort.InferenceSession(model.SerializeToString(), settings,
                                        providers=["CPUExecutionProvider"])
        except Exception as error:  # its classes have no common base
            raise Refusal(UNSUPPORTED, "ONNX Runtime", str(error)) from None

    def run(self, tensors):
        feeds = self.feeds(tensors)
        try:
            return self.session.run(None, feeds)
        except Exception as error:  # its classes have no common base
            raise Refusal(UNSUPPORTED, "ONNX Runtime", str(error)) from None

    def measure(self, tensors, repetitions):
        """Seconds of each run, with inputs and outputs in place."""
        if repetitions > MAX_REPETITIONS:
            raise Refusal(INVALID, "repetitions", f"{repetitions}, at most {MAX_REPETITIONS}")
        binding, seconds = self.session.io_binding(), []
        values = self.feeds(tensors)  # the binding does not keep them alive
        for name, value in values.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
        for slot in self.session.get_outputs():
            binding.bind_output(slot.name, "cpu")
        try:
            for _ in range(repetitions):
                start = time.perf_counter()
                self.session.run_with_iobinding(binding)
                seconds.append(time.perf_counter() - start)
        except Exception as error:  # its classes have no common base
            raise Refusal(UNSUPPORTED, "ONNX Runtime", str(error)) from None
        return seconds

    def feeds(self, tensors):
        if len(tensors) != len(self.inputs):
            raise Refusal(INVALID, "inputs", f"found {len(tensors)}, expected {len(self.inputs)}")
        slots = self.session.get_inputs()
        return {slot.name: self.array(tensor, value)
                for slot, tensor, value in zip(slots, tensors, self.inputs)}

    def array(self, tensor, value):
        declared = value.type.tensor_type
        dims = [d.dim_value for d in declared.shape.dim]
        storage = tensor.elem_type - 1000 if tensor.elem_type in QUANTIZED else tensor.elem_type
        where = f"input '{value.name}'"
        if storage not in NUMPY:
            raise Refusal(UNSUPPORTED, where, f"of element type {tensor.elem_type}")
        fixed = all(d.WhichOneof("value") == "dim_value" for d in declared.shape.dim)
        dtype = np.dtype(NUMPY[storage])
        size = dtype.itemsize * int(np.prod(tensor.dims, dtype=object))
        if any(d < 0 for d in tensor.dims) or len(tensor.data) != size:
            raise Refusal(PROTOCOL, where, f"{len(tensor.data)} bytes do not fit its dims")
        if bool(tensor.quantization) != (tensor.elem_type in QUANTIZED):
            raise Refusal(PROTOCOL, where, "parameters exactly for quantized types")
        if tensor.elem_type != declared.elem_type or (fixed and list(tensor.dims) != dims):
            raise Refusal(INVALID, where, "of another type or shape than the model declares")
        if tensor.quantization and self.parameters(tensor.quantization) != self.parameters(
                self.quantizations[value.name]):
            raise Refusal(INVALID, where, "of other parameters than the model declares")
        return np.frombuffer(tensor.data, dtype).reshape(list(tensor.dims)).copy()


    def parameters(self, quantization):
        q = self.Quantization.FromString(quantization)
        return (list(q.scale), list(q.offset) or [0] * len(q.scale), list(q.axis),
                list(q.block_shape) or [1] * len(q.axis))


class Server:
    def __init__(self, options):
        self.options, self.prepared, self.last = options, {}, 0
        self.Request, self.Response, self.Quantization = load_messages()

    def answer(self, frame):
        response = self.Response()
        try:
            request = self.Request.FromString(frame)
            kind = request.WhichOneof("kind")
            if kind is None:
                raise Refusal(PROTOCOL, "request", "of a kind unknown here")
            getattr(self, kind)(getattr(request, kind), response)
        except message.DecodeError:
            response = self.refuse(Refusal(PROTOCOL, "request", "not a Request"))
        except Refusal as refusal:
            response = self.refuse(refusal)
        except OSError as error:
            response = self.refuse(Refusal(IO, "backend", str(error)))
        return response.SerializeToString()

    def refuse(self, refusal):
        response = self.Response()
        response.error.code, response.error.where = refusal.code, refusal.where
        response.error.message = refusal.text
        return response

    def describe(self, _, response):
        response.describe.name = "onnxruntime"
        response.describe.version = ort.__version__
        response.describe.arithmetics.append(self.options.arithmetic)
        response.describe.device = f"CPU, threads {self.options.threads}"

    def prepare(self, request, response):
        if request.arithmetic not in ("", self.options.arithmetic):
            raise Refusal(UNSUPPORTED, "arithmetic", f"'{request.arithmetic}'")
        prepared = Prepared(request.model, self.options, self.Quantization)
        self.last += 1
        self.prepared[self.last] = prepared
        response.prepare.handle = self.last

    def run(self, request, response):
        prepared = self.find(request.handle)
        response.run.SetInParent()
        if request.repetitions > 0:
            response.run.seconds.extend(prepared.measure(request.inputs, request.repetitions))
            return
        for value, array in zip(prepared.outputs, prepared.run(request.inputs)):
            array = np.asarray(array)
            tensor = response.run.outputs.add()
            tensor.elem_type = value.type.tensor_type.elem_type
            if tensor.elem_type in QUANTIZED:
                tensor.quantization = prepared.quantizations[value.name]
            tensor.dims.extend(array.shape)
            tensor.data = np.ascontiguousarray(array).tobytes()

    def release(self, request, response):
        self.find(request.handle)
        del self.prepared[request.handle]
        response.release.SetInParent()

    def find(self, handle):
        if handle not in self.prepared:
            raise Refusal(INVALID, "handle", f"{handle} is unknown")
        return self.prepared[handle]


def read_length(stream):
    """A base-128 varint of at most five bytes; None at end of file."""
    length = 0
    for i in range(5):
        byte = stream.read(1)
        if not byte and i == 0:
            return None
        if not byte:
            sys.exit("a frame is cut short")
        length |= (byte[0] & 127) << (7 * i)
        if byte[0] < 128:
            break
    else:
        sys.exit("a length of more than five bytes")
    if length > MAX_FRAME:
        sys.exit(f"a frame of {length} bytes")
    return length


def write_frame(stream, data):
    prefix, length = b"", len(data)
    while length > 127:
        prefix += bytes([length & 127 | 128])
        length >>= 7
    stream.write(prefix + bytes([length]) + data)
    stream.flush()


def find_qtx():
    built = ROOT / "build/bin/qtx"
    return os.environ.get("QTX") or (str(built) if built.exists() else shutil.which("qtx"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, choices=range(1, 257), metavar="1..256", default=1)
    parser.add_argument("--qtx", default=find_qtx(), help="the program that lowers models")
    parser.add_argument("--precise", action="store_true",
                        help="session.x64quantprecision, which avoids saturating products")
    parser.add_argument("--arithmetic", choices=("onnxruntime", "float32"), default="onnxruntime",
                        help="what its answers are compared with")
    options = parser.parse_args()
    if not options.qtx:
        sys.exit("no qtx: build it, or name it with --qtx or the environment variable QTX")
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not look like frames
    ort.set_default_logger_severity(4)
    server = Server(options)
    while (length := read_length(sys.stdin.buffer)) is not None:
        frame = sys.stdin.buffer.read(length)
        if len(frame) < length:
            sys.exit("a frame is cut short")
        write_frame(out, server.answer(frame))


if __name__ == "__main__":
    main()
