"""IREE: a model imported by its MLIR tools, compiled by LLVM for this processor, and run by its runtime."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import qtx
from qtx.backend_kit import Backend, serve

TOOLS = pathlib.Path(sys.executable).parent


class Iree(Backend):
    """One compiled module."""

    name, takes, arithmetics = "iree", "onnx", ["float32"]

    def __init__(self, options):
        super().__init__(options)
        import iree.runtime
        self._runtime, self.version = iree.runtime, importlib.metadata.version("iree-base-runtime")
        self.device = "llvm-cpu, local-sync"

    def prepare(self, model):
        with tempfile.TemporaryDirectory() as folder:
            source, imported, compiled = (os.path.join(folder, name) for name in ("m.onnx", "m.mlir", "m.vmfb"))
            # Its importer wants a shape of each value that is declared.
            shaped = qtx.infer(model).to_bytes()
            pathlib.Path(source).write_bytes(shaped)
            self._tool("iree-import-onnx", source, "-o", imported, "--opset-version", "17")
            self._tool("iree-compile", imported, "-o", compiled, "--iree-hal-target-device=local",
                       "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
            flat = pathlib.Path(compiled).read_bytes()
        outputs = onnx.ModelProto.FromString(shaped).graph.output
        self._types = [onnx.helper.tensor_dtype_to_np_dtype(output.type.tensor_type.elem_type) for output in outputs]
        config = self._runtime.Config("local-sync")
        module = self._runtime.load_vm_flatbuffer(flat, driver="local-sync")
        self._main = next(module[name] for name in module.vm_module.function_names if not name.endswith(("$async", "__init")))

    @staticmethod
    def _tool(name, *arguments):
        done = subprocess.run([TOOLS / name, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()[-1:]
            said = " ".join(errors[:2]).replace(f"{os.path.dirname(arguments[0])}/", "")
            raise RuntimeError(f"{name}: {said}")

    def run(self, inputs):
        results = self._main(*inputs.values())
        results = results if isinstance(results, (tuple, list)) else [results]
        hosts = [np.array(result.to_host()) for result in results]
        # MLIR's integers have no sign, and the runtime gives those of a result as signed ones.
        return [host.view(type_) if type_.kind == "u" and host.dtype.kind == "i" else host for host, type_ in zip(hosts, self._types)]


if __name__ == "__main__":
    serve(Iree)
