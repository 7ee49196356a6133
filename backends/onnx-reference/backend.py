"""ONNX's own reference implementation, onnx.reference.ReferenceEvaluator, on numpy."""

import warnings

from qtx.backend_kit import Backend, serve


class OnnxReference(Backend):
    """One evaluator."""

    name, takes, arithmetics = "onnx.reference", "onnx", ["float32"]
    least_opset = 19  # of the oldest DequantizeLinear that onnx.reference 1.23 has
    declines = (Exception,)  # a node that lacks a kernel, or has a wrong one, raises whatever that runs into

    def __init__(self, options):
        super().__init__(options)
        import onnx
        import onnx.reference
        warnings.simplefilter("ignore")  # of numpy, about the casts in question
        self._onnx, self.version = onnx, onnx.__version__

    def prepare(self, model):
        self._evaluator = self._onnx.reference.ReferenceEvaluator(self._onnx.ModelProto.FromString(model))

    def run(self, inputs):
        return self._evaluator.run(None, inputs)


if __name__ == "__main__":
    serve(OnnxReference)
