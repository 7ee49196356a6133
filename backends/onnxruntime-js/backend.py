"""ONNX Runtime for JavaScript: its WebAssembly or its Node build, in a process of node."""

import json
import pathlib
import subprocess

import numpy as np

from qtx.backend_kit import Backend, serve

FOLDER = pathlib.Path(__file__).resolve().parent


class Node:
    """A process of session.mjs, which holds one session."""

    def __init__(self, package, threads):
        self._process = subprocess.Popen(["node", FOLDER / "session.mjs", package, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, header, arrays):
        """The answer's header and bytes. Raises RuntimeError for a refusal, ConnectionError where the process has ended."""
        body = json.dumps(header).encode() + b"\n" + b"".join(arrays)
        self._process.stdin.write(len(body).to_bytes(4, "little") + body)
        self._process.stdin.flush()
        size = self._process.stdout.read(4)
        if len(size) < 4:
            raise ConnectionError(f"node ended with status {self._process.wait()}")
        header, _, body = self._process.stdout.read(int.from_bytes(size, "little")).partition(b"\n")
        header = json.loads(header)
        if "error" in header:
            raise RuntimeError(header["error"])
        return header, body


class OnnxRuntimeJs(Backend):
    """One session."""

    takes, arithmetics = "onnx", ["onnxruntime"]
    node = None  # one process for all models

    def __init__(self, options):
        super().__init__(options)
        self.name = f"onnxruntime-{options.build}"
        self.version = json.loads((FOLDER / "node_modules" / self.name / "package.json").read_text(encoding="utf-8"))["version"]
        self.device = f"{'WebAssembly' if options.build == 'web' else 'CPU'}, threads {options.threads}"

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--build", choices=("web", "node"), default="web", help="WebAssembly, or that of the processor")

    def prepare(self, model):
        OnnxRuntimeJs.node = OnnxRuntimeJs.node or Node(self.name, self.options.threads)
        self.node.ask({"model": len(model)}, [model])

    def run(self, inputs):
        arrays = [np.ascontiguousarray(value) for value in inputs.values()]
        rows = [{"name": name, "type": value.dtype.name, "dims": value.shape, "bytes": value.nbytes} for name, value in zip(inputs, arrays)]
        header, body = self.node.ask({"inputs": rows}, [value.tobytes() for value in arrays])
        results, at = [], 0
        for row in header["outputs"]:
            results.append(np.frombuffer(body[at:at + row["bytes"]], row["type"]).reshape(row["dims"]))
            at += row["bytes"]
        return results


if __name__ == "__main__":
    serve(OnnxRuntimeJs)
