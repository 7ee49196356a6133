"""One model a line on stdin, "KIND PATH": a line of JSON says null, or why the tools of that kind refuse the file.

A process of its own, since a tool may die of a model.
"""
import json
import os
import sys

os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def check_onnx(path):
    import onnx

    onnx.checker.check_model(path, full_check=True)


def load_onnx(path):
    check_onnx(path)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def load_qonnx(path):
    check_onnx(path)
    from qonnx.core.modelwrapper import ModelWrapper
    from qonnx.transformation.infer_datatypes import InferDataTypes
    from qonnx.transformation.infer_shapes import InferShapes

    ModelWrapper(path).transform(InferShapes()).transform(InferDataTypes())


def load_tflite(path):
    from ai_edge_litert.interpreter import Interpreter

    Interpreter(model_path=path, num_threads=1).allocate_tensors()


LOADERS = {"onnx": load_onnx, "qdq": load_onnx, "qoperator": load_onnx, "qonnx": load_qonnx, "tflite": load_tflite}


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the tools print goes to stderr
    for line in sys.stdin:
        kind, path = line.rstrip("\n").split(" ", 1)
        try:
            LOADERS[kind](path)
            answer = None
        except Exception as error:  # whatever the tool raises, it refuses the file
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
