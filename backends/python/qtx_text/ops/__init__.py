"""The operators of spec/ops/ that this implementation has."""
from . import (attention, bits, boxes, concat_pad, constant, contrib, einsum, elementwise, generate, grid, indices,  # noqa: F401
               movement, normalize, pool, power, products, q_linear, quantize_linear, recurrent, reduce, resize,
               rotary)
from .core import OPERATORS, Call, Deferred

__all__ = ["OPERATORS", "Call", "Deferred"]
