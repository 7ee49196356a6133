"""Cases of one node, written in a line: a node that breaks one clause, and its twin that keeps every clause.

A value is `name:type[dims]=elements@field=json`. Types are `f` FLOAT, `i8` INT8, ..., and `q` INT8Q, `uq` UINT8Q, ...
with parameters of their own (QUANTIZED); a field overrides one, null removes it. Without elements small numbers stand
there. `*` before a name: an input that is no initializer. `name:none` is left out. Inputs, `->`, outputs.
"""
import json
import re

# type, scale, offset
QUANTIZED = {"q": ("int8q", 0.5, 1), "uq": ("uint8q", 0.25, 128), "q32": ("int32q", 0.125, None),
             "q16": ("int16q", 0.5, None), "q4": ("int4q", 0.5, None), "f8q": ("float8e4m3fnq", 0.5, None)}
PLAIN = {"f": "float", "d": "double", "h": "float16", "bf": "bfloat16", "i8": "int8", "u8": "uint8", "i16": "int16",
         "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64", "b": "bool",
         "f8": "float8e4m3fn", "c64": "complex64", "str": "string", "e8m0": "float8e8m0"}
FLOATS = {"f", "d", "h", "bf", "f8", "f8q", "e8m0"}

# Operators of the levels `vision` and `transformer`; types decide before them (conformance/cases/README.md).
VISION = set("""conv_transpose depth_to_space space_to_depth elu hard_sigmoid hard_swish mish p_relu softplus lp_pool
    instance_normalization batch_normalization group_normalization lrn grid_sample resize global_max_pool""".split())
TRANSFORMER = set("""attention erf exp expand gather_nd gelu gru layer_normalization log log_softmax lstm pow reciprocal
    rms_normalization scatter_nd sqrt tile top_k where""".split())


def number(token, name):
    if token in ("inf", "-inf", "nan"):
        return token
    return float(token) if name in FLOATS else int(token)


def elements(name, count, given):
    if given is not None:
        return [number(token, name) for token in given.split(",") if token]
    if name == "b":
        return [(i + 1) % 2 for i in range(count)]
    if name in FLOATS:
        return [0.5 * (i % 5 + 1) for i in range(count)]
    return [(128 if name == "uq" else 0) + i % 5 + 1 for i in range(count)]


def parse(token, is_input):
    """A value's name and its description in a case."""
    name, _, rest = token.lstrip("*").partition(":")
    if rest == "none":
        return name, "none"
    first, *fields = rest.split("@")
    kind, dims, given = re.fullmatch(r"([a-z0-9]+)(?:\[([^\]]*)\])?(?:=(.*))?", first).groups()
    value = {"type": QUANTIZED[kind][0] if kind in QUANTIZED else PLAIN[kind]}
    if dims is not None:
        value["shape"] = [int(size) if re.fullmatch(r"-?\d+", size) else size for size in dims.split(",") if size]
    if kind in QUANTIZED:
        value["scale"] = [QUANTIZED[kind][1]]
        if QUANTIZED[kind][2] is not None:
            value["offset"] = [QUANTIZED[kind][2]]
    for field in fields:
        key, _, text = field.partition("=")
        value[key] = json.loads(text)
        if value[key] is None:
            del value[key]
    if is_input:
        count = 1
        for size in value["shape"]:
            count *= size
        value["data"] = elements(kind, count, given)
        assert len(value["data"]) == count, token
        if not token.startswith("*"):
            value["initializer"] = True
    return name, value


def yaml(value):
    """In flow style."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if isinstance(value, str):
        return value if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|-inf", value) else json.dumps(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(yaml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml(each)}" for key, each in value.items()) + "}"
    return str(value)


class Op:
    """The cases of one operator."""
    all = []

    def __init__(self, stem, type, opset=None, domain=None, file=None):
        self.stem, self.type, self.opset, self.domain, self.file = stem, type, opset, domain, file or stem
        self.documents = {"broken": [], "kept": []}
        self.count = {}  # models of each clause's number
        Op.all.append(self)

    def level(self, values):
        types = {value["type"] for value in values if isinstance(value, dict)}
        if any(each.startswith("float8") for each in types):
            return "scaled-float"
        if any(each.startswith(("int4", "uint4")) for each in types):
            return "subbyte"
        if self.stem in TRANSFORMER or types & {"float16", "bfloat16"}:
            return "transformer"
        return "vision" if self.stem in VISION else None

    def document(self, kind, identity, clause, why, spec, attributes, opset, arithmetics, computed):
        """`computed`: names of inputs that are no initializers."""
        inputs, _, outputs = spec.partition("->")
        inputs = [parse(("*" if token.partition(":")[0] in computed else "") + token, True) for token in inputs.split()]
        outputs = [parse(token, False) for token in outputs.split()]
        op = {"type": self.type, "domain": self.domain, "opset": opset, "attributes": attributes}
        level = self.level([value for _, value in inputs + outputs])
        tags = ["refused"] if kind == "broken" else []
        lines = [f"id: {identity}", f"spec: {clause}", f"why: {json.dumps(why)}", f"level: {level}" if level else "",
                 f"tags: {yaml(tags)}" if tags else "", "op: " + yaml({key: each for key, each in op.items() if each}),
                 "inputs:" if inputs else "inputs: {}", *(f"  {name}: {yaml(value)}" for name, value in inputs),
                 "expect:", *(f"  {name}: {yaml(value)}" for name, value in outputs),
                 f"  error: {clause}" if kind == "broken" else "", f"arithmetics: [{arithmetics}]" if arithmetics else ""]
        self.documents[kind].append("\n".join(filter(None, lines)) + "\n")

    def C(self, number, why, bad, good=None, A=None, G=None, opset=None, gopset=None, run="", arith=None, garith=None,
          **_):
        """A model of clause `number`. bad, good: the node that breaks it and its twin; A, G: their attributes (G: those
        of A where it is None), likewise opset and gopset, arith and garith. run: names of inputs whose elements break the
        clause; a further pair has them as inputs of the model, so that it shows at run time alone."""
        count = self.count[number] = self.count.get(number, 0) + 1
        good, G = good or bad, A if G is None else G
        opset = opset or self.opset
        gopset = gopset or opset
        assert (bad, A, opset, arith) != (good, G, gopset, garith), (self.stem, number, "no difference")
        suffix = "" if count == 1 else f"/{count}"
        clause = f"{self.stem}.C{number}"
        for end, computed in [("", [])] + ([("/run", run.split())] if run else []):
            broken = f"{self.stem}/broken_c{number}{suffix}{end}"
            self.document("broken", broken, clause, why, bad, A, opset, arith, computed)
            self.document("kept", broken.replace("/broken_", "/kept_"), clause, f"keeps every clause; the twin of {broken}",
                          good, G, gopset, garith, computed)
