"""How two answers to the same request differ."""
import struct

from .draft import BITS, FLOAT_BITS, count


def codes_of(t):
    """The codes of a tensor's elements, NaNs and zeros as one each."""
    code, bits, n = t.elem_type or 0, BITS[t.elem_type], count(t.dims)
    data = t.data or b""
    if bits >= 8:
        step = bits // 8
        out = [int.from_bytes(data[i * step:(i + 1) * step], "little") for i in range(n)]
    else:
        out = [data[i * bits // 8] >> i * bits % 8 & (1 << bits) - 1 for i in range(n)]
    storage = code - 1000 if 1000 < code < 1100 else code
    if storage not in FLOAT_BITS:
        return out
    e, m = FLOAT_BITS[storage]
    sign, top = 1 << e + m, (1 << e) - 1

    def canonical(c):
        if c in (0, sign) and storage not in (18, 20):
            return 0
        if storage in (1, 10, 16, 11, 19) and c >> m & top == top and c & (1 << m) - 1:
            return "nan"
        if storage == 17 and c & 127 == 127 or storage in (18, 20) and c == 128:
            return "nan"
        return c
    return [canonical(c) for c in out]


def shown(t, c):
    code = t.elem_type
    if c == "nan":
        return "nan"
    if code == 1:
        return "%r (%08x)" % (struct.unpack("<f", struct.pack("<I", c))[0], c)
    if code == 11:
        return "%r" % struct.unpack("<d", struct.pack("<Q", c))[0]
    signed = code in (1003, 1005, 1006, 1022, 1026, 3, 5, 6, 7, 22, 26)
    return str(c - (1 << BITS[code]) if signed and c >> BITS[code] - 1 else c)


def compare(left, right):
    """None, ('declined', which), or (kind, text)."""
    if left == right and left[0] != "run":
        return None
    for side, other in ((left, right), (right, left)):
        if side[0] == "error" and side[1] == "UNSUPPORTED":
            return "declined", ("left" if side is left else "right") + ": " + side[3][:90]
    if left[0] != "run" or right[0] != "run":
        if left[0] == right[0] == "error":
            refused = ("INVALID", "TOO_LARGE")
            if left[1] == right[1] or left[1] in refused and right[1] in refused:
                return None
        kind = "%s/%s" % tuple(s[0] if s[0] == "run" else "%s %s" % (s[1], s[2] if len(s) > 2 else "")
                               for s in (left, right))
        return kind.strip(), "left %s\nright %s" % tuple(s if s[0] != "run" else "gives a result"
                                                         for s in (left, right))
    if len(left[1]) != len(right[1]):
        return "outputs", "%d and %d outputs" % (len(left[1]), len(right[1]))
    for k, (a, b) in enumerate(zip(left[1], right[1])):
        if (a.elem_type, list(a.dims)) != (b.elem_type, list(b.dims)):
            return "type", "y%d: left %s%s right %s%s" % (k, a.elem_type, a.dims, b.elem_type, b.dims)
        p, q = codes_of(a), codes_of(b)
        different = [i for i in range(len(p)) if p[i] != q[i]]
        if different:
            i = different[0]
            return "value", "y%d: %d of %d elements differ, first at %d: left %s right %s" % (
                k, len(different), len(p), i, shown(a, p[i]), shown(b, q[i]))
    return None
