"""The site of `qtx scoreboard` in headless Chromium, from the reports that the repository keeps.

scoreboard_browser_test.py QTX SOURCE_FOLDER; exit status 77 (skipped) without a browser.
"""

import glob
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
QTX, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "conformance/tests/browser"))
import chromium

FOLDER = tempfile.TemporaryDirectory(prefix="qtx-scoreboard-")
REPORTS = sorted(glob.glob(os.path.join(SOURCE, "scoreboard/reports/*.json.gz")))


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.join(FOLDER.name, "site")
        subprocess.run([QTX, "scoreboard", *REPORTS, "--deviations", os.path.join(SOURCE, "scoreboard/deviations"), "-o", cls.folder],
                       check=True, stdout=subprocess.DEVNULL)
        cls.pages = sorted(os.path.relpath(name, cls.folder) for name in
                           glob.glob(os.path.join(cls.folder, "**/*.html"), recursive=True))
        cls.page = chromium.shared()

    def open(self, name):
        self.page.open("file://" + os.path.join(self.folder, name))

    def test_there_is_a_page_for_each_report(self):
        self.assertGreaterEqual(len(self.pages), 3 + len(REPORTS))

    def test_every_link_leads_somewhere(self):
        anchors, links = {}, []
        for name in self.pages:
            self.open(name)
            anchors[name] = set(self.page.run("[...document.querySelectorAll('[id]')].map(e => e.id)"))
            links += [(name, href) for href in self.page.run("[...document.querySelectorAll('a')].map(e => e.getAttribute('href'))")]
        for name, href in links:
            if href.startswith("https://"):
                continue
            path, _, anchor = href.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            self.assertIn(target, anchors, f"{name}: {href}")
            if anchor:
                self.assertIn(anchor, anchors[target], f"{name}: {href}")

    def test_pages_fit_and_are_legible(self):
        for name in self.pages:
            for width, scheme in ((1280, "light"), (390, "dark")):
                with self.subTest(name=name, width=width):
                    self.page.size(width, 900)
                    self.page.media(scheme)
                    self.open(name)
                    self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), width)
                    self.assertEqual(self.page.run(chromium.CONTRAST), [])
        self.assertEqual(self.page.errors, [])
        self.assertEqual([url for url in self.page.requests if not url.startswith(("file:", "about:"))], [])

    @unittest.skipUnless(os.path.exists(chromium.AXE), "no axe-core: conformance/tests/browser/install brings it")
    def test_axe_has_no_finding(self):
        for name in ("index.html", "differs.html", self.pages[-1]):
            self.open(name)
            self.assertEqual(self.page.axe(), [], name)


if __name__ == "__main__":
    if chromium.find() is None:
        print("skipped: no Chromium")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
