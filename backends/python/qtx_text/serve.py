"""The backend protocol (backend_protocol.S1 to S17)."""
import sys
import traceback

from .arithmetic import ARITHMETICS
from .model import Model
from .types import Refusal, invalid
from .wire import WireError, decode, encode, frame

MOST_BYTES = 1 << 30
MOST_REPETITIONS = 1 << 20


class Backend:
    def __init__(self):
        self.models, self.next = {}, 1

    def answer(self, data):
        """One response to one frame, whatever is in it."""
        try:
            return self.respond(data)
        except Refusal as e:
            error = {"code": Refusal.CODES[e.code], "where": e.where[:1000], "message": str(e.message)[:4000],
                     "clause": e.clause if "." in e.clause and not e.clause.endswith(".") else ""}
        except (RecursionError, MemoryError) as e:
            error = {"code": Refusal.CODES["TOO_LARGE"], "message": type(e).__name__}
        except Exception as e:  # what nobody thought of is declined, never a crash
            traceback.print_exc(file=sys.stderr)
            error = {"code": Refusal.CODES["UNSUPPORTED"], "message": "unexpected: %r" % e}
        return encode("RESPONSE", {"error": error})

    def respond(self, data):
        try:
            request = decode("REQUEST", data)
        except WireError as e:
            raise Refusal("PROTOCOL", "backend_protocol.S5", "no Request: %s" % e) from e
        kinds = [k for k in ("describe", "prepare", "run", "release") if getattr(request, k) is not None]
        if any("\udc80" <= c <= "\udcff" for c in getattr(request.prepare, "arithmetic", None) or ""):
            raise Refusal("PROTOCOL", "backend_protocol.S5", "no Request: an arithmetic that is no UTF-8")
        if len(kinds) != 1:
            raise Refusal("PROTOCOL", "backend_protocol.S5", "no kind of request that is known")
        return encode("RESPONSE", {kinds[0]: getattr(self, kinds[0])(getattr(request, kinds[0]))})

    def describe(self, _):  # S7
        return {"name": "qtx-text", "version": "1", "arithmetics": list(ARITHMETICS), "device": "CPU (Python)"}

    def prepare(self, m):  # S8
        arithmetic = ARITHMETICS.get(m.arithmetic or "")
        if arithmetic is None:
            raise Refusal("UNSUPPORTED", "", "arithmetic '%s'" % m.arithmetic)
        model = Model(m.model or b"", arithmetic)
        handle, self.next = self.next, self.next + 1
        self.models[handle] = model
        return {"handle": handle}

    def model(self, handle):  # S11
        if handle not in self.models:
            raise invalid("backend_protocol.S11", "handle %s is not known" % handle)
        return self.models[handle]

    def run(self, m):  # S9, S22: this backend does not time itself
        model = self.model(m.handle or 0)
        if (m.repetitions or 0) > MOST_REPETITIONS:
            raise invalid("backend_protocol.S22", "%d repetitions" % m.repetitions)
        return {"outputs": model.run(m.inputs)}

    def release(self, m):  # S10
        self.model(m.handle or 0)
        del self.models[m.handle]
        return {}


def serve(source, sink):
    """Answers frames until the end of the input (S4, S6); the exit status."""
    backend = Backend()
    while True:
        length = shift = 0
        for count in range(5):
            byte = source.read(1)
            if not byte:
                return 0 if count == 0 else 1
            length |= (byte[0] & 127) << shift
            shift += 7
            if byte[0] < 128:
                break
        else:
            length = MOST_BYTES + 1
        if length > MOST_BYTES:  # S2, S5
            error = {"code": Refusal.CODES["PROTOCOL"], "message": "a frame of that length",
                     "clause": "backend_protocol.S2"}
            sink.write(frame(encode("RESPONSE", {"error": error})))
            sink.flush()
            return 1
        data = source.read(length)
        if len(data) < length:
            return 1
        sink.write(frame(backend.answer(data)))
        sink.flush()
