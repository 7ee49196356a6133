"""LiteRT (ai-edge-litert), TensorFlow Lite's successor, with its XNNPACK delegate, its builtin or its reference kernels."""

from qtx.backend_kit import Backend, serve

KERNELS = ("xnnpack", "builtin", "reference")


class LiteRT(Backend):
    """One TFLite file in an interpreter."""

    takes = "tflite"

    def __init__(self, options):
        super().__init__(options)
        import ai_edge_litert
        from ai_edge_litert import interpreter
        self._litert = interpreter
        self.name = f"litert-{options.kernels}"
        self.version = ai_edge_litert.__version__
        self.device = f"CPU, threads {options.threads}"
        self.arithmetics = ["tflite", "float32"]

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--kernels", choices=KERNELS, default="xnnpack",
                            help="those that LiteRT uses unasked, those without its delegate, or its reference kernels")

    def prepare(self, model):
        resolver = self._litert.OpResolverType
        kernels = {"xnnpack": resolver.AUTO, "builtin": resolver.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
                   "reference": resolver.BUILTIN_REF}[self.options.kernels]
        self._interpreter = self._litert.Interpreter(model_content=model, num_threads=self.options.threads,
                                                     experimental_op_resolver_type=kernels)
        self._interpreter.allocate_tensors()

    def _set(self, inputs):
        slots = self._interpreter.get_input_details()
        values = list(inputs.values())
        resized = [(slot, value) for slot, value in zip(slots, values) if list(slot["shape"]) != list(value.shape)]
        for slot, value in resized:
            self._interpreter.resize_tensor_input(slot["index"], value.shape)
        if resized:
            self._interpreter.allocate_tensors()
        for slot, value in zip(slots, values):
            self._interpreter.set_tensor(slot["index"], value)

    def run(self, inputs):
        self._set(inputs)
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(slot["index"]) for slot in self._interpreter.get_output_details()]

    def measure(self, inputs, repetitions):
        self._set(inputs)
        return self.seconds_of(self._interpreter.invoke, repetitions)


if __name__ == "__main__":
    serve(LiteRT)
