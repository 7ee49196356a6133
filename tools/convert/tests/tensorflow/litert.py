"""LiteRT in a process of its own, which is started again when a file ends it."""
import os
import pickle
import subprocess
import sys


class Worker:
    def __init__(self):
        self.process = None

    def _ask(self, *request):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL)
        try:
            pickle.dump(request, self.process.stdin)
            self.process.stdin.flush()
            return pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            status, self.process = self.process.wait(), None
            return f"the process ended with status {status}"

    def details(self, path):
        """[(name, shape, type)] of the inputs, or why LiteRT does not take the file."""
        return self._ask("details", str(path))

    def run(self, path, values, kernels="AUTO"):
        """The outputs as arrays, or why there are none; `kernels`: a name of LiteRT's OpResolverType."""
        return self._ask("run", str(path), values, kernels)


def interpreter(path, kernels="AUTO"):
    from ai_edge_litert import interpreter as litert
    made = litert.Interpreter(path, num_threads=1, experimental_op_resolver_type=litert.OpResolverType[kernels])
    made.allocate_tensors()
    return made


def details(path):
    return [(entry["name"], [int(n) for n in entry["shape"]], entry["dtype"].__name__)
            for entry in interpreter(path).get_input_details()]


def run(path, values, kernels):
    made = interpreter(path, kernels)
    entries = made.get_input_details()
    for entry, value in zip(entries, values.values()):
        made.set_tensor(entry["index"], value)
    made.invoke()
    return [made.get_tensor(entry["index"]).copy() for entry in made.get_output_details()]


def serve():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # LiteRT writes to standard output
    while True:
        try:
            name, *arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = {"details": details, "run": run}[name](*arguments)
        except Exception as error:  # whatever LiteRT raises is its answer
            answer = " ".join(str(error).split()) or type(error).__name__
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve()
