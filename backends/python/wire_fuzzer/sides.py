"""Two backend processes, asked for batches of cases at once so that both work at the same time."""
import os
import select
import shlex
import subprocess
import time

from qtx_text.wire import WireError, decode, encode, frame, read_varint

CODES = ["INVALID", "UNSUPPORTED", "TOO_LARGE", "IO", "TIMEOUT", "PROTOCOL"]


class Fault(Exception):
    """A backend that ended, was silent for too long, or sent bytes that are no response."""


class Side:
    """One backend process, started anew after a fault."""

    def __init__(self, command, timeout):
        self.command, self.timeout, self.process, self.received = shlex.split(command), timeout, None, bytearray()

    def send(self, bodies):
        """Writes a frame of each body. Answers that come meanwhile are kept, so neither process waits for the other."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, bufsize=0)
            os.set_blocking(self.process.stdin.fileno(), False)
        data, end = memoryview(b"".join(map(frame, bodies))), time.monotonic() + self.timeout
        source, sink = self.process.stdout.fileno(), self.process.stdin.fileno()
        while data:
            readable, writable, _ = select.select([source], [sink], [], max(end - time.monotonic(), 0))
            if not readable and not writable:
                raise Fault("timeout")
            if readable:
                self.take(source)
            if writable:
                try:
                    data = data[os.write(sink, data):]
                except OSError as e:
                    raise Fault("crash") from e

    def take(self, source):
        got = os.read(source, 1 << 16)
        if not got:
            raise Fault("crash")
        self.received += got

    def receive(self):
        """The next response."""
        source, end = self.process.stdout.fileno(), time.monotonic() + self.timeout
        while True:
            try:
                length, start = read_varint(bytes(self.received[:10]), 0)
                if len(self.received) >= start + length:
                    body = bytes(self.received[start:start + length])
                    del self.received[:start + length]
                    return decode("RESPONSE", body)
            except WireError as e:
                if len(self.received) >= 10:
                    raise Fault("protocol") from e
            if not select.select([source], [], [], max(end - time.monotonic(), 0))[0]:
                raise Fault("timeout")
            self.take(source)

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process, self.received = None, bytearray()


class Pair:
    """A left and a right backend."""

    def __init__(self, left, right, timeout):
        self.sides = Side(left, timeout), Side(right, timeout)

    def close(self):
        for side in self.sides:
            side.close()

    def begin(self, batch):
        """Sends the models of a batch of cases."""
        self.batch = batch
        try:
            self.send([[case.prepare for case in batch]] * 2)
            self.begun = True
        except Fault:
            self.begun = False

    def finish(self):
        """For each case of the batch the answers of the left and of the right, one for each run: ('run', outputs),
        ('error', code, clause, message) or ('fault', what). After a fault each case is asked alone, so that the fault
        is that of one case."""
        try:
            if self.begun:
                return self.together()
        except Fault:
            pass
        self.close()
        return [self.alone(case) for case in self.batch]

    def send(self, asked):
        for side, bodies in zip(self.sides, asked):
            side.send(bodies)

    def together(self):
        prepared = [[side.receive() for _ in self.batch] for side in self.sides]
        asked = [[body for case, answer in zip(self.batch, answers) if answer.prepare is not None
                  for body in run_requests(case, answer.prepare.handle or 0)] for answers in prepared]
        self.send(asked)
        ran = [iter([side.receive() for _ in bodies]) for side, bodies in zip(self.sides, asked)]
        return [[answers_of(case, answers[k], more) for answers, more in zip(prepared, ran)]
                for k, case in enumerate(self.batch)]

    def alone(self, case):
        """The answers of both sides to one case."""
        out = []
        for side in self.sides:
            try:
                side.send([case.prepare])
                prepared, ran = side.receive(), []
                if prepared.prepare is not None:
                    side.send(run_requests(case, prepared.prepare.handle or 0))
                    ran = [side.receive() for _ in range(len(case.runs) + 1)]
                out.append(answers_of(case, prepared, iter(ran)))
            except Fault as fault:
                side.close()
                out.append([("fault", str(fault))] * len(case.runs))
        return out


def run_requests(case, handle):
    """The requests of a prepared case: its runs, and Release."""
    return [encode("REQUEST", {"run": {"handle": handle, "inputs": tensors}}) for tensors in case.runs] + [
        encode("REQUEST", {"release": {"handle": handle}})]


def answers_of(case, prepared, ran):
    """The outcome of each run: that of Prepare where it was refused, else of the next responses in `ran`."""
    if prepared.prepare is None:
        return [outcome(prepared)] * len(case.runs)
    out = [outcome(next(ran)) for _ in case.runs]
    next(ran)  # of Release
    return out


def outcome(answer):
    if answer.error is not None:
        return "error", CODES[answer.error.code or 0], answer.error.clause or "", answer.error.message or ""
    return ("run", answer.run.outputs) if answer.run is not None else ("fault", "an answer of another kind")
