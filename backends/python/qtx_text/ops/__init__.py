"""The operators of spec/ops/ that this implementation has."""
from . import (concat_pad, constant, contrib, elementwise, indices, movement, normalize, pool, power, products, q_linear,
               quantize_linear, reduce, resize)  # noqa: F401
from .core import OPERATORS, Call, Deferred

__all__ = ["OPERATORS", "Call", "Deferred"]
