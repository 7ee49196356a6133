"""Apache TVM: a model imported by its Relax frontend and compiled by LLVM for this processor."""

import numpy as np

from qtx.backend_kit import Backend, serve


class Tvm(Backend):
    """One compiled module."""

    name, takes, arithmetics = "tvm", "onnx", ["float32"]
    declines = (Exception,)  # its importer raises whatever it runs into

    def __init__(self, options):
        super().__init__(options)
        import onnx
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx
        self._onnx, self._tvm, self._relax, self._import = onnx, tvm, relax, from_onnx
        self.version, self.device = tvm.__version__, "CPU, llvm"

    def prepare(self, model):
        module = self._import(self._onnx.ModelProto.FromString(model))
        self._device = self._tvm.cpu()
        self._machine = self._relax.VirtualMachine(self._tvm.compile(module, target="llvm"), self._device)

    def run(self, inputs):
        results = self._machine["main"](*(self._tvm.runtime.tensor(value, self._device) for value in inputs.values()))
        results = [results] if hasattr(results, "numpy") else list(results)
        return [np.asarray(result.numpy()) for result in results]


if __name__ == "__main__":
    serve(Tvm)
