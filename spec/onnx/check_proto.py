#!/usr/bin/env python3
"""check_proto.py QTX [BASE]: holds quantized_types.diff and annotations.diff to what proto.md says of them.

QTX is the program `qtx`. BASE is onnx/onnx.in.proto of ONNX, by default that of the installed package. The diffs must
apply to it, the results compile in ONNX's four forms (onnx.proto and onnx-ml.proto, proto2 and proto3), and the
patched message must give the same values as `qtx inspect` for files that QTX writes, and back.
Status 77: no onnx, protoc or patch, or an onnx that the diffs do not apply to.
"""
import hashlib
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import onnx
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.message_factory import GetMessageClass
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent.parent / "conformance/cases/models"
DIFFS = ("quantized_types.diff", "annotations.diff")
BASE = ("1.23.2", "1857814b80aa2e9bdfdf4a2ddacf281934253578d7294f31c866cf2397bade90")
# Upstream's number of a field of TypeProto.Tensor, and QTX's.
NUMBERS = {"quantization = 3;": "quantization = 1001;", "statistics = 4;": "statistics = 1002;"}
SCHEMES = ["unspecified", "asymmetric", "symmetric", "asymmetric_pow2", "symmetric_pow2", "symmetric_uint8"]


def require(condition, text):
    if not condition:
        sys.exit(f"check_proto: {text}")


def patched(base, folder):
    """The text of onnx.in.proto after the first diff, and after both."""
    target = folder / "onnx/onnx.in.proto"
    target.parent.mkdir()
    target.write_bytes(base)
    texts = []
    for diff in DIFFS:
        run = subprocess.run(["patch", "--batch", "--forward", "--fuzz=0", "-p1", "-d", folder, "-i", HERE / diff],
                             capture_output=True, text=True)
        if run.returncode:
            return None
        print(f"{diff}: applies{' with offsets' if 'offset' in run.stdout else ''}")
        texts.append(target.read_text())
    return texts


def translator():
    """ONNX's own generator of onnx.proto and onnx-ml.proto from onnx.in.proto."""
    path = pathlib.Path(onnx.__file__).parent / "gen_proto.py"
    spec = importlib.util.spec_from_file_location("gen_proto", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.translate


def compiled(text, folder, name):
    """The pool of a .proto's messages."""
    (folder / f"{name}.proto").write_text(text)
    run = subprocess.run(["protoc", f"--descriptor_set_out={folder / name}.set", f"--proto_path={folder}",
                          f"{name}.proto"], capture_output=True, text=True)
    require(run.returncode == 0, f"{name}.proto: protoc: {run.stderr.strip()}")
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString((folder / f"{name}.set").read_bytes()).file:
        pool.Add(file)
    return pool


def model_class(pool):
    return GetMessageClass(pool.FindMessageTypeByName("onnx.ModelProto"))


def values(model):
    """In the order of `qtx inspect`."""
    graph = model.graph
    return [*graph.input, *graph.value_info, *graph.output]


def renumbered(model, upstream):
    """The model with its quantization in upstream's fields instead of QTX's."""
    result = upstream.FromString(model.SerializeToString())
    for source, target in zip(values(model), values(result)):
        old, new = source.type.tensor_type, target.type.tensor_type
        if not source.type.HasField("tensor_type"):
            continue
        new.DiscardUnknownFields()
        for field in ("quantization", "statistics"):
            if old.HasField(field):
                getattr(new, field).ParseFromString(getattr(old, field).SerializeToString())
    return result


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
            if q.HasField(field):
                result[key] = getattr(q, field)
        if q.storage_type:
            result["storage_type"] = codes[q.storage_type]
        if q.HasField("requantization"):
            result["requantization"] = {"multiplier": list(q.requantization.multiplier),
                                        "shift": list(q.requantization.shift)}
    if tensor.HasField("statistics"):
        result["statistics"] = [list(getattr(tensor.statistics, key)) for key in ("min", "max", "mean", "std")]
    return result


def inspected(value):
    """The same of `qtx inspect --json`, whose reals are hexadecimal."""
    result = {key: value[key] for key in ("name", "elem_type", "scale", "offset", "axis", "block_shape", "scheme",
                                          "scale_tensor", "offset_tensor", "quant_min", "quant_max", "storage_type",
                                          "requantization") if key in value}
    if "scale" in result:
        result["scale"] = [float.fromhex(x) for x in result["scale"]]
    if "statistics" in value:
        result["statistics"] = [[float.fromhex(x) for x in value["statistics"][key]]
                                for key in ("min", "max", "mean", "std")]
    return result


def compare(path, qtx, ours, upstream, codes):
    """How many values the file has, all equal in both readings."""
    model = renumbered(ours.FromString(path.read_bytes()), upstream)
    model = upstream.FromString(model.SerializeToString())  # as a reader of the file would have it
    run = subprocess.run([qtx, "inspect", "--json", path], capture_output=True, text=True)
    require(run.returncode == 0, f"{path.name}: qtx inspect: {run.stderr.strip()}")
    read = json.loads(run.stdout)["values"]
    require(len(read) == len(values(model)), f"{path.name}: {len(values(model))} values, QTX reads {len(read)}")
    quantized = 0
    for value, other in zip(values(model), read):
        a, b = seen(value, codes), inspected(other)
        require(a == b, f"{path.name}: '{value.name}': {a}, QTX reads {b}")
        quantized += "scale" in a or "scale_tensor" in a
    return quantized


def written_here(ours, folder):
    """A file with what the networks lack: bounds of 0, blocks, several axes, negative zero points, names."""
    model = ours()
    model.ir_version = 10
    for domain, version in (("", 21), ("qtx", 1)):
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
            item = getattr(tensor.quantization, key, None)
            item.extend(content) if isinstance(content, list) else setattr(tensor.quantization, key, content)

    value(graph.input, "folded", 1003, [2, 4], scale=[0.5], zero_point=[-3], quant_min=0, quant_max=0x7F)
    value(graph.input, "blocks", 1022, [2, 4], scale=[1, 2, 4, 2.0 ** -149], zero_point=[-8, 7, 0, -1], axis=[0, 1],
          block_shape=[1, 2])
    value(graph.input, "meant", 1, [2, 4], scale=[0.25], zero_point=[255], storage_type=2, scheme=1)
    graph.input[2].type.tensor_type.statistics.min.append(-1.5)
    graph.input[2].type.tensor_type.statistics.max.append(2.5)
    value(graph.output, "y", 1003, [2, 4], scale=[1], quant_min=-127)
    node = graph.node.add()
    node.op_type = "Add"
    node.input.extend(["folded", "blocks"])
    node.output.append("y")
    path = folder / "written_here.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def check_stock(upstream):
    """A stock model is what it was."""
    data = onnx.helper.make_model(onnx.helper.make_graph(
        [onnx.helper.make_node("Abs", ["x"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", 1, ["n", 4])], [onnx.helper.make_tensor_value_info("y", 1, None)]))
    bytes_of = data.SerializeToString(deterministic=True)
    require(upstream.FromString(bytes_of).SerializeToString(deterministic=True) == bytes_of,
            "a stock model changes when the patched message reads and writes it")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    for program in ("protoc", "patch"):
        if shutil.which(program) is None:
            print(f"skipped: {program} not found")
            sys.exit(77)
    qtx = sys.argv[1]
    default = pathlib.Path(onnx.__file__).parent / "onnx.in.proto"
    base = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else default).read_bytes()
    same = hashlib.sha256(base).hexdigest() == BASE[1]
    print(f"base: {'onnx.in.proto of onnx ' + BASE[0] if same else 'another than that of onnx ' + BASE[0]}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        texts = patched(base, folder)
        if texts is None:
            require(not same, "the diffs do not apply to the base they are of")
            print("skipped: the diffs do not apply to this base")
            sys.exit(77)
        translate = translator()
        pools = {}
        for stage, text in enumerate(texts, 1):
            for ml in (False, True):
                for proto in (2, 3):
                    key = f"stage{stage}{'_ml' if ml else ''}_proto{proto}"
                    pools[key] = compiled(translate(text, proto, ml, "onnx"), folder, key)
        print(f"protoc: {len(pools)} forms compile")
        qtx_text = texts[-1]
        for theirs, own in NUMBERS.items():
            require(qtx_text.count(theirs) == 1, f"the patched text has not one '{theirs}'")
            qtx_text = qtx_text.replace(theirs, own)
        ours = model_class(compiled(translate(qtx_text, 2, True, "onnx"), folder, "qtx_numbers"))
        codes = {n: v.name for v in pools["stage2_ml_proto2"].FindEnumTypeByName(
            "onnx.TensorProto.DataType").values for n in [v.number]}
        files = [written_here(ours, folder)]
        for network in sorted(MODELS.glob("*/*.tflite")):
            files.append(folder / f"{network.parent.name}.onnx")
            run = subprocess.run([qtx, "convert", network, "-o", files[-1]], capture_output=True, text=True)
            require(run.returncode == 0, f"{network.name}: qtx convert: {run.stderr.strip()}")
        for proto in (2, 3):
            upstream = model_class(pools[f"stage2_ml_proto{proto}"])
            check_stock(upstream)
            count = sum(compare(path, qtx, ours, upstream, codes) for path in files)
            print(f"proto{proto}: {count} quantizations in {len(files)} files read as QTX reads them")


if __name__ == "__main__":
    main()
