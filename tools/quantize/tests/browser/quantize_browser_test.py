"""The page of `qtx quantize --report FILE.html` in headless Chromium: what it leads with.

quantize_browser_test.py QTX SOURCE_FOLDER; exit status 77 (skipped) without a browser.
"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.dont_write_bytecode = True  # the source tree stays as it is
QTX, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "conformance/tests/browser"))
import chromium

FOLDER = tempfile.TemporaryDirectory(prefix="qtx-quantize-")


def path(name):
    return os.path.join(FOLDER.name, name)


def make_report():
    """Two convolutions, of which the first has two channels of zeros."""
    random = numpy.random.default_rng(1)
    first = random.normal(size=(8, 3, 3, 3)).astype(numpy.float32)
    first[[3, 7]] = 0
    second = random.normal(size=(4, 8, 3, 3)).astype(numpy.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "first"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
         helper.make_node("Conv", ["r", "second"], ["y"])], "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 4, 4])],
        [numpy_helper.from_array(first, "first"), numpy_helper.from_array(second, "second")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path("net.onnx"))
    numpy.save(path("x.npy"), random.normal(size=(1, 3, 8, 8)).astype(numpy.float32))
    run = lambda *arguments: subprocess.run([QTX, *arguments, "--data", path("x.npy")], check=True, stdout=subprocess.DEVNULL)
    run("calibrate", path("net.onnx"), "--per-axis", "-o", path("measured.onnx"))
    run("quantize", path("measured.onnx"), "-o", path("net8.onnx"), "--report", path("report.html"))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_report()
        cls.page = chromium.shared()
        cls.page.size(1280, 900)
        cls.page.media()

    def setUp(self):
        self.page.open("file://" + path("report.html"))

    def text(self, selector):
        return self.page.run("document.querySelector('%s').innerText" % selector)

    def test_leads_with_the_error_of_the_output_and_the_worst_layers(self):
        self.assertRegex(self.text("#verdict"), r"^Error of the output: y \d+\.\d dB$")
        self.assertRegex(self.text("#about"), r"^Worst layers: \w+(/quantized)? \d+\.\d dB, ")
        self.assertTrue(self.page.run("document.querySelector('#errors').compareDocumentPosition("
                                      "document.querySelector('#findings')) === Node.DOCUMENT_POSITION_FOLLOWING"))

    def test_tells_once_of_channels_that_are_zero_everywhere(self):
        self.assertEqual(self.text(".findings").count("(3, 7)"), 1)

    def test_axe_finds_nothing(self):
        if not os.path.exists(chromium.AXE):
            self.skipTest("no axe-core: conformance/tests/browser/install brings it")
        for width, scheme in ((1280, "light"), (390, "dark")):
            self.page.size(width, 900, mobile=width == 390)
            self.page.media(scheme)
            self.assertEqual(self.page.axe(), [], scheme)


if __name__ == "__main__":
    if chromium.find() is None:
        print("no Chromium: skipped")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
