"""What the tests of the page share: a browser with the page of a model. The arguments are those of the tests."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
QTX, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "conformance/tests/browser"))
import chromium

FOLDER = tempfile.TemporaryDirectory(prefix="qtx-page-")
NODES = "/usr/share/libonnx-testdata/data/node"
MODELS = os.path.join(SOURCE, "conformance/cases/models")


def path(name):
    return os.path.join(FOLDER.name, name)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = chromium.Page(chromium.find())

    @classmethod
    def tearDownClass(cls):
        cls.page.close()

    def setUp(self):
        self.page.size(1280, 900)
        self.page.media()

    def tearDown(self):
        self.assertEqual(self.page.errors, [], "the console must stay empty")
        self.assertEqual([url for url in self.page.requests if not url.startswith(("file:", "about:"))], [],
                         "the page must not ask anybody else")

    def open(self, net):
        return self.open_file(os.path.join(MODELS, net, "model.onnx"))

    def open_file(self, model):
        """Gives the seconds until the page's script has run."""
        subprocess.run([QTX, "inspect", model, "--html", path("page.html")], check=True)
        self.model = json.loads(subprocess.run([QTX, "inspect", model, "--json", "-", "--findings"], check=True,
                                               capture_output=True).stdout)
        return self.page.open("file://" + path("page.html"))

    def all(self, selector, what="e.textContent"):
        return self.page.run("[...document.querySelectorAll(%s)].map(e => %s)" % (json.dumps(selector), what))

    def click(self, selector):
        self.page.run("document.querySelector(%s).click()" % json.dumps(selector))


def main():
    if chromium.find() is None:
        print("no Chromium: skipped")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
