"""TensorFlow Lite for Microcontrollers (tflite-micro), whose reference kernels its Python package has."""

import importlib.metadata

from qtx.backend_kit import Backend, serve

# Bytes of the arena beside ten times the model, which the package gives it unasked.
ARENA = 1 << 26


class TfliteMicro(Backend):
    """One TFLite file in an interpreter."""

    name, takes, arithmetics, device = "tflite-micro", "tflite", ["tflite-double", "tflite"], "CPU, reference kernels"

    def __init__(self, options):
        super().__init__(options)
        import tflite_micro
        self._runtime, self.version = tflite_micro.runtime, importlib.metadata.version("tflite-micro")

    def prepare(self, model):
        self._interpreter = self._runtime.Interpreter.from_bytes(model, arena_size=10 * len(model) + ARENA)
        file = self._runtime.convert_bytearray_to_object(model)
        self._outputs = len(file.subgraphs[0].outputs)

    def run(self, inputs):
        for i, value in enumerate(inputs.values()):
            self._interpreter.set_input(value, i)
        self._interpreter.invoke()
        return [self._interpreter.get_output(i) for i in range(self._outputs)]


if __name__ == "__main__":
    serve(TfliteMicro)
