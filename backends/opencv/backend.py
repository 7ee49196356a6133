"""OpenCV's dnn module, with its new or its classic engine, which fuses the QDQ form of a model into INT8 layers."""

import numpy as np

from qtx.backend_kit import Backend, serve

ENGINES = ("new", "classic")


class OpenCv(Backend):
    """One network."""

    takes, arithmetics = "onnx", ["float32"]

    def __init__(self, options):
        super().__init__(options)
        import cv2
        import onnx
        cv2.setNumThreads(options.threads)
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
        self._onnx, self._cv, self.name, self.version = onnx, cv2, f"opencv-{options.engine}", cv2.__version__
        self.device = f"CPU, threads {options.threads}"
        self.declines = (cv2.error, ValueError, TypeError)

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--engine", choices=ENGINES, default="new", help="of the dnn module (ENGINE_NEW, ENGINE_CLASSIC)")

    def prepare(self, model):
        engine = {"new": self._cv.dnn.ENGINE_NEW, "classic": self._cv.dnn.ENGINE_CLASSIC}[self.options.engine]
        # Its reader wants a shape of each value that is declared.
        model = self._onnx.shape_inference.infer_shapes(self._onnx.ModelProto.FromString(model), data_prop=True)
        shaped = [value for value in model.graph.value_info if value.type.tensor_type.HasField("shape")]
        del model.graph.value_info[:]
        model.graph.value_info.extend(shaped)
        model = model.SerializeToString()
        self._net = self._cv.dnn.readNetFromONNX(np.frombuffer(model, np.uint8), engine=engine)

    def run(self, inputs):
        for name, value in inputs.items():
            self._net.setInput(value, name)
        return [np.array(value) for value in self._net.forward(self._net.getUnconnectedOutLayersNames())]


if __name__ == "__main__":
    serve(OpenCv)
