"""tract, Sonos's inference engine in Rust, through its Python package."""

import importlib.metadata
import os
import tempfile

from qtx.backend_kit import Backend, serve


class Tract(Backend):
    """One runnable model."""

    name, takes, arithmetics = "tract", "onnx", ["float32"]
    declines = (Exception,)  # TractError, which is one of nothing else

    def __init__(self, options):
        super().__init__(options)
        import tract
        self._tract = tract
        self.version = importlib.metadata.version("tract")
        self.device = "CPU, threads 1" + ", not optimized" * options.plain

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--plain", action="store_true", help="the model as it is loaded, not optimized")

    def prepare(self, model):
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(model)
            file.flush()
            loaded = self._tract.onnx().load(file.name)
        self._run = loaded.into_model().into_runnable()

    def run(self, inputs):
        return [value.to_numpy() for value in self._run.run(list(inputs.values()))]


if __name__ == "__main__":
    serve(Tract)
