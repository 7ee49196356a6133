"""TFLite files of one operator, written tensor by tensor, and LiteRT's answers to them. Needs ai-edge-litert and numpy."""
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

TYPES = schema.TensorType
KERNELS = {"reference": OpResolverType.BUILTIN_REF, "x86": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
           "xnnpack": OpResolverType.AUTO}


class File:
    """A TFLite file of one subgraph, whose tensors are added one by one."""

    def __init__(self):
        self.graph = schema.SubGraphT()
        self.graph.name, self.graph.tensors = "main", []
        self.buffers = [schema.BufferT()]

    def tensor(self, name, shape, data_type, scale=None, zero_point=0, data=None, is_state=False, axis=0):
        """`scale`: one, a vector along `axis`, or None; `data`: bytes, or an array that is written as it is."""
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.isVariable, tensor.buffer = name, shape, data_type, is_state, 0
        if scale is not None:
            scales = [float(one) for one in np.atleast_1d(scale)]
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = scales, [zero_point] * len(scales)
            tensor.quantization.quantizedDimension = axis
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(data.tobytes(), np.uint8)
            tensor.buffer = len(self.buffers)
            self.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def bytes(self, name, operator, inputs, outputs, version=1):
        """The file with this operator of that name (of schema.BuiltinOperator)."""
        model, code = schema.ModelT(), schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = version
        self.graph.inputs, self.graph.outputs, self.graph.operators = inputs, outputs, [operator]
        model.version, model.description = 3, name
        model.buffers, model.operatorCodes, model.subgraphs = self.buffers, [code], [self.graph]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def operator(inputs, outputs, kind=None, **options):
    """An operator with the options of this kind (of schema.BuiltinOptions)."""
    one = schema.OperatorT()
    one.inputs, one.outputs = inputs, outputs
    if kind:
        one.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        one.builtinOptions = getattr(schema, kind + "T")()
        for name, value in options.items():
            setattr(one.builtinOptions, name, value)
    return one


def by_litert(path, kernels, *inputs):
    interpreter = Interpreter(model_path=str(path), experimental_op_resolver_type=KERNELS[kernels], num_threads=1)
    interpreter.allocate_tensors()
    for slot, value in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(slot["index"], value)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).copy()
