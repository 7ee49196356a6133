"""A backend of single kernels: functions of operands, without a runtime around them."""

import inspect
import typing

from qtx._arrays import type_of
from qtx._backends import Run, result_of
from qtx._errors import Error, Unsupported
from qtx._model import check, infer, load, texts
from qtx._tensor import wrapped


def from_kernels(kernels: typing.Mapping[str, typing.Callable], *, types: str | typing.Iterable[str] | None = None,
                 name: str = "kernels",
                 arithmetics: str | typing.Iterable[str] = "exact") -> typing.Callable[[bytes], Run]:
    """A backend for `qtx.validate` of kernels, the function of each operator by its op_type:

        def conv(x, w, bias=None, *, y, strides=(1, 1), pads=(0, 0, 0, 0)): ...

        backend = qtx.from_kernels({"Conv": conv}, types=["INT8Q", "INT32Q"])

    A kernel has the node's inputs by position: a qtx.Tensor where the type is quantized, else an array; None for an optional
    one that is absent. By keyword it has the node's attributes, those that the node states, and `y`: the declared output, a
    qtx.Value with type, scale, offset, quant_min and quant_max; a tuple of them where there are several. It gives an array of
    the storage type, a qtx.Tensor, or a tuple of such.

    Models that break a rule are refused, with its clause. Declined are operators without a kernel, inputs and attributes
    that a kernel's signature does not take, and inputs and outputs of other element types than `types`, if that is given. A
    kernel raises qtx.Unsupported for what else it does not do.
    arithmetics: names of what the kernels conform to.
    """
    signatures = {op_type: (kernel, inspect.signature(kernel)) for op_type, kernel in dict(kernels).items()}
    taken = None if types is None else texts(types, "types")

    def prepare(model):
        model = _checked(model)
        constants = model.initializers
        declared = {value.name: value for value in (*model.inputs, *model.values, *model.outputs)}
        if taken is not None:
            _decline_types(model, taken, {**declared, **constants})
        steps = [_step(node, declared, signatures) for node in model.nodes]

        def run(inputs):
            values = {**constants, **inputs}
            for node, kernel, keywords in steps:
                results = kernel(*(values[key] if key else None for key in node.inputs), **keywords)
                results = results if isinstance(results, tuple) else (results,)
                if len(results) != len(node.outputs):
                    raise Error(f"found {len(results)} results, expected {len(node.outputs)}", node.op_type, code="protocol")
                values.update((key, wrapped(result_of(result, declared[key]._core)))
                              for key, result in zip(node.outputs, results) if key)
            return {output.name: values[output.name] for output in model.outputs}
        return run
    prepare.name, prepare.arithmetics = name, texts(arithmetics, "arithmetics")
    return prepare


def _checked(model):
    """The model, with every value declared. Raises qtx.Error for one that breaks a rule."""
    model = load(model)
    for finding in check(model):
        raise Error(finding.message, finding.place, finding.clause)
    return infer(model)


def _decline_types(model, taken, values):
    """Raises Unsupported for the first operand of an element type that is not one of `taken`."""
    for node in model.nodes:
        for key in filter(None, (*node.inputs, *node.outputs)):
            if key not in values:
                raise Unsupported("its type is not known", f"value {key!r}")
            found = getattr(values[key], "type", None) or type_of(values[key].dtype)
            if found not in taken:
                raise Unsupported(f"{found}, expected {' or '.join(taken)}", f"value {key!r}")


def _step(node, declared, signatures):
    """The node, its kernel, and the keywords of the call. Raises Unsupported for what the signature does not take."""
    if node.op_type not in signatures:
        raise Unsupported(f"no kernel of {node.op_type}", node.name)
    kernel, signature = signatures[node.op_type]
    outputs = tuple(declared.get(key) for key in node.outputs)
    keywords = {"y": outputs[0] if len(outputs) == 1 else outputs, **node.attributes}
    try:
        signature.bind(*node.inputs, **keywords)
    except TypeError as fault:
        raise Unsupported(f"{node.op_type}: the kernel's signature: {fault}", node.name) from None
    return node, kernel, keywords
