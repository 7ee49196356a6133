#!/usr/bin/env python3
"""Holds the expansion of QuantLSTMCell to Brevitas: lstm_cells.py QTX

Each LSTM of Brevitas is exported as QONNX, converted, checked and run by the reference, and its results are held to those of the
module itself in PyTorch; then lowered and run in ONNX Runtime, and lifted to the same model. Needs brevitas, onnx, onnxruntime and torch.
"""
import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime
import torch
from brevitas.export import export_qonnx
from brevitas.graph.calibrate import calibration_mode
from brevitas.nn import QuantLSTM

STEPS, SIZE, HIDDEN = 7, 6, 5
NEAR = 1e-6  # of the greatest; a result that is rounded otherwise moves by 1 / 128
CASES = {
    "batch_first": dict(batch_first=True),
    "steps_first": dict(batch_first=False),
    "both_ways": dict(batch_first=True, bidirectional=True),
    "coupled": dict(batch_first=True, coupled_input_forget_gates=True),
    "two_layers": dict(batch_first=False, num_layers=2),
    "no_bias": dict(batch_first=True, bias=False),
}


class Net(torch.nn.Module):
    """The results of a QuantLSTM, without its states."""

    def __init__(self, **options):
        super().__init__()
        self.cells = QuantLSTM(SIZE, HIDDEN, **options)

    def forward(self, x):
        return self.cells(x)[0]


def qtx(program, *words):
    done = subprocess.run([program, *map(str, words), "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


def hold(program, options, folder):
    torch.manual_seed(30)
    shape = (1, STEPS, SIZE) if options["batch_first"] else (STEPS, 1, SIZE)
    net = Net(**options).eval()
    with torch.no_grad(), calibration_mode(net):
        for _ in range(4):
            net(torch.randn(shape))
    x = torch.randn(shape)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        expected = net(x)
        export_qonnx(net, args=(x,), export_path=str(folder / "stock.onnx"), input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
    expected = getattr(expected, "value", expected).numpy()
    qtx(program, "convert", folder / "stock.onnx", "-o", folder / "extended.onnx")
    qtx(program, "check", folder / "extended.onnx")
    np.save(folder / "x.npy", x.numpy())
    qtx(program, "run", folder / "extended.onnx", "--input", folder / "x.npy", "--output-dir", folder)
    qtx(program, "lower", folder / "extended.onnx", "-o", folder / "lowered.onnx")
    qtx(program, "lift", folder / "lowered.onnx", "-o", folder / "lifted.onnx")
    qtx(program, "diff", folder / "extended.onnx", folder / "lifted.onnx")
    session = onnxruntime.InferenceSession(str(folder / "lowered.onnx"), providers=["CPUExecutionProvider"])
    greatest = float(np.max(np.abs(expected)))
    found = {"exact": np.load(folder / "y.npy"), "lowered": session.run(None, {"x": x.numpy()})[0]}
    far = {name: float(np.max(np.abs(array - expected))) / greatest for name, array in found.items()}
    if max(far.values()) > NEAR:
        raise RuntimeError(f"results differ: {far}")
    return far


def main():
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    failed = 0
    for name, options in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(name, hold(sys.argv[1], options, pathlib.Path(folder)))
            except Exception as error:  # pylint: disable=broad-except
                failed += 1
                print(name, "FAILED", str(error)[:400])
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
