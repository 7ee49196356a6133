"""Errors of QTX, and the exception by which a backend declines."""


class Error(ValueError):
    """What QTX refuses: `str(error)` is "where: message [clause]", without the parts that are empty.

    message: what was found and what was expected.
    where: the place: a file, then a node, value or field in it.
    clause: the broken clause of the specification, such as "conv.C3", or "".
    code: "invalid", "unsupported", "too_large", "unreadable", "io", "memory", "usage", "internal", "timeout", "protocol" or
        "system".
    """

    def __init__(self, message, where="", clause="", code="invalid"):
        super().__init__(message, where, clause, code)
        self.message, self.where, self.clause, self.code = message, where, clause, code

    def __str__(self):
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} [{self.clause}]" if self.clause else text


class Unsupported(Exception):
    """Raised by a backend that does not do what a model asks for: declined, which is no failure.

    The message says what is not done; `where` names the node or value, and is the backend's name where it is empty.
    """

    def __init__(self, message="declined", where=""):
        super().__init__(message, where)
        self.message, self.where = message, where

    def __str__(self):
        return self.message
