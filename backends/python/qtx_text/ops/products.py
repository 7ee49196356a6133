"""Sums of products: Conv, ConvTranspose, MatMul and Gemm."""
from ..arithmetic.base import Products
from ..types import elements, strides
from .core import broadcast, broadcast_index, operator


def sums_of_products(call, y, products):
    """The results, by the arithmetic's kernel or in its numbers. A bias is added last, by an addition of its own."""
    p = products
    kernel = call.plan_kernel("products", products=p)
    if kernel:
        return kernel

    def compute():
        n = call.numbers
        x, w = n.of(p.x), n.of(p.w)
        sums = n.dots(x, w, p.taps())
        if p.alpha != 1:  # gemm.S2
            alpha = n.constant(p.alpha)
            sums = [n.mul(alpha, s) for s in sums]
        if p.bias is not None:
            b, beta = n.of(p.bias), n.constant(p.beta)
            sums = [n.add(s, b[p.bias_at(m)] if p.beta == 1 else n.mul(beta, b[p.bias_at(m)])) for m,
                    s in enumerate(sums)]
        return call.store(sums)
    return compute


# Windows.
def window(call, spatial, kernel, names, dilations=True, ceil_mode=False):
    """(strides, dilations, begins, output sizes) of Conv and pooling (conv.S4, S5, average_pool.S3)."""
    attributes, auto, size = names
    rank = len(spatial)
    stride = call.attr("strides", [1] * rank)
    dilation = call.attr("dilations", [1] * rank)
    pads = call.attr("pads", [0] * 2 * rank)
    call.require(len(stride) == rank and len(dilation) == rank and min([*stride, *dilation, 1]) >= 1, attributes)
    mode = call.text("auto_pad", "NOTSET")
    call.require(mode in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"), auto, "auto_pad " + mode)
    call.require(len(pads) == 2 * rank and min([*pads, 0]) >= 0, attributes, "pads %s" % (pads,))
    if mode == "NOTSET" and call.op in ("AveragePool", "MaxPool", "LpPool"):
        call.require(all(p < k for p, k in zip(pads, list(kernel) * 2)), attributes, "pads %s" % (pads,))
    begins, ends, out = [], [], []
    for a in range(rank):
        n, k, s = spatial[a], dilation[a] * (kernel[a] - 1) + 1, stride[a]
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            m = -(-n // s)
            total = max((m - 1) * s + k - n, 0)
            b, e = total // 2, total - total // 2
            if mode == "SAME_LOWER":
                b, e = e, b
        else:
            b, e = (0, 0) if mode == "VALID" else (pads[a], pads[a + rank])
            room = n + b + e - k
            m = (-(-room // s) if ceil_mode else room // s) + 1
            if ceil_mode and m > 0 and (m - 1) * s >= n + b:
                m -= 1  # a window does not begin in the end padding
        call.require(m >= 1, size, "an output size is %d" % m)
        begins.append(b)
        ends.append(e)
        out.append(m)
    return stride, dilation, begins, out, ends


def kernel_taps(spatial, kernel, stride, dilation, begins, out):
    """For each output position the flat offsets in a plane of x, -1 where the tap is outside."""
    steps = strides(spatial)
    result = []
    for o in walk_coordinates(out):
        tap = [0]
        for a in range(len(spatial)):
            places = []
            for k in range(kernel[a]):
                i = o[a] * stride[a] + k * dilation[a] - begins[a]
                places.append(i * steps[a] if 0 <= i < spatial[a] else None)
            tap = [None if t is None or p is None else t + p for t in tap for p in places]
        result.append([-1 if t is None else t for t in tap])
    return result


def walk_coordinates(dims):
    out = [()]
    for d in dims:
        out = [c + (k,) for c in out for k in range(d)]
    return out


class Conv:  # conv.S1 to S5
    @staticmethod
    def shape(call, x, w, b):
        call.require(len(x) >= 3 and len(w) == len(x), "C2", "ranks %d and %d" % (len(x), len(w)))
        group = call.attr("group", 1)
        call.require(group >= 1 and x[1] == group * w[1] and w[0] % group == 0 and w[0] > 0, "C3")
        if b is not None:
            call.require(tuple(b) == (w[0],), "C4")
        kernel = w[2:]
        call.require(min(kernel) >= 1 and list(call.attr("kernel_shape", kernel)) == list(kernel), "C5")
        *_, out, _ = window(call, x[2:], kernel, ("C6", "C7", "C8"))
        return (x[0], w[0], *out)

    @staticmethod
    def infer(call):
        call.real_or("C1", "DOUBLE")
        return [Conv.shape(call, call.dims(0), call.dims(1), call.dims(2) if call.has(2) else None)]

    @staticmethod
    def products(call, x, w, b, y):
        group = call.attr("group", 1)
        spatial, kernel = x.dims[2:], w.dims[2:]
        stride, dilation, begins, out, _ = window(call, spatial, kernel, ("C6", "C7", "C8"))
        n, channels, M, depth = x.dims[0], x.dims[1], w.dims[0], w.dims[1]
        plane, size, places = elements(spatial), elements(kernel), elements(out)

        def taps():
            windows = kernel_taps(spatial, kernel, stride, dilation, begins, out)
            for i in range(n):
                for m in range(M):
                    first = i * channels + m // (M // group) * depth
                    wi = range(m * depth * size, (m + 1) * depth * size)
                    for t in windows:
                        yield [p if p < 0 else (first + c) * plane + p for c in range(depth) for p in t], wi
        depthwise = group > 1 and group == channels
        return Products("DEPTHWISE" if depthwise else "CONV", x, w, b, taps, lambda m: m // places % M, 0, 1,
                        lambda m: m // places % M, depth=depth)

    @staticmethod
    def plan(call):
        x, w, y = call.inputs[0], call.inputs[1], call.outs[0]
        f = sums_of_products(call, y, Conv.products(call, x, w, call.input(2), y))
        return lambda: [f()]


WINDOW = "auto_pad:s dilations:is group:i kernel_shape:is pads:is strides:is"
operator("Conv", "conv", (2, 3), shape="C8", attributes=WINDOW)(Conv)


@operator("ConvTranspose", "conv_transpose", (2, 3), shape="C8",
          attributes=WINDOW + " output_padding:is output_shape:is")
class ConvTranspose:  # conv_transpose.S1 to S6
    @staticmethod
    def sizes(call, x, w):
        spatial, kernel = x[2:], w[2:]
        rank = len(spatial)
        stride, dilation = call.attr("strides", [1] * rank), call.attr("dilations", [1] * rank)
        pads, extra = call.attr("pads", [0] * 2 * rank), call.attr("output_padding", [0] * rank)
        shape = call.attr("output_shape")
        call.require(len(stride) == rank == len(dilation) == len(extra) and len(pads) == 2 * rank
                     and min([*stride, *dilation]) >= 1 and min([*pads, *extra]) >= 0, "C6")
        call.require(all(p < s or p < d for p, s, d in zip(extra, stride, dilation)), "C6", "output_padding")
        call.require(shape is None or len(shape) == rank and min(shape) >= 1, "C6", "output_shape")
        mode = call.text("auto_pad", "NOTSET")
        call.require(mode in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"), "C7")
        if shape is None and mode in ("SAME_UPPER", "SAME_LOWER"):
            shape = [n * s for n, s in zip(spatial, stride)]  # conv_transpose.S6
        begins, out = [], []
        for a in range(rank):
            full = stride[a] * (spatial[a] - 1) + extra[a] + dilation[a] * (kernel[a] - 1) + 1
            if shape is not None:
                total = max(full - shape[a], 0)  # conv_transpose.S5
                begins.append(total // 2 if mode == "SAME_UPPER" else total - total // 2)
                out.append(shape[a])
            elif mode == "VALID":
                begins.append(0)
                out.append(full)
            else:
                begins.append(pads[a])
                out.append(full - pads[a] - pads[a + rank])
        call.require(min([*spatial, *out]) >= 1, "C8", "a size is below 1")
        return stride, dilation, begins, out

    @staticmethod
    def infer(call):
        call.real_or("C1", "DOUBLE")
        x, w = call.dims(0), call.dims(1)
        call.require(len(x) >= 3 and len(w) == len(x), "C2")
        group = call.attr("group", 1)
        call.require(group >= 1 and x[1] % group == 0 and x[1] == w[0] and w[1] != 0, "C3")
        if call.has(2):
            call.require(call.dims(2) == (group * w[1],), "C4")
        call.require(min(w[2:]) >= 1 and list(call.attr("kernel_shape", w[2:])) == list(w[2:]), "C5")
        return [(x[0], group * w[1], *ConvTranspose.sizes(call, x, w)[3])]

    @staticmethod
    def plan(call):
        x, w, y = call.inputs[0], call.inputs[1], call.outs[0]
        group = call.attr("group", 1)
        spatial, kernel = x.dims[2:], w.dims[2:]
        stride, dilation, begins, out = ConvTranspose.sizes(call, x.dims, w.dims)
        n, C, per = x.dims[0], x.dims[1], w.dims[1]
        depth = C // group
        plane, size, places = elements(spatial), elements(kernel), elements(out)
        M = per * group

        def taps():
            steps, ks = strides(spatial), strides(kernel)
            positions = []
            for o in walk_coordinates(out):
                pairs = [(0, 0)]
                for a in range(len(out)):
                    here = []
                    for k in range(kernel[a]):
                        p, rest = divmod(o[a] + begins[a] - k * dilation[a], stride[a])
                        if rest == 0 and 0 <= p < spatial[a]:
                            here.append((p * steps[a], k * ks[a]))
                    pairs = [(p + q, k + l) for p, k in pairs for q, l in here]
                positions.append(pairs)
            for i in range(n):
                for m in range(M):
                    g, j = divmod(m, per)
                    for pairs in positions:
                        yield ([(i * C + g * depth + c) * plane + p for c in range(depth) for p, _ in pairs],
                               [((g * depth + c) * per + j) * size + k for c in range(depth) for _, k in pairs])
        # The weights of a group share the parameters of axis 1: channel m has those of m % per.
        f = sums_of_products(call, y, Products("TRANSPOSE", x, w, call.input(2), taps, lambda m: m // places % M % per,
                                               1, None,
                                               lambda m: m // places % M, depth=depth))
        return lambda: [f()]


class MatMul:  # mat_mul.S1 to S4
    @staticmethod
    def shape(call, a, b):
        call.require(len(a) > 0 and len(b) > 0, "C2")
        p = (1, *a) if len(a) == 1 else a
        q = (*b, 1) if len(b) == 1 else b
        call.require(p[-1] == q[-2], "C3", "shapes %s and %s" % (a, b))
        lead = broadcast(call, "C4", p[:-2], q[:-2])
        return lead, p, q, lead + (() if len(a) == 1 else p[-2:-1]) + (() if len(b) == 1 else q[-1:])

    @staticmethod
    def infer(call):
        call.real_or("C1", "plain")
        return [MatMul.shape(call, call.dims(0), call.dims(1))[3]]

    @staticmethod
    def products(call, a, b):
        lead, p, q, _ = MatMul.shape(call, a.dims, b.dims)
        M, K, N = p[-2], p[-1], q[-1]

        def taps():
            for i, j in zip(broadcast_index(p[:-2], lead), broadcast_index(q[:-2], lead)):
                for r in range(M):
                    xi = range((i * M + r) * K, (i * M + r + 1) * K)
                    for c in range(N):
                        yield xi, range(j * K * N + c, (j + 1) * K * N + c if K else j * K * N, N) if K else ()
        kernel = "FC" if b.initializer and len(b.dims) == 2 else "BATCH"
        return Products(kernel, a, b, None, taps, lambda m: m % N, len(b.dims) - 1 if len(b.dims) > 1 else None,
                        len(lead) + (len(a.dims) > 1) if len(b.dims) > 1 else None)

    @staticmethod
    def plan(call):
        f = sums_of_products(call, call.outs[0], MatMul.products(call, *call.inputs))
        return lambda: [f()]


operator("MatMul", "mat_mul", (2, 2), shape="C5")(MatMul)


@operator("Gemm", "gemm", (2, 3), shape="C5", attributes="alpha:f beta:f transA:i transB:i broadcast:i:1:7")
class Gemm:  # gemm.S1 to S4
    @staticmethod
    def shape(call, a, b, c):
        call.require(len(a) == len(b) == 2, "C2")
        a = a[::-1] if call.attr("transA") else a
        b = b[::-1] if call.attr("transB") else b
        call.require(a[1] == b[0], "C3")
        y = (a[0], b[1])
        call.require(c is None or len(c) <= 2 and all(m in (1, n) for m, n in zip(c[::-1], y[::-1])), "C4")
        return y

    @staticmethod
    def infer(call):
        call.real_or("C1", "plain")
        return [Gemm.shape(call, call.dims(0), call.dims(1), call.dims(2) if call.has(2) else None)]

    @staticmethod
    def products(call, a, b, c, alpha, beta):
        M, N = y = Gemm.shape(call, a.dims, b.dims, c and c.dims)
        trans_a, trans_b = bool(call.attr("transA")), bool(call.attr("transB"))
        K = a.dims[0 if trans_a else 1]

        def taps():
            for i in range(M):
                xi = [k * M + i for k in range(K)] if trans_a else range(i * K, (i + 1) * K)
                for j in range(N):
                    yield xi, range(j * K, (j + 1) * K) if trans_b else [k * N + j for k in range(K)]
        at = broadcast_index(c.dims, y) if c is not None else None
        return Products("FC", a, b, c, taps, lambda m: m % N, 0 if trans_b else 1, 1, lambda m: at[m], alpha, beta)

    @staticmethod
    def plan(call):
        a, b, c = call.inputs[0], call.inputs[1], call.input(2)
        f = sums_of_products(call, call.outs[0], Gemm.products(call, a, b, c, call.attr("alpha", 1.0),
                                                               call.attr("beta", 1.0)))
        return lambda: [f()]
