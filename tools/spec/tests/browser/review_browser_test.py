"""The page of `qtx review --html` in headless Chromium.

review_browser_test.py QTX SOURCE_FOLDER [--shots FOLDER]; exit status 77 (skipped) without a browser.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
QTX, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "conformance/tests/browser"))
import chromium

FOLDER = tempfile.TemporaryDirectory(prefix="qtx-review-")
PROPOSAL = os.path.join(SOURCE, "spec/proposals/0003-offset-before-rounding")
BACKENDS = ["--backend", "faulty:none", "--backend", "faulty:offset_before_rounding"]


def path(*names):
    return os.path.join(FOLDER.name, *names)


def make_suite():
    """Cases of Cast: 150 with an odd offset, whose ties flip, and one with an even one."""
    os.makedirs(path("suite"))
    case = """id: cast/%s
spec: cast.S1
why: ties
op: {type: Cast, attributes: {to: int8q}}
inputs: {x: {type: float, data: [0.5, 1.5, 2.0]}}
expect: {y: {type: int8q, scale: [1.0], offset: [%d]%s}}
"""
    cases = [case % ("odd_%d" % i, 2 * i - 125, "") for i in range(120)]
    cases += [case % ("even", 4, ""), case % ("stated", 1, ", data: [1, 3, 3]")]
    with open(path("suite", "cases.yaml"), "w", encoding="utf-8") as file:
        file.write("---\n".join(cases))


def review(name, *arguments, status=0):
    """The page and the JSON of one review."""
    result = subprocess.run([QTX, "review", *arguments, "--suite", path("suite"), "--html", path(name + ".html"),
                             "--json", path(name + ".json")], stdout=subprocess.DEVNULL)
    assert result.returncode == status, result.returncode
    with open(path(name + ".json"), encoding="utf-8") as file:
        return json.load(file)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_suite()
        os.makedirs(path("models"))
        shutil.copy(os.path.join(SOURCE, "conformance/cases/models/aww/model.onnx"), path("models", "aww.onnx"))
        with open(path("models", "none.onnx"), "w", encoding="utf-8") as file:
            file.write("no model")
        cls.data = review("whole", PROPOSAL, *BACKENDS, "--models", path("models"))
        cls.page = chromium.shared()

    def setUp(self):
        self.page.size(1280, 900)
        self.page.media()

    def tearDown(self):
        self.assertEqual(self.page.errors, [], "the console must stay empty")
        self.assertEqual([url for url in self.page.requests if not url.startswith(("file:", "about:"))], [],
                         "the page must not ask anybody else")

    def open(self, name="whole"):
        self.page.open("file://" + path(name + ".html"))

    def all(self, selector, what="e.textContent"):
        return self.page.run("[...document.querySelectorAll(%s)].map(e => %s)" % (json.dumps(selector), what))

    def search(self, words):
        self.page.run("""(() => { const q = document.querySelector('.filters').elements.q; q.value = %s;
          q.dispatchEvent(new Event('input', {bubbles: true})); })()""" % json.dumps(words))

    def test_heads_with_the_proposal_and_its_figures(self):
        self.open()
        self.assertEqual(self.all("h1")[0], "Review of proposal 0003")
        self.assertIn(self.data["proposal"]["title"], self.all("#verdict")[0])
        self.assertIn(self.data["proposal"]["status"], self.all("#verdict")[0])
        self.assertIn("It flips 121 of 122 cases", self.all("#about")[0])

    def test_puts_the_sides_of_an_example_next_to_each_other(self):
        self.open()
        shown = self.all("#examples .list > li .id")
        self.assertEqual(shown, [example["id"] for example in self.data["examples"]])
        sides = self.all("#examples .list > li:first-child .value")
        first = self.data["examples"][0]
        self.assertEqual(sides, [first["before"]["obtained"], first["after"]["obtained"]])
        boxes = self.all("#examples .list > li:first-child .sides > div",
                         "[e.getBoundingClientRect().top, e.getBoundingClientRect().left]")
        self.assertEqual(boxes[0][0], boxes[1][0])
        self.assertLess(boxes[0][1], boxes[1][1])
        self.assertEqual(set(self.all("#examples .mark.good")), {"\u2713 ok"})

    def test_lists_flips_in_batches_and_finds_them(self):
        self.open()
        self.assertEqual(len(self.all("#cases .list > li")), 100)
        self.page.run("document.querySelector('#more').click()")
        self.assertEqual(len(self.all("#cases .list > li")), 121)
        self.assertTrue(self.page.run("document.querySelector('#more').hidden"))
        self.search("odd_7 ")
        self.assertEqual(self.all("#cases .list > li .id")[0], "cast/odd_7")
        self.search("")
        self.page.run("document.querySelector('input[name=stated]').click()")
        self.assertEqual(self.all("#cases .list > li .id"), ["cast/stated"])
        # 0.5 and 1.5 with offset 1: 0+1, 2+1; 1.5 to 2, 2.5 to 2.
        self.assertEqual(self.all("#cases .list .value"), ["y int8q[3] 1 3 3", "y int8q[3] 2 2 3"])
        self.assertEqual(self.all("#cases .list td"), ["0", "1", "2", "1", "3", "2"])

    def test_says_which_backends_stop_conforming(self):
        self.open()
        marks = self.all("#backends .list > li .mark")
        self.assertIn("would stop conforming", marks[0])
        names = self.all("#backends .list > li:first-child .names li")
        self.assertEqual(names, self.data["backends"][0]["newly_fails"])

    def test_says_what_came_of_the_models(self):
        self.open()
        self.assertIn("2 models below", self.all("#models-say")[0])
        self.assertIn("none.onnx", self.all("#models .list .id"))

    def test_shows_the_text(self):
        self.open()
        headings = self.all("#text .prose h2")
        self.assertEqual(headings[0], "Problem")
        self.assertEqual(headings[-1], "Decision")
        self.assertGreater(len(self.all("#text .prose table tr")), 4)

    def test_shows_an_example_that_differs(self):
        folder = path("0003-offset-before-rounding")
        shutil.copytree(PROPOSAL, folder)
        file = os.path.join(folder, "examples/ties.yaml")
        with open(file, encoding="utf-8") as source:
            text = source.read()
        with open(file, "w", encoding="utf-8") as target:
            target.write(text.replace("data: [6, 0, 6, 4]", "data: [6, 0, 6, 5]"))
        review("differs", folder, "--backend", "faulty:none", status=1)
        self.open("differs")
        self.assertEqual(len(self.all("#examples .list > li.bad")), 1)
        self.assertIn("1 of ", self.all("#about")[0])
        self.assertIn("y int8q[4] 6 0 6 5", self.all("#examples .list > li.bad .sides p")[0])

    def test_says_that_nothing_flips(self):
        review("nothing", os.path.join(SOURCE, "spec/proposals/0002-must-understand"), "--backend", "faulty:none")
        self.open("nothing")
        self.assertIn("flips 0 of 122 cases", self.all("#flips-say")[0])
        self.assertIn("none stops conforming", self.all("#backends-say")[0])
        self.assertTrue(self.page.run("document.querySelector('#models').hidden"))

    def test_fits_a_phone(self):
        self.page.size(390, 844, mobile=True)
        self.open()
        self.page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 390)

    def test_is_for_everybody(self):
        """Contrast by our own rule, of one ground; the rest by axe-core, where it is."""
        for width, scheme in ((1280, "light"), (390, "dark")):
            self.page.size(width, 900, mobile=width == 390)
            self.page.media(scheme)
            self.open()
            self.page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
            self.assertEqual(self.page.run(chromium.CONTRAST), [], scheme)
            if os.path.exists(chromium.AXE):
                self.assertEqual(self.page.axe(), [], scheme)
        if not os.path.exists(chromium.AXE):
            self.skipTest("no axe-core: conformance/tests/browser/install brings it")

    def test_shots(self):
        if "--shots" not in sys.argv:
            self.skipTest("no --shots FOLDER")
        folder = sys.argv[sys.argv.index("--shots") + 1]
        self.open()
        for name, width, theme in (("light", 1280, "light"), ("dark", 1280, "dark"), ("phone", 390, "light"),
                                   ("phone_dark", 390, "dark")):
            self.page.media(theme)
            for part in ("head", "cases", "backends", "models", "text"):
                self.page.size(width, 1400)
                self.page.run("document.querySelector('#%s').scrollIntoView()" % part)
                self.page.screenshot(os.path.join(folder, "%s_%s.png" % (name, part)))


if __name__ == "__main__":
    if chromium.find() is None:
        print("no Chromium: skipped")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
