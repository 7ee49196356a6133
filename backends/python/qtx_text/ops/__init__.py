"""The operators of spec/ops/ that this implementation has."""
from . import (attention, concat_pad, constant, contrib, elementwise, indices, movement, normalize,  # noqa: F401
               pool, power, products, q_linear, quantize_linear, recurrent, reduce, resize)
from .core import OPERATORS, Call, Deferred

__all__ = ["OPERATORS", "Call", "Deferred"]
