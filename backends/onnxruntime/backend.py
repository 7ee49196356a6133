"""ONNX Runtime, which fuses the QDQ form of a model into integer kernels."""

import os

from qtx.backend_kit import Backend, serve


class OnnxRuntime(Backend):
    """One session."""

    name, takes, arithmetics = "onnxruntime", "onnx", ["onnxruntime"]
    declines = (Exception,)  # its own have no common base

    def __init__(self, options):
        super().__init__(options)
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
        self._ort = onnxruntime
        self.version = onnxruntime.__version__
        self.name += "-unoptimized" * (options.optimization != "all") + "-precise" * options.precise
        level = options.matmulnbits_level
        self.name += f"-level{level}" * bool(level)
        chosen = [f"optimization {options.optimization}"] * (options.optimization != "all") + ["precise"] * options.precise
        chosen += [f"MatMulNBits level {level}"] * bool(level)
        self.device = ", ".join(["CPU", f"threads {options.threads}", *chosen])

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--precise", action="store_true", help="session.x64quantprecision, which avoids saturating products")
        parser.add_argument("--optimization", choices=("all", "off"), default="all", help="of the graph; off: QDQ nodes stay floats")
        parser.add_argument("--matmulnbits-level", type=int, choices=(1, 2, 3, 4), help="accuracy_level of products by blocks (default: its own, which is 4)")

    def prepare(self, model):
        settings = self._ort.SessionOptions()
        settings.intra_op_num_threads = self.options.threads
        settings.inter_op_num_threads = 1
        levels = self._ort.GraphOptimizationLevel
        settings.graph_optimization_level = {"all": levels.ORT_ENABLE_ALL, "off": levels.ORT_DISABLE_ALL}[self.options.optimization]
        # INT8 activations go to integer kernels too, as they do on Arm without being asked.
        settings.add_session_config_entry("session.qdqisint8allowed", "1")
        if self.options.precise:
            settings.add_session_config_entry("session.x64quantprecision", "1")
        if self.options.matmulnbits_level:
            settings.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", str(self.options.matmulnbits_level))
        self._session = self._ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])

    def run(self, inputs):
        return self._session.run(None, inputs)

    def measure(self, inputs, repetitions):
        binding = self._session.io_binding()
        for name, value in inputs.items():
            binding.bind_ortvalue_input(name, self._ort.OrtValue.ortvalue_from_numpy(value))
        for slot in self._session.get_outputs():
            binding.bind_output(slot.name, "cpu")
        return self.seconds_of(lambda: self._session.run_with_iobinding(binding), repetitions)


if __name__ == "__main__":
    serve(OnnxRuntime)
