"""The reference behind onnx.backend.base.Backend, for programs and tests that drive backends through that interface.

    import onnx.backend.test
    import qtx.onnx_backend
    tests = onnx.backend.test.BackendTest(qtx.onnx_backend.Backend, __name__)

It computes in "float32", as ONNX's own reference does. What it does not compute raises BackendIsNotSupposedToImplementIt.
"""

import numpy as np
import onnx
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep, namedtupledict
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

import qtx

ARITHMETIC = "float32"


class Prepared(BackendRep):
    """A model that is ready to run."""

    def __init__(self, interpreter):
        super().__init__()
        self._interpreter = interpreter
        self._inputs = [value.name for value in interpreter.model.inputs]
        self._outputs = [value.name for value in interpreter.model.outputs]

    def run(self, inputs, **kwargs):
        """Runs the model on arrays, in the order of the graph's inputs without initializers, or by name.

        Gives a named tuple of arrays. Raises ValueError for a wrong number, qtx.Error for arrays that do not fit.
        """
        del kwargs
        if not isinstance(inputs, dict):
            inputs = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
            if len(inputs) != len(self._inputs):
                raise ValueError(f"found {len(inputs)} inputs, expected {len(self._inputs)}")
            inputs = dict(zip(self._inputs, inputs))
        _decline_others(inputs.values())
        results = _supposed(lambda: self._interpreter.run(inputs))
        return namedtupledict("Outputs", self._outputs)(*(results[name] for name in self._outputs))


def _decline_others(values):
    """Sequences and texts are not of the reference."""
    for value in values:
        if isinstance(value, (list, type(None))) or np.asarray(value).dtype.kind in "OUS":
            raise BackendIsNotSupposedToImplementIt("qtx: an input that is no tensor of numbers")


def _supposed(work):
    """What `work()` gives; qtx.Error of code "unsupported" as ONNX's exception."""
    try:
        return work()
    except qtx.Error as fault:
        if fault.code == "unsupported":
            raise BackendIsNotSupposedToImplementIt(f"qtx: {fault}") from None
        raise


class Backend(_Backend):
    """The reference interpreter of QTX."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Whether `prepare` takes the model."""
        try:
            cls.prepare(model, device, **kwargs)
        except (BackendIsNotSupposedToImplementIt, qtx.Error):
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Prepares an onnx.ModelProto (or what else qtx.load takes). `arithmetic` may name another than "float32".

        Raises BackendIsNotSupposedToImplementIt for what the reference does not compute, qtx.Error for a model that breaks
        a rule, ValueError for another device than CPU.
        """
        if not cls.supports_device(device):
            raise ValueError(f"device: found {device!r}, expected 'CPU'")
        loaded = qtx.load(model)
        if any(value.type == "UNKNOWN" for value in [*loaded.inputs, *loaded.outputs]):
            raise BackendIsNotSupposedToImplementIt("qtx: an input or output that is no tensor")
        return Prepared(_supposed(lambda: qtx.Interpreter(loaded, kwargs.get("arithmetic", ARITHMETIC))))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        """prepare(model).run(inputs)"""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs one NodeProto on arrays, for each input that is named, in order.

        `outputs_info`: (dtype, shape) of each output; None: they follow. `opset_version`: of ai.onnx, the newest by default.
        """
        given = [name for name in node.input if name]
        arrays = [np.asarray(value) for value in inputs]
        if len(arrays) != len(given):
            raise ValueError(f"found {len(arrays)} inputs, expected {len(given)}")
        of_array = onnx.helper.np_dtype_to_tensor_dtype
        declared = [onnx.helper.make_tensor_value_info(name, of_array(array.dtype), array.shape)
                    for name, array in zip(given, arrays)]
        opset = kwargs.pop("opset_version", None) or onnx.defs.onnx_opset_version()
        info = outputs_info or [None] * len(node.output)
        outputs = [onnx.helper.make_tensor_value_info(name, of_array(np.dtype(one[0])), one[1]) if one else
                   onnx.ValueInfoProto(name=name) for name, one in zip(node.output, info) if name]
        graph = onnx.helper.make_graph([node], "node", declared, outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
        if not outputs_info:
            model = qtx.infer(model)
        return cls.run_model(model, dict(zip(given, arrays)), device, **kwargs)

    @classmethod
    def supports_device(cls, device):
        """True for "CPU" and "CPU:0"."""
        return device.split(":")[0] == "CPU"


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
is_compatible = Backend.is_compatible
