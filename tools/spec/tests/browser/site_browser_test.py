"""The site of `qtx spec html` in headless Chromium.

site_browser_test.py QTX SOURCE_FOLDER [--shots FOLDER] [--speed]; exit status 77 (skipped) without a browser.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
QTX, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "conformance/tests/browser"))
import chromium

FOLDER = tempfile.TemporaryDirectory(prefix="qtx-site-")
SITE = os.path.join(FOLDER.name, "site")
REPORT = os.path.join(FOLDER.name, "report.json")
PHONE = 360  # px

# Elements that reach beyond the window, but for what lies in something that scrolls by itself.
OVERFLOW = """[...document.querySelectorAll('main *, header *')].filter(e => {
  const holder = e.closest('.scroll, .block, .formula > div');
  return e.checkVisibility() && !e.closest('.hide, #found') && (!holder || holder === e) &&
    e.getBoundingClientRect().right > innerWidth + 1;
}).map(e => e.outerHTML.slice(0, 100))"""


def setUpModule():
    subprocess.run([QTX, "validate", "--backend", "reference", "--backend", "x86", "--filter", "conv/*", "--filter", "tflite/*",
                    "--json", REPORT], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([QTX, "spec", "html", "-o", SITE, "--report", REPORT], check=True, stdout=subprocess.DEVNULL)


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = chromium.Page(chromium.find())

    @classmethod
    def tearDownClass(cls):
        cls.page.close()

    def setUp(self):
        self.page.size(1440, 900)
        self.page.media()

    def tearDown(self):
        self.check_quiet()

    def check_quiet(self):
        self.assertEqual(self.page.errors, [], "the console must stay empty")
        self.assertEqual([url for url in self.page.requests if not url.startswith(("file:", "about:"))], [],
                         "the page must not ask anybody else")

    def open(self, page):
        self.page.open("file://" + os.path.join(SITE, page))

    def all(self, selector, what="e.textContent"):
        return self.page.run("[...document.querySelectorAll(%s)].map(e => %s)" % (json.dumps(selector), what))

    def wait(self, condition):
        deadline = time.monotonic() + chromium.SECONDS
        while not self.page.run(condition):
            self.assertLess(time.monotonic(), deadline, condition)
            time.sleep(0.02)


class Search(Browser):
    def search(self, text):
        self.page.key("/")
        self.page.call("Input.insertText", text=text)
        self.wait("document.querySelector('#found a, #found p') !== null")

    def test_finds_a_clause_and_jumps_to_it(self):
        self.open("index.html")
        self.search("conv.S4")
        self.assertEqual(self.all("#found a b")[0], "conv.S4")
        self.assertEqual(self.all("#found a[aria-selected=true] b"), ["conv.S4"])
        self.page.follow(lambda: self.page.key("Enter"))
        self.assertEqual(self.page.run("location.pathname.split('/').pop() + location.hash"), "conv.html#conv.S4")
        top = self.page.run("document.getElementById('conv.S4').getBoundingClientRect().top")
        bar = self.page.run("document.querySelector('.bar').getBoundingClientRect().bottom")
        self.assertTrue(bar <= top < 300, (bar, top))

    def test_finds_words_of_the_text_and_marks_them(self):
        self.open("ops/conv.html")
        self.search("padding least odd")
        self.assertIn("conv.S4", self.all("#found a b"))
        self.assertIn("padding", self.all("#found a:first-of-type mark"))
        self.search("")

    def test_is_used_by_keys_alone(self):
        self.open("arithmetic/exact.html")
        self.search("rounding")
        first, second = self.all("#found a b")[:2]
        self.page.key("ArrowDown")
        self.assertEqual(self.all("#found a[aria-selected=true] b"), [second])
        self.page.key("ArrowUp")
        self.assertEqual(self.all("#found a[aria-selected=true] b"), [first])
        self.assertEqual(self.page.run("document.querySelector('.search input').getAttribute('aria-activedescendant')"), "found-0")
        self.page.run("document.querySelector('.search input').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
        self.assertEqual(self.all("#found", "e.hidden"), [True])

    def test_says_when_there_is_nothing(self):
        self.open("index.html")
        self.search("no such words anywhere")
        self.assertEqual(self.all("#found a"), [])
        self.assertEqual(self.all("#found p"), ["Nothing has all of these words."])

    def test_speed(self):
        if "--speed" not in sys.argv:
            self.skipTest("no --speed")
        self.open("index.html")
        self.search("tie")
        for text in ("e", "conv.S1", "half_even tie", "the accumulator of int32 wraps", "zzzz"):
            took = self.page.run("""(() => { const q = document.querySelector('.search input'); q.value = %s; const took = [];
              for (let i = 0; i < 7; ++i) { const start = performance.now(); q.dispatchEvent(new Event('input'));
                took.push(performance.now() - start); } return took.sort((a, b) => a - b)[3]; })()""" % json.dumps(text))
            print("search %r: %.1f ms (median)" % (text, took))


class Clauses(Browser):
    def test_results_are_those_of_the_report(self):
        with open(REPORT, encoding="utf-8") as file:
            report = json.load(file)
        # The report's own words on which clause a case is of; examples of the text are the reference's.
        counts = {}
        for row in report["backends"]:
            for case in row["cases"]:
                if case["spec"] == "conv.S2":
                    key = (row["name"], case["outcome"])
                    counts[key] = counts.get(key, 0) + 1
        self.assertTrue(counts)
        self.open("ops/conv.html")
        shown = dict(self.page.run("""[...document.getElementById('conv.S2').querySelectorAll('.tally .mark')].map(e =>
          [e.parentElement.firstChild.textContent.trim() + ' ' + e.title.split(' ').slice(1).join(' '), +e.title.split(' ')[0]])"""))
        self.assertEqual(shown, {"%s %s" % key: count for key, count in counts.items()})
        runs = sum(count for (name, _), count in counts.items() if name == "reference")
        self.assertIn("cases × arithmetics: %d runs" % runs, self.page.run("document.getElementById('conv.S2').innerText"))
        link = "document.getElementById('conv.S2').querySelector('.more h4 a')"
        self.page.follow(lambda: self.page.run("void setTimeout(() => %s.click())" % link))
        self.assertEqual(self.page.run("location.href.split('/results/')[1]"), "ops/conv.html#conv.S2")

    def test_names_the_function_of_the_reference(self):
        self.open("ops/conv.html")
        beside = self.page.run("document.getElementById('conv.S1').querySelector('.beside').textContent")
        self.assertIn("Conv reference/src/ops/conv.cc:", beside)

    def test_a_case_unfolds_with_its_reason(self):
        self.open("ops/conv.html")
        self.page.run("document.querySelector('[id=\"conv.S1\"] .cases summary').click()")
        self.assertIn("padding with stored 0", self.page.run("document.querySelector('[id=\"conv.S1\"] .cases [open]').innerText"))

    def test_stands_beside_on_a_desk_and_folds_on_a_phone(self):
        self.open("ops/conv.html")
        place = """(() => { const c = document.getElementById('conv.S1'), a = c.querySelector('.says').getBoundingClientRect(),
          b = c.querySelector('.beside').getBoundingClientRect(); return [b.left >= a.right, b.top >= a.bottom - 1]; })()"""
        shown = "document.querySelector('[id=\"conv.S1\"] .more').checkVisibility()"
        self.assertEqual(self.page.run(place), [True, False])
        self.assertTrue(self.page.run(shown))
        self.page.size(PHONE, 780, mobile=True)
        self.assertEqual(self.page.run(place), [False, True])
        self.assertFalse(self.page.run(shown))
        self.page.run("document.querySelector('[id=\"conv.S1\"] .fold').click()")
        self.assertTrue(self.page.run(shown))

    def test_examples_ran(self):
        self.open("ops/conv.html")
        self.assertEqual(self.all(".example .ran"), ["✓ ran, passed in exact, float32, tflite"])

    def test_formulas_are_drawn(self):
        """Each `formula` block of the text is shown, at some size."""
        seen = 0
        for path in sorted(glob.glob(os.path.join(SOURCE, "spec/**/*.md"), recursive=True)):
            with open(path, encoding="utf-8") as file:
                formulas = sum(line.startswith("```formula") for line in file)
            below = os.path.relpath(path, os.path.join(SOURCE, "spec"))
            if formulas == 0 or below.startswith("templates/"):
                continue
            self.open(below.removesuffix(".md").replace("README", "index") + ".html")
            sizes = self.all(".formula .lines", "e.querySelector('math, .use') !== null && e.getBoundingClientRect().width * e.getBoundingClientRect().height > 200")
            self.assertEqual(sizes, [True] * formulas, below)
            self.check_quiet()
            seen += formulas
        print("%d formulas" % seen)

    def test_formulas_fit(self):
        """Long ones go on in a line below; found: 53 of 140 were cut off on a desk and 99 on a phone."""
        wide = "[...document.querySelectorAll('.formula > div')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText.slice(0, 60))"
        for path in sorted(glob.glob(SITE + "/**/*.html", recursive=True)):
            with open(path, encoding="utf-8") as file:
                if 'class="formula"' not in file.read():
                    continue
            self.page.size(1400, 900)
            self.open(os.path.relpath(path, SITE))
            self.assertEqual(self.page.run(wide), [], path)
            self.page.size(390, 780, mobile=True)
            self.assertEqual(self.page.run(wide), [], path)

    def test_a_comment_in_a_formula_is_text(self):
        self.open("arithmetic/tflite.html")
        self.assertIn("exponent(M) + 1 is the e of M = q * 2^e", self.all(".line > .comment"))
        self.assertEqual(self.all("math .comment"), [])
        self.assertNotEqual(*self.page.run("""[document.querySelector('.line > .comment'), document.querySelector('.line')].map(e =>
          getComputedStyle(e).color)"""))


class Looks(Browser):
    def pages(self):
        return sorted(os.path.relpath(path, SITE) for path in glob.glob(SITE + "/**/*.html", recursive=True))

    def test_every_page_fits_a_phone_and_is_quiet(self):
        self.page.size(PHONE, 780, mobile=True)
        for page in self.pages():
            self.open(page)
            self.page.run("[...document.querySelectorAll('.fold')].slice(0, 3).forEach(e => e.click())")
            self.assertEqual(self.page.run("document.documentElement.scrollWidth"), PHONE, page)
            self.assertEqual(self.page.run(OVERFLOW), [], page)
            self.check_quiet()

    def test_a_table_is_read_whole_on_a_phone(self):
        self.page.size(390, 780, mobile=True)
        self.open("proposals/0003-offset-before-rounding/proposal.html")
        self.assertEqual(set(self.all("main .scroll", "e.scrollWidth > e.clientWidth")), {False})
        self.assertEqual(self.all("main thead", "e.checkVisibility()")[0], False, "a header without a word")

    def test_text_has_contrast(self):
        for scheme in ("light", "dark"):
            self.page.media(scheme)
            for page in ("index.html", "ops/conv.html#conv.S1", "arithmetic/tflite.html", "glossary.html", "results/ops/conv.html"):
                self.open(page)
                self.assertEqual(self.page.run(chromium.CONTRAST), [], (scheme, page))

    def test_dark_mode_switches_the_colours(self):
        self.open("index.html")
        colours = []
        for scheme in ("light", "dark"):
            self.page.media(scheme)
            colours.append(self.all("body", "getComputedStyle(e).backgroundColor")[0])
        self.assertNotEqual(*colours)

    def test_chapters_open_on_a_phone(self):
        self.page.size(PHONE, 780, mobile=True)
        self.open("ops/conv.html")
        self.assertEqual(self.all("#chapters", "e.checkVisibility()"), [False])
        self.page.run("document.querySelector('#menu').click()")
        self.assertEqual(self.all("#chapters", "e.checkVisibility()"), [True])
        self.assertEqual(self.all("#menu", "e.getAttribute('aria-expanded')"), ["true"])

    def test_prints_the_text_alone(self):
        self.open("ops/conv.html")
        self.page.media(media="print")
        for selector in (".bar", "#chapters", ".beside"):
            self.assertEqual(set(self.all(selector, "getComputedStyle(e).display")), {"none"}, selector)
        self.assertTrue(self.page.run("document.getElementById('conv.S1').checkVisibility()"))

    def test_reads_without_scripts(self):
        self.page.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.open("ops/conv.html")
            self.assertTrue(self.page.run("document.querySelector('[id=\"conv.S1\"] .says').checkVisibility()"))
        finally:
            self.page.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_has_landmarks_and_names(self):
        self.open("ops/conv.html")
        for selector in ("header", "main", "h1", "form[role=search]", "nav[aria-label=Chapters]"):
            self.assertEqual(len(self.all(selector)), 1, selector)
        nodes = self.page.call("Accessibility.getFullAXTree")["nodes"]
        unnamed = [node["role"]["value"] for node in nodes if not node.get("ignored")
                   and node["role"]["value"] in ("button", "combobox", "searchbox", "link", "region", "complementary")
                   and not node.get("name", {}).get("value")]
        self.assertEqual(unnamed, [])

    def test_shots(self):
        if "--shots" not in sys.argv:
            self.skipTest("no --shots FOLDER")
        folder = sys.argv[sys.argv.index("--shots") + 1]
        for name, page, width, height, theme in (
                ("operator", "ops/conv.html", 1440, 1200, "light"), ("arithmetic", "arithmetic/tflite.html", 1440, 1200, "dark"),
                ("operator-phone", "ops/conv.html", 360, 1200, "light"), ("arithmetic-phone", "arithmetic/tflite.html", 360, 1200, "dark")):
            self.page.size(width, height)
            self.page.media(theme)
            self.open(page)
            self.page.screenshot(os.path.join(folder, name + ".png"))


if __name__ == "__main__":
    if chromium.find() is None:
        print("no Chromium: skipped")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
