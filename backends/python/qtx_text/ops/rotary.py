"""RotaryEmbedding: pairs of a head's elements, turned."""
from ..types import elements
from .core import operator


@operator("RotaryEmbedding", "rotary_embedding", (3, 4), shape="C7",
          attributes="interleaved:i num_heads:i rotary_embedding_dim:i", operands=(0, 1, 2), since=23)
class RotaryEmbedding:  # rotary_embedding.S1 to S5
    @staticmethod
    def sizes(call):
        """The size of a head, and how many of its elements are turned."""
        d = call.inputs[0].dims
        head = d[3] if len(d) == 4 else d[2] // call.attr("num_heads")
        return head, call.attr("rotary_embedding_dim", 0) or head

    @staticmethod
    def check_positions(call):
        rows = call.inputs[1].dims[0]
        call.require(all(0 <= v < rows for v in call.inputs[3].data), "C6", "a position of no row")

    @staticmethod
    def infer(call):
        call.real_or("C1", operands=call.inputs[:3])
        d = call.dims(0)
        call.require(len(d) in (3, 4), "C2", "x of shape %s" % (d,))
        heads = call.attr("num_heads")
        call.require(len(d) == 4 or heads is not None and heads >= 1 and d[2] % heads == 0, "C2", "%s heads" % heads)
        head, turned = RotaryEmbedding.sizes(call)
        call.require(call.attr("interleaved", 0) in (0, 1), "C3", "interleaved")
        call.require(0 <= call.attr("rotary_embedding_dim", 0) <= head and turned % 2 == 0, "C3", "%d elements" % turned)
        tokens = (d[0], d[-2])
        cos, sin = call.dims(1), call.dims(2)
        call.require(len(cos) == 2 if call.has(3) else len(cos) == 3 and cos[:2] == tokens, "C4", "cos_cache %s" % (cos,))
        call.require(cos[-1] == turned // 2 and sin == cos, "C4", "caches %s and %s" % (cos, sin))
        if call.has(3):
            call.require(call.inputs[3].type.name == "INT64" and call.dims(3) == tokens, "C5", "position_ids")
            if call.inputs[3].data is not None:
                RotaryEmbedding.check_positions(call)
        return [d]

    @staticmethod
    def compute(call):
        n, d = call.numbers, call.inputs[0].dims
        x, cos, sin = (n.of(t) for t in call.inputs[:3])
        if call.has(3):
            RotaryEmbedding.check_positions(call)
        head, turned = RotaryEmbedding.sizes(call)
        half, out = turned // 2, []
        for i in range(elements(d)):
            at, row = i % head, i // head
            if at >= turned:
                out.append(x[i])
                continue
            if len(d) == 3:
                token = row // call.attr("num_heads")
            else:
                token = row // (d[1] * d[2]) * d[2] + row % d[2]
            k, second = (at // 2, at % 2) if call.attr("interleaved", 0) else (at % half, at // half)
            other = i + (1 if call.attr("interleaved", 0) else half) * (-1 if second else 1)
            turn = (call.inputs[3].data[token] if call.has(3) else token) * half + k
            if second:
                out.append(n.add(n.mul(sin[turn], x[other]), n.mul(cos[turn], x[i])))
            else:
                out.append(n.sub(n.mul(cos[turn], x[i]), n.mul(sin[turn], x[other])))
        return [call.store(out)]
