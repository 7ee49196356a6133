"""The page of `qtx inspect --html` in headless Chromium: its list, findings and figures.

page_browser_test.py QTX SOURCE_FOLDER [--shots FOLDER]; exit status 77 (skipped) without a browser.
"""

import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
from inspect_page import NODES, QTX, PageTest, main, path


class Page(PageTest):
    def search(self, words):
        self.page.run("""(() => { const q = document.querySelector('.filters').elements.q; q.value = %s;
          q.dispatchEvent(new Event('input', {bubbles: true})); })()""" % json.dumps(words))

    def shown(self):
        return self.all(".list > li:not([hidden]) .op")

    def test_lists_inputs_and_nodes_in_order(self):
        self.open("resnet8")
        expected = ["input"] * len(self.model["inputs"]) + [node["op_type"] for node in self.model["nodes"]]
        self.assertEqual(self.shown(), expected)

    def test_says_what_the_json_says(self):
        self.open("resnet8")
        values = {finding["value"] for finding in self.model["findings"]}
        verdict = self.all("#verdict")[0]
        self.assertIn("%d value" % len(values) if values else "Nothing looks wrong", verdict)
        if self.page.run("!document.querySelector('#all-findings').hidden"):
            self.click("#all-findings")
        self.assertEqual(self.all(".findings .says"), [finding["message"] for finding in self.model["findings"]])

    def test_a_node_opens_on_its_values(self):
        self.open("resnet8")
        conv = [node["op_type"] for node in self.model["nodes"]].index("Conv")
        node = self.model["nodes"][conv]
        self.click(".list > li:nth-child(%d) .row" % (len(self.model["inputs"]) + conv + 1))
        described = self.all(".open .value", "e.dataset.value")
        self.assertIn(node["outputs"][0], described)
        self.assertIn(node["inputs"][1], described)
        # One scale for each output channel, and a histogram of the weights.
        weights = next(value for value in self.model["values"] if value["name"] == node["inputs"][1])
        channels = self.all(".open .value svg", "e.getAttribute('aria-label')")
        self.assertIn("Ranges of the %d channels of %s" % (len(weights["scale"]), weights["name"]), channels)
        self.assertIn("Histogram of " + weights["name"], channels)

    def test_finds_by_operator_and_name(self):
        self.open("aww")
        self.search("softmax")
        self.assertEqual(set(self.shown()), {"Softmax"})
        self.search("nothing has this name")
        self.assertEqual(self.shown(), [])

    def test_figures_lie_inside_their_frames(self):
        self.open("toycar")
        for row in range(1, 6):
            self.click(".list > li:nth-child(%d) .row" % row)
        boxes = self.all(".chart path, .chart rect", "(() => { const b = e.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; })()")
        self.assertTrue(boxes)
        for left, top, right, bottom in boxes:
            self.assertTrue(-1 <= left <= right <= 501 and -1 <= top <= bottom <= 191, (left, top, right, bottom))

    def test_fits_a_phone(self):
        self.page.size(390, 844)
        self.open("mobilenet_v1_0.25_128")
        self.click(".list > li:nth-child(2) .row")
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 390)

    @unittest.skipUnless(os.path.isdir(NODES), "libonnx-testdata is not installed")
    def test_report_shows_its_errors_worst_first(self):
        node = os.path.join(NODES, "test_add")
        for end in ("html", "json"):
            subprocess.run([QTX, "quantize", node + "/model.onnx", "--data", node + "/test_data_set_0", "-o", path("add.onnx"), "--report",
                            path("add." + end)], check=True, stdout=subprocess.DEVNULL)
        with open(path("add.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.page.open("file://" + path("add.html"))
        self.assertEqual(self.all("#errors tbody td:first-child"), [layer["output"]["name"] for layer in report["layers"]])
        self.assertEqual(self.all("#errors tbody td:nth-child(4)"),
                         ["%.1f dB" % layer["output"]["errors"]["sqnr_db"] for layer in report["layers"]])
        self.click("#errors tbody button")
        self.assertIn(report["layers"][0]["output"]["name"], self.all(".open .value", "e.dataset.value"))
        self.assertIn("SQNR", self.all(".open .errors dt"))
        self.page.run("""(() => { const s = $('.tools').elements.overlay; s.value = 'error';
          s.dispatchEvent(new Event('change', {bubbles: true})); })()""")
        self.assertIn("%.1f dB" % report["layers"][0]["output"]["errors"]["sqnr_db"], self.all(".box .words"))

    def test_shots(self):
        if "--shots" not in sys.argv:
            self.skipTest("no --shots FOLDER")
        folder = sys.argv[sys.argv.index("--shots") + 1]
        self.open("resnet8")
        self.click(".list > li:nth-child(3) .row")
        for name, width, height, theme in (("light", 1280, 1600, "light"), ("dark", 1280, 1600, "dark"), ("phone", 390, 1600, "light")):
            self.page.size(width, height)
            self.page.media(theme)
            self.page.screenshot(os.path.join(folder, name + ".png"))


if __name__ == "__main__":
    main()
