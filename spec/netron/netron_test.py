"""Opens QTX's files in Netron: netron_test.py QTX; exit status 77 (skipped) without PyPI's netron and onnx, or a browser.

The lowered and the calibrated form open in Netron as it is, the extended form in one with qtx.diff.
"""
import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../conformance/tests/browser"))
import chromium  # noqa: E402

try:
    import netron
    import onnx
    from onnx import TensorProto, helper
except ImportError:
    netron = None

# Clicks on the node whose operator is NAME, opens all that can be opened, and gives the text of the sidebar.
SIDEBAR = """(async name => {
  const pause = () => new Promise(resolve => setTimeout(resolve, 200));
  const item = [...document.querySelectorAll('.node .node-item')].find(e => e.textContent === name);
  if (!item) return null;
  item.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  for (let i = 0; i < 50 && !document.querySelector('.sidebar-item-value-expander'); ++i) await pause();
  for (const e of document.querySelectorAll('.sidebar-item-value-expander')) {
    if (e.innerText === '+') { e.click(); await pause(); }
  }
  return document.querySelector('.sidebar-content')?.innerText ?? null;
})('NAME')"""


def quantized_model(path):
    """x -> QuantizeLinear -> DequantizeLinear -> Relu -> ..., of UINT8, scale 0.25 and zero point 3."""
    parameters = [helper.make_tensor("scale", TensorProto.FLOAT, [], [0.25]),
                  helper.make_tensor("zero", TensorProto.UINT8, [], [3])]
    nodes = []
    for name, result in (("x", "a"), ("b", "y")):
        nodes.append(helper.make_node("QuantizeLinear", [name, "scale", "zero"], [name + "_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_q", "scale", "zero"], [result]))
    nodes.insert(2, helper.make_node("Relu", ["a"], ["b"]))
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], parameters)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


class Netron(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="qtx-netron-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        quantized_model(cls.at("stock.onnx"))
        cls.qtx("convert", cls.at("stock.onnx"), "-o", cls.at("extended.onnx"))
        cls.qtx("lower", cls.at("extended.onnx"), "-o", cls.at("lowered.onnx"))
        # Relu alone, measured on its own input.
        relu = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                                 [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
                                 [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])])
        onnx.save(helper.make_model(relu, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  cls.at("float.onnx"))
        with open(cls.at("sample.pb"), "wb") as file:
            file.write(helper.make_tensor("x", TensorProto.FLOAT, [1, 2], [-1.5, 4]).SerializeToString())
        cls.qtx("calibrate", cls.at("float.onnx"), "--data", cls.at("sample.pb"), "-o", cls.at("calibrated.onnx"))

    @classmethod
    def at(cls, name):
        return os.path.join(cls.folder, name)

    @staticmethod
    def qtx(*arguments):
        subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.DEVNULL)

    def sidebar(self, module, path, node):
        """What Netron, which is `module`, says of a node."""
        with contextlib.redirect_stdout(sys.stderr):
            host, port = module.start(path, ("localhost", 0), browse=False)
        try:
            with chromium.Page(chromium.find()) as page:
                page.size(1400, 1000)
                page.open("http://%s:%d/" % (host, port))
                deadline = time.monotonic() + chromium.SECONDS
                while time.monotonic() < deadline:
                    # It asks for consent to cookies, and tells of what it cannot read in the same place.
                    page.run("document.getElementById('message-button')?.click()")
                    text = page.run(SIDEBAR.replace("NAME", node))
                    if text:
                        return text
                    time.sleep(0.3)
                self.fail("Netron shows no node %s: %s" % (node, page.run("document.body.innerText")))
        finally:
            module.stop((host, port))

    def test_shows_parameters_of_the_lowered_form(self):
        text = self.sidebar(netron, self.at("lowered.onnx"), "Relu")
        self.assertIn("UINT8Q, scale 0.25, offset 3", text)
        self.assertIn("SCALE_TENSOR = ", text)

    def test_shows_statistics_of_the_calibrated_form(self):
        text = self.sidebar(netron, self.at("calibrated.onnx"), "Relu")
        self.assertIn("min -1.5, max 4, mean 1.25, std 2.75 of 2 values", text)
        self.assertIn("min 0, max 4, mean 2, std 2 of 2 values", text)

    def test_shows_the_extended_form_with_the_patch(self):
        source = self.at("patched")
        shutil.copytree(os.path.dirname(netron.__file__), os.path.join(source, "patched_netron"))
        subprocess.run(["patch", "--silent", "-p2", "-d", os.path.join(source, "patched_netron"), "-i",
                        os.path.join(HERE, "qtx.diff")], check=True)
        sys.path.insert(0, source)
        text = self.sidebar(importlib.import_module("patched_netron"), self.at("extended.onnx"), "Relu")
        self.assertIn("tensor: uint8q[1,4]", text)
        self.assertIn("scale = 0.25", text)
        self.assertIn("offset = 3", text)


if __name__ == "__main__":
    if netron is None or chromium.find() is None:
        print("skipped: netron_test.py needs netron and onnx (backends/install onnxruntime) and Chromium")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
