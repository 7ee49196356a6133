#!/usr/bin/env python3
"""check_proto.py QTX [BASE]: holds the three diffs of this folder to what proto.md says of them.

QTX is the program `qtx`. BASE is onnx/onnx.in.proto of ONNX, by default that of the installed package. The diffs must
apply to it, the results compile in ONNX's four forms (onnx.proto and onnx-ml.proto, proto2 and proto3), and the
patched message must give the same values as `qtx inspect` for files that QTX writes, and back.
Status 77: no onnx, protoc or patch, or an onnx that the diffs do not apply to.
"""
import json
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
try:
    import onnx
    from google.protobuf import json_format
    import qtx
    import upstream
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MODELS = upstream.HERE.parent.parent / "conformance/cases/models"
LAST = f"stage{len(upstream.DIFFS)}"
REALS = ("min", "max", "mean", "std")
COUNTS = ("count", "nan_count", "infinity_count", "source")
SCHEMES = ["unspecified", "asymmetric", "symmetric", "asymmetric_pow2", "symmetric_pow2", "symmetric_uint8"]


def require(condition, text):
    if not condition:
        raise upstream.Failure(text)


def seen(value, codes):
    """What the patched message says of a value, in the words of `qtx inspect --json`."""
    tensor = value.type.tensor_type
    result = {"name": value.name, "elem_type": codes[tensor.elem_type]}
    if tensor.HasField("quantization"):
        q = tensor.quantization
        result |= {"scale": list(q.scale), "offset": list(q.zero_point), "axis": list(q.axis),
                   "block_shape": list(q.block_shape), "scheme": SCHEMES[q.scheme]}
        for key, field in (("scale_tensor",) * 2, ("offset_tensor", "zero_point_tensor"), ("quant_min",) * 2,
                           ("quant_max",) * 2):
            present = bool(getattr(q, field)) if field.endswith("tensor") else q.HasField(field)
            if present:
                result[key] = getattr(q, field)
        for key in ("storage_type", "real_type"):
            if getattr(q, key):
                result[key] = codes[getattr(q, key)]
        for key in ("scale_levels", "base_levels"):
            if getattr(q, key):
                result[key] = [factors(level) for level in getattr(q, key)]
        if q.code_book:
            result["code_book"] = list(q.code_book)
        if q.code_book_tensor:
            result["code_book_tensor"] = q.code_book_tensor
        if q.HasField("encoding"):
            result["encoding"] = records(q.encoding, codes)
        if q.HasField("requantization"):
            result["requantization"] = {"multiplier": list(q.requantization.multiplier),
                                        "shift": list(q.requantization.shift)}
    if tensor.HasField("statistics"):
        result["statistics"] = measured(tensor.statistics)
    return result


def factors(level):
    result = {"tensor": level.tensor} if level.tensor else {"value": list(level.value)}
    return result | ({"block_shape": list(level.block_shape)} if level.block_shape else {})


def records(encoding, codes):
    def field(f):
        result = {"role": ("code", "scale", "base")[f.role], "elem_type": codes[f.elem_type]}
        result |= {"level": f.level} if f.role else {}
        result |= {"bias": f.bias} if f.bias else {}
        return result | {"bits": [{key: getattr(span, key) for key in ("value_bit", "width", "first", "record_bit")} |
                                  {key: list(getattr(span, key)) for key in ("count", "stride")} for span in f.bits]}

    return {"record_bytes": encoding.record_bytes, "record_shape": list(encoding.record_shape),
            "field": [field(f) for f in encoding.field]}


def measured(s):
    result = {key: list(getattr(s, key)) for key in (*REALS, "axis")}
    result |= {key: getattr(s, key) for key in COUNTS}
    if s.HasField("histogram"):
        result["histogram"] = {key: getattr(s.histogram, key) for key in ("lower", "upper", "below", "above")}
        result["histogram"]["counts"] = list(s.histogram.counts)
    return result


def inspected(value):
    """The same of `qtx inspect --json`, whose reals are hexadecimal."""
    result = {key: value[key] for key in ("name", "elem_type", "scale", "offset", "axis", "block_shape", "scheme",
                                          "scale_tensor", "offset_tensor", "quant_min", "quant_max", "storage_type",
                                          "requantization", "real_type", "scale_levels", "base_levels", "code_book",
                                          "code_book_tensor", "encoding") if key in value}
    reals = [result, *result.get("scale_levels", ()), *result.get("base_levels", ())]
    for item, key in ((item, key) for item in reals for key in ("scale", "code_book", "value") if key in item):
        item[key] = [float.fromhex(x) for x in item[key]]
    if "statistics" in value:
        s = value["statistics"]
        result["statistics"] = {key: s[key] for key in (*COUNTS, "axis", "histogram") if key in s}
        result["statistics"] |= {key: [float.fromhex(x) for x in s[key]] for key in REALS}
        if "histogram" in s:
            result["statistics"]["histogram"] |= {key: float.fromhex(s["histogram"][key]) for key in ("lower", "upper")}
    return result


def compare(path, program, ours, theirs, codes):
    """How many quantized types the file has, all equal in both readings."""
    model = upstream.renumbered(ours.FromString(path.read_bytes()), theirs)
    model = theirs.FromString(model.SerializeToString())  # as a reader of the file would have it
    values, read = upstream.values(model), json.loads(qtx.run(program, "inspect", path, "--json", "-"))["values"]
    require(len(read) == len(values), f"{path.name}: {len(values)} values, QTX reads {len(read)}")
    quantized = 0
    for value, other in zip(values, read):
        a, b = seen(value, codes), inspected(other)
        require(a == b, f"{path.name}: '{value.name}': {a}, QTX reads {b}")
        quantized += "scheme" in a
    return quantized


def written_here(ours, folder):
    """A file with what the networks lack: bounds of 0, blocks, several axes, negative zero points, names; products of
    factors, a code book, records, FLOAT16."""
    model = ours()
    model.ir_version = 10
    for domain, version in (("", 21), ("qtx", 3)):
        entry = model.opset_import.add()
        entry.domain, entry.version = domain, version
    graph = model.graph
    graph.name = "g"

    def value(into, name, code, dims, **fields):
        v = into.add()
        v.name = name
        tensor = v.type.tensor_type
        tensor.elem_type = code
        for d in dims:
            tensor.shape.dim.add().dim_value = d
        for key, content in fields.items():
            json_format.ParseDict({key: content}, tensor.quantization)

    value(graph.input, "folded", 1003, [2, 4], scale=[0.5], zero_point=[-3], quant_min=0, quant_max=0x7F)
    value(graph.input, "blocks", 1022, [2, 4], scale=[1, 2, 4, 2.0 ** -149], zero_point=[-8, 7, 0, -1], axis=[0, 1],
          block_shape=[1, 2])
    value(graph.input, "meant", 1, [2, 4], scale=[0.25], zero_point=[255], storage_type=2, scheme=1)
    value(graph.value_info, "product", 1021, [2, 4], axis=[0, 1], block_shape=[1, 2],
          scale_levels=[{"tensor": "fine"}, {"value": [0.5, -0.25], "block_shape": [1, 4]}],
          base_levels=[{"value": [-1.5] * 4}])
    value(graph.value_info, "book", 1025, [4], scale=[-2], code_book=[-1, -0.25, 0.25, 3], real_type=10)
    value(graph.value_info, "named_book", 1021, [4], scale=[1], code_book_tensor="nf4", real_type=16)
    value(graph.value_info, "records", 1022, [1, 4], axis=[0, 1], block_shape=[1, 4], scale_levels=[{}], encoding={
        "record_bytes": 4, "record_shape": [1, 4], "field": [
            {"role": "SCALE", "elem_type": 10, "bits": [{"width": 16}]},
            {"elem_type": 2, "bias": -8, "bits": [{"width": 4, "record_bit": 16, "count": [2, 2], "stride": [8, -4]}]}]})
    statistics = graph.input[2].type.tensor_type.statistics
    for key, number in zip(REALS, (-1.5, 2.5, 0.1, 1.25)):
        getattr(statistics, key).append(number)
    statistics.count, statistics.nan_count, statistics.infinity_count, statistics.source = 3, 2, 1, "by hand"
    statistics.histogram.lower, statistics.histogram.upper = -2, 3
    statistics.histogram.counts.extend([1, 2])
    value(graph.output, "y", 1003, [2, 4], scale=[1], quant_min=-127)
    node = graph.node.add()
    node.op_type = "Add"
    node.input.extend(["folded", "blocks"])
    node.output.append("y")
    path = folder / "written_here.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def check_stock(theirs):
    """A stock model is what it was."""
    model = onnx.helper.make_model(onnx.helper.make_graph(
        [onnx.helper.make_node("Abs", ["x"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 4])], [onnx.helper.make_tensor_value_info("y", 1, None)]))
    data = model.SerializeToString(deterministic=True)
    require(theirs.FromString(data).SerializeToString(deterministic=True) == data,
            "a stock model changes when the patched message reads and writes it")


def compile_all(texts, folder):
    """{name: pool} of every form of every text."""
    pools = {}
    for stage, text in enumerate(texts, 1):
        for ml in (False, True):
            for proto in (2, 3):
                name = f"stage{stage}{'_ml' if ml else ''}_proto{proto}"
                pools[name] = upstream.compiled(upstream.translate(text, proto, ml), folder, name)
    print(f"protoc: {len(pools)} forms compile")
    return pools


def check_files(program, text, pools, folder):
    ours = upstream.model_class(
        upstream.compiled(upstream.translate(upstream.with_qtx_numbers(text)), folder, "qtx_numbers"))
    codes = {v.number: v.name for v in
             pools[f"{LAST}_ml_proto2"].FindEnumTypeByName("onnx.TensorProto.DataType").values}
    files = [written_here(ours, folder)]
    for network in sorted(MODELS.glob("*/*.tflite")):
        files.append(folder / f"{network.parent.name}.onnx")
        qtx.run(program, "convert", network, "-o", files[-1])
    for proto in (2, 3):
        theirs = upstream.model_class(pools[f"{LAST}_ml_proto{proto}"])
        check_stock(theirs)
        count = sum(compare(path, program, ours, theirs, codes) for path in files)
        print(f"proto{proto}: {count} quantized types in {len(files)} files are as QTX reads them")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for program in ("protoc", "patch"):
        if shutil.which(program) is None:
            print(f"skipped: {program} not found")
            sys.exit(77)
    base = pathlib.Path(sys.argv[2]).read_bytes() if len(sys.argv) == 3 else upstream.base()
    same = upstream.is_base(base)
    print(f"base: onnx.in.proto of onnx {upstream.BASE[0]}" if same else f"base: not that of onnx {upstream.BASE[0]}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts = upstream.patched(base, folder)
        if texts is None:
            require(not same, "the diffs do not apply to the base they are of")
            print("skipped: the diffs do not apply to this base")
            sys.exit(77)
        print(f"diffs: all {len(texts)} apply")
        check_files(sys.argv[1], texts[-1], compile_all(texts, folder), folder)


if __name__ == "__main__":
    try:
        main()
    except upstream.Failure as failure:
        sys.exit(f"check_proto: {failure}")
