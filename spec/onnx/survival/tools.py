"""What tools do to a model: each takes one and gives back what it makes of it.

A tool that the installed package lacks raises Absent; anything else that it raises is its refusal. Groups are of one
package, and packages that are not installed have no group.
"""
import contextlib
import os
import tempfile
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Callable

import onnx
from google.protobuf import json_format, text_format
from onnx import checker, compose, helper, numpy_helper, shape_inference, utils, version_converter

from .carriers import base


class Absent(Exception):
    """The package has no such tool in this version."""


@dataclass(frozen=True)
class Tool:
    name: str
    run: Callable
    model: Callable = base  # what the carrier is put into


@dataclass(frozen=True)
class Group:
    packages: tuple
    tools: tuple

    def versions(self):
        return ", ".join(f"{package} {metadata.version(package)}" for package in self.packages)

    def installed(self):
        with contextlib.suppress(metadata.PackageNotFoundError):
            return bool(self.versions())
        return False


def _module(name):
    try:
        return import_module(name)
    except ImportError as error:
        raise Absent(name) from error


def _save(model, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path, **options)
        return onnx.load(path)


def _save_external(model):
    return _save(model, save_as_external_data=True, size_threshold=0)


def _text(model):
    return text_format.Parse(text_format.MessageToString(model), onnx.ModelProto())


def _json(model):
    return json_format.Parse(json_format.MessageToJson(model), onnx.ModelProto())


def _onnx_text(model):
    printer = _module("onnx.printer")
    return _module("onnx.parser").parse_model(printer.to_text(model))


def _check(full):
    def run(model):
        checker.check_model(model, full_check=full)
        return model

    return run


def _infer(model):
    return shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)


def _convert(model):
    return version_converter.convert_version(model, min(21, onnx.defs.onnx_opset_version()))


def _merge(model):
    other = base()
    return compose.merge_models(model, other, io_map=[("y", "x")], prefix1="first/", prefix2="second/")


def _extract(model):
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(model, source)
        utils.extract_model(source, target, ["x"], ["y"])
        return onnx.load(target)


def _inline(model):
    return _module("onnx.inliner").inline_local_functions(model)


def _remake(model):
    """As scripts do that rebuild a graph with onnx.helper."""
    def value(v):
        return helper.make_tensor_value_info(v.name, v.type.tensor_type.elem_type,
                                             [d.dim_value for d in v.type.tensor_type.shape.dim])

    def node(n):
        attributes = {a.name: helper.get_attribute_value(a) for a in n.attribute}
        return helper.make_node(n.op_type, n.input, n.output, name=n.name, domain=n.domain, **attributes)

    graph = model.graph
    made = helper.make_graph(
        [node(n) for n in graph.node], graph.name, [value(v) for v in graph.input],
        [value(v) for v in graph.output],
        [numpy_helper.from_array(numpy_helper.to_array(t), t.name) for t in graph.initializer],
        value_info=[value(v) for v in graph.value_info])
    return helper.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version)


def _session(level):
    def run(model):
        ort = _module("onnxruntime")
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        with tempfile.TemporaryDirectory() as folder:
            options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
            ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            return onnx.load(options.optimized_model_filepath)

    return run


def _onnx_ir(model):
    ir = _module("onnx_ir")
    return ir.to_proto(ir.from_proto(model))


def _onnxscript_optimize(model):
    return _module("onnxscript.optimizer").optimize(model)


def _onnxscript_convert(model):
    _module("onnxscript.version_converter").convert_version(model, 21)  # in place
    return model


def _onnxslim(model):
    return _module("onnxslim").slim(model)


def _onnxsim(model):
    simplified, same = _module("onnxsim").simplify(model)
    if not same:
        raise ValueError("the simplified model answers differently")
    return simplified


def _onnxoptimizer(model):
    return _module("onnxoptimizer").optimize(model)


GROUPS = [
    Group(("onnx",), (
        Tool("save, load", _save), Tool("external data", _save_external), Tool("text format", _text),
        Tool("JSON", _json), Tool("printer, parser", _onnx_text), Tool("checker", _check(False)),
        Tool("checker, full", _check(True)), Tool("shape inference, strict", _infer),
        Tool("version converter", _convert),
        Tool("`merge_models`", _merge), Tool("`extract_model`", _extract),
        Tool("inliner", _inline, lambda: base(function=True)), Tool("rebuilt by `helper`", _remake))),
    Group(("onnxruntime",), (
        Tool("session, no optimization", _session("ORT_DISABLE_ALL")),
        Tool("session, all optimizations", _session("ORT_ENABLE_ALL")))),
    Group(("onnx-ir", "onnxscript", "onnxslim"), (
        Tool("`onnx_ir`, there and back", _onnx_ir), Tool("onnxscript optimizer", _onnxscript_optimize),
        Tool("onnxscript version converter", _onnxscript_convert), Tool("onnxslim", _onnxslim))),
    Group(("onnxsim",), (Tool("onnxsim", _onnxsim),)),
    Group(("onnxoptimizer",), (Tool("onnxoptimizer", _onnxoptimizer),)),
]
