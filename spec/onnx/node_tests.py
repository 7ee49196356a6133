#!/usr/bin/env python3
"""node_tests.py FOLDER: writes the node tests of the installed onnx that are about quantized operators.

Since they are no longer kept as files in ONNX's repository, they are computed as ONNX's own runner computes them. The
folder is what `qtx power --onnx-node-tests FOLDER` and `qtx validate --suite FOLDER` read. Status 77: no onnx.
"""
import fnmatch
import pathlib
import sys
import warnings

try:
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.loader import load_model_tests
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# Those that `qtx power` chooses.
CHOSEN = ["*quantizelinear*", "*qlinear*", "*matmulinteger*", "*convinteger*"]


def proto(value, name):
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, name)


def write(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for kind, values, infos in (("input", inputs, case.model.graph.input),
                                    ("output", outputs, case.model.graph.output)):
            for i, (value, info) in enumerate(zip(values, infos)):
                (data / f"{kind}_{i}.pb").write_bytes(proto(value, info.name).SerializeToString())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    if folder.exists():
        sys.exit(f"{folder}: is there already")
    warnings.simplefilter("ignore")  # of NumPy, about what the tests compute
    cases = [case for case in load_model_tests(kind="node")
             if any(fnmatch.fnmatch(case.name, glob) for glob in CHOSEN)]
    for case in cases:
        write(case, folder / case.name)
    print(f"onnx {onnx.__version__}: {len(cases)} tests")


if __name__ == "__main__":
    main()
