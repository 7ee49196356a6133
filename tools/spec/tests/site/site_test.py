"""`qtx spec html` as a program: what it builds holds together, is the same each time, and harms nothing.

site_test.py QTX SOURCE_FOLDER
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
QTX, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import links_check

FOLDER = tempfile.TemporaryDirectory(prefix="qtx-site-")
SPEC = os.path.join(SOURCE, "spec")
MOST_INDEX = 1.5  # bytes of the search index for each byte of Markdown


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, text):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)


def html(*arguments):
    return subprocess.run([QTX, "spec", "html", *arguments], capture_output=True, text=True)


def files(folder):
    """Path below `folder` -> bytes."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                found[os.path.relpath(os.path.join(root, name), folder)] = file.read()
    return found


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run = html("-o", path("site"), "--no-results")
        assert run.returncode == 0, run.stderr
        cls.files = files(path("site"))

    def test_every_link_and_anchor_is_there(self):
        complaints, pages, links = links_check.check(path("site"))
        self.assertEqual(complaints, [])
        self.assertGreater(links, pages)

    def test_results_hold_together_too(self):
        subprocess.run([QTX, "validate", "--backend", "reference", "--filter", "add/*", "--filter", "exact/*", "--json", path("r.json")],
                       check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(html("-o", path("full"), "--report", path("r.json")).returncode, 0)
        self.assertTrue(os.path.exists(path("full/results/ops/add.html")))
        self.assertEqual(links_check.check(path("full"))[0], [])

    def test_every_chapter_has_its_page(self):
        for root, _, names in os.walk(SPEC):
            for name in names:
                below = os.path.relpath(os.path.join(root, name), SPEC)
                if not name.endswith(".md") or below.startswith("templates/"):
                    continue
                page = below.removesuffix("README.md") + "index" if name == "README.md" else below.removesuffix(".md")
                self.assertIn(page + ".html", self.files)

    def test_every_clause_has_its_anchor(self):
        run = subprocess.run(["grep", "-rhoE", r"^(- |\| ?)?\*\*[a-z0-9_]+\.[CS][0-9]+\*\*", "--include=*.md",
                              SPEC + "/ops", SPEC + "/format", SPEC + "/arithmetic", SPEC + "/backend_protocol.md"],
                             capture_output=True, text=True, check=True)
        clauses = [line.split("**")[1] for line in run.stdout.splitlines()]
        self.assertGreater(len(clauses), 800)
        text = "\n".join(data.decode() for name, data in self.files.items() if name.endswith(".html"))
        for clause in clauses:
            self.assertIn('id="%s"' % clause, text)

    def test_is_the_same_each_time(self):
        html("-o", path("again"), "--no-results")
        self.assertEqual(self.files, files(path("again")))

    def test_index_of_the_search_is_bounded(self):
        markdown = sum(len(data) for name, data in files(SPEC).items() if name.endswith(".md"))
        self.assertLess(len(self.files["search.js"]), MOST_INDEX * markdown)

    def test_hostile_text_stays_text(self):
        write("hostile/README.md", "# <img src=x onerror=alert(1)>\n\n<script>alert(1)</script>\n\n"
              "[a](javascript:alert(1)) [b](../../etc/passwd) [c](data:text/html,x) ![d](https://example.com/x.png)\n\n"
              "**x.S1** \"><script>\n\n**x.S1** twice\n\n```yaml\" onload=\"x\n</pre><script>x</script>\n```\n\n"
              "| <iframe> | **x.S2** |\n|---|---|\n| </table><style>*{} | `</code><svg onload=x>` |\n")
        write("hostile/glossary.md", "# G\n\n| term | meaning |\n|---|---|\n| <b>, \" onclick=\"x | y |\n")
        run = html("-o", path("hostile-site"), "--no-results", "--spec", path("hostile"))
        self.assertEqual(run.returncode, 0, run.stderr)
        complaints, _, _ = links_check.check(path("hostile-site"))
        self.assertEqual(complaints, [])
        for name, data in files(path("hostile-site")).items():
            if name.endswith(".html"):
                for tag in (b"<img", b"<iframe", b"<style", b"<svg", b"<script>"):
                    self.assertNotIn(tag, data)

    def refused(self, status, where, says, *arguments):
        run = html(*arguments)
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertEqual(run.stderr.count("\n"), 1, run.stderr)
        self.assertTrue(run.stderr.startswith(where), run.stderr)
        self.assertIn(says, run.stderr)

    def test_refuses_a_folder_of_others(self):
        write("others/notes.txt", "mine")
        self.refused(4, path("others"), "notes.txt", "-o", path("others"), "--no-results")
        self.assertEqual(files(path("others")), {"notes.txt": b"mine"})
        self.refused(4, path("none"), "found no folder", "-o", path("none/site"), "--no-results")

    def test_a_bad_text_leaves_the_site_as_it_is(self):
        shutil.copytree(path("site"), path("kept"))
        write("bad/README.md", "# T\n\n```yaml\nid: x\n")
        self.refused(3, path("bad/README.md:3"), "without an end", "-o", path("kept"), "--no-results", "--spec", path("bad"))
        self.assertEqual(files(path("kept")), self.files)

    def test_refuses_wrong_input(self):
        write("report.json", '{"suite": 3}')
        self.refused(3, path("report.json"), "", "-o", path("x"), "--report", path("report.json"))
        self.refused(3, path("nowhere"), "", "-o", path("x"), "--no-results", "--spec", path("nowhere"))
        self.assertEqual(html("-o", path("x"), "--no-results", "--report", "r.json").returncode, 2)
        self.assertEqual(html().returncode, 2)


class Checker(unittest.TestCase):
    """The checker of links finds what is wrong."""

    def complaints(self, page):
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as file:
            file.write(page)
        return links_check.check(folder)[0]

    def test_takes_what_is_right(self):
        self.assertEqual(self.complaints('<p id="a"><a href="#a">x</a><a href="index.html#a">x</a><a href="https://x/">x</a>'), [])

    def test_finds_each_fault(self):
        for page in ('<a href="none.html">', '<a href="#none">', '<p id="a"><p id="a">', '<a href="javascript:x">', '<a href="//x/y">',
                     '<script src="https://x/">', '<img src="https://x/">', '<p onclick="x">', '<script>x</script>', '<iframe>'):
            self.assertEqual(len(self.complaints(page)), 1, page)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
