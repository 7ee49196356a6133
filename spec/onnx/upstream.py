"""onnx.proto as it would be with the diffs of this folder, made from the installed onnx with patch and protoc."""
import hashlib
import importlib.util
import pathlib
import subprocess

import onnx
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import GetMessageClass

HERE = pathlib.Path(__file__).resolve().parent
DIFFS = ("quantized_types.diff", "annotations.diff", "weights.diff")
BASE = ("1.23.2", "1857814b80aa2e9bdfdf4a2ddacf281934253578d7294f31c866cf2397bade90")
# Upstream's number of a field of TypeProto.Tensor, and QTX's.
NUMBERS = {"quantization = 3;": "quantization = 1001;", "statistics = 4;": "statistics = 1002;"}


class Failure(Exception):
    pass


def base():
    return (pathlib.Path(onnx.__file__).parent / "onnx.in.proto").read_bytes()


def is_base(data):
    return hashlib.sha256(data).hexdigest() == BASE[1]


def patched(data, folder):
    """The text of onnx.in.proto after each diff; None where they do not apply."""
    target = folder / "onnx/onnx.in.proto"
    target.parent.mkdir()
    target.write_bytes(data)
    texts = []
    for diff in DIFFS:
        run = subprocess.run(["patch", "--batch", "--forward", "--fuzz=0", "-p1", "-d", folder, "-i", HERE / diff],
                             capture_output=True, text=True)
        if run.returncode:
            return None
        texts.append(target.read_text())
    return texts


def translate(text, proto=2, ml=True):
    """onnx.proto or onnx-ml.proto of an onnx.in.proto, by ONNX's own generator."""
    path = pathlib.Path(onnx.__file__).parent / "gen_proto.py"
    spec = importlib.util.spec_from_file_location("gen_proto", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.translate(text, proto, ml, "onnx")


def with_qtx_numbers(text):
    for theirs, own in NUMBERS.items():
        if text.count(theirs) != 1:
            raise Failure(f"the patched text has not one '{theirs}'")
        text = text.replace(theirs, own)
    return text


def compiled(text, folder, name):
    """The pool of a .proto's messages."""
    (folder / f"{name}.proto").write_text(text)
    run = subprocess.run(["protoc", f"--descriptor_set_out={folder / name}.set", f"--proto_path={folder}",
                          f"{name}.proto"], capture_output=True, text=True)
    if run.returncode:
        raise Failure(f"{name}.proto: protoc: {run.stderr.strip()}")
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString((folder / f"{name}.set").read_bytes()).file:
        pool.Add(file)
    return pool


def model_class(pool):
    return GetMessageClass(pool.FindMessageTypeByName("onnx.ModelProto"))


def values(model):
    """In the order of `qtx inspect`."""
    return [*model.graph.input, *model.graph.value_info, *model.graph.output]


def renumbered(model, upstream):
    """A model in QTX's numbers, of a class that has these, as one of upstream's."""
    result = upstream.FromString(model.SerializeToString())
    for source, target in zip(values(model), values(result)):
        if not source.type.HasField("tensor_type"):
            continue
        old, new = source.type.tensor_type, target.type.tensor_type
        new.DiscardUnknownFields()
        for field in ("quantization", "statistics"):
            if old.HasField(field) and field in new.DESCRIPTOR.fields_by_name:
                getattr(new, field).ParseFromString(getattr(old, field).SerializeToString())
    return result
