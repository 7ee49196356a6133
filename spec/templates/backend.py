"""@TITLE@ as a backend of QTX."""

from qtx.backend_kit import Backend, serve


class @CLASS@(Backend):
    """One model on @TITLE@. qtx.backend_kit.Backend says what each attribute and method means."""

    name = "@NAME@"
    takes = "onnx"             # stock ONNX; or "tflite" or "qtx", the extended form
    arithmetics = ["float32"]  # what its answers are held to, its default first

    def __init__(self, options):
        super().__init__(options)
        import qtx as system   # TODO: import @TITLE@ instead, whose place the exact reference takes here
        self.system, self.version = system, system.__version__

    def prepare(self, model):
        self.prepared = self.system.Interpreter(model, "float32")

    def run(self, inputs):     # arrays by name
        return self.prepared.run(inputs)


if __name__ == "__main__":
    serve(@CLASS@)
