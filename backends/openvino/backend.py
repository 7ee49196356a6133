"""OpenVINO on the processor, which compiles the QDQ form of a model with its low-precision transformations."""

from qtx.backend_kit import Backend, serve


class OpenVino(Backend):
    """One compiled model."""

    name, takes, arithmetics = "openvino", "onnx", ["float32"]

    def __init__(self, options):
        super().__init__(options)
        import openvino
        self._openvino = openvino
        self.version = openvino.get_version().split("-")[0]
        self.device = f"CPU, threads {options.threads}, {options.hint}"

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--hint", choices=("f32", "bf16", "f16"), default="f32",
                            help="INFERENCE_PRECISION_HINT: what it may compute floats in")

    def prepare(self, model):
        core = self._openvino.Core()
        self._model = core.compile_model(core.read_model(model), "CPU", {
            "INFERENCE_NUM_THREADS": self.options.threads, "INFERENCE_PRECISION_HINT": self.options.hint})
        self._request = self._model.create_infer_request()

    def run(self, inputs):
        self._request.infer(list(inputs.values()))
        return [self._request.get_output_tensor(i).data.copy() for i in range(len(self._model.outputs))]

    def measure(self, inputs, repetitions):
        self._request.infer(list(inputs.values()))
        return self.seconds_of(self._request.infer, repetitions)


if __name__ == "__main__":
    serve(OpenVino)
