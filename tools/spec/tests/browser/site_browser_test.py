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


# The headings that skip a level, the landmarks of one role and name, and the headers without a word. axe-core says the same, slowly, of some pages.
STRUCTURE = """(() => {
  const bad = [];
  let last = 0;
  for (const e of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    if (+e.tagName[1] > last + 1) bad.push(e.outerHTML.slice(0, 100));
    last = +e.tagName[1];
  }
  const landmarks = [...document.querySelectorAll('header, main, nav, aside, form, [role=region]')].map(e =>
    e.tagName + ' ' + e.getAttribute('role') + ' ' + e.getAttribute('aria-label'));
  const blank = [...document.querySelectorAll('th:empty')].filter(e => e.checkVisibility()).map(e => e.parentElement.outerHTML);
  return [...bad, ...blank, ...landmarks.filter((name, i) => landmarks.indexOf(name) !== i)]; })()"""

FORMULAS = """[...document.querySelectorAll('.formula .lines')].map(e => e.querySelector('math, .use') !== null &&
  e.getBoundingClientRect().width * e.getBoundingClientRect().height > 200)"""
WIDE_FORMULAS = """[...document.querySelectorAll('.formula > div')].filter(e => e.scrollWidth > e.clientWidth).map(e =>
  e.innerText.slice(0, 60))"""


def setUpModule():
    subprocess.run([QTX, "validate", "--backend", "reference", "--backend", "x86", "--filter", "conv/*", "--json", REPORT],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([QTX, "spec", "html", "-o", SITE, "--report", REPORT], check=True, stdout=subprocess.DEVNULL)


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = chromium.shared()

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


    def search(self, text):
        self.page.key("/")
        self.page.call("Input.insertText", text=text)
        self.wait("!document.querySelector('#found').hidden")


class Search(Browser):
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

    def test_leaves_out_words_that_say_nothing(self):
        self.open("index.html")
        self.search("what is the padding of a Conv?")
        self.assertIn("conv.S4", self.all("#found a b"))
        self.open("index.html")
        self.search("the")  # alone it is what is looked for
        self.assertNotEqual(self.all("#found a"), [])

    def test_finds_a_word_that_is_misspelled(self):
        for typed, meant in (("acumulator", "accumulator"), ("quantziation", "quantization"), ("staurate", "saturate")):
            self.open("index.html")
            self.search(typed)
            says = self.all("#found > p")
            self.assertEqual(len(says), 1)
            self.assertRegex(says[0], r"^Spelled as in the text: %s(\. The first 40 of \d+)?$" % meant)
            self.assertIn(meant, [text.lower() for text in self.all("#found mark")])

    def test_leads_from_the_words_of_others_to_ours(self):
        for typed, ours in (("zero point", "offset"), ("zero_point", "offset"), ("zero-point", "offset"), ("banker's rounding", "half_even"),
                            ("group size", "block_shape"), ("quantized_dimension", "axis")):
            self.open("ops/conv.html")
            self.search(typed)
            self.assertEqual(self.all("#found a b")[0], ours, typed)
            self.assertIn("Others say: ", self.all("#found a:first-of-type .others")[0])
        self.assertIn("glossary.html#term.axis", self.all("#found a", "e.href")[0])

    def test_says_in_which_section_a_result_is(self):
        self.open("index.html")
        self.search("conv.S4")
        self.assertEqual(self.all("#found a .of")[0], "Conv, Semantics")

    def test_says_when_there_is_nothing(self):
        self.open("index.html")
        self.search("qqqqq")
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
        link = "document.getElementById('conv.S2').querySelector('.more .title a')"
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

    def test_a_comment_in_a_formula_is_text(self):
        self.open("arithmetic/tflite.html")
        self.assertIn("exponent(M) + 1 is the e of M = q * 2^e", self.all(".line > .comment"))
        self.assertEqual(self.all("math .comment"), [])
        self.assertNotEqual(*self.page.run("""[document.querySelector('.line > .comment'), document.querySelector('.line')].map(e =>
          getComputedStyle(e).color)"""))


def joined_results():
    """One page with the text of all pages of results, which are lists of one form: a hundredth of their time to load."""
    paths = sorted(glob.glob(SITE + "/results/**/*.html", recursive=True))
    begin, end = '<main id="text" tabindex="-1">', "</main>"
    texts = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            head, _, rest = file.read().partition(begin)
        text, _, tail = rest.partition(end)
        texts.append(text)
    name = "results/ops/all.html"
    with open(os.path.join(SITE, name), "w", encoding="utf-8") as file:
        file.write(head + begin + "".join(texts) + end + tail)
    return name, len(texts)


class EveryPage(Browser):
    """Loads each page once, since that is what takes the time, and looks at it on a desk and on a phone."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page.media()
        names = [os.path.relpath(path, SITE) for path in sorted(glob.glob(SITE + "/**/*.html", recursive=True))]
        results, count = joined_results()
        assert count > 100, count
        cls.seen = {name: cls.look(name) for name in [*(name for name in names if not name.startswith("results/")), results]}

    @classmethod
    def look(cls, name):
        path = os.path.join(SITE, name)
        with open(path, encoding="utf-8") as file:
            formulas = 'class="formula"' in file.read()
        cls.page.size(*((1400, 900) if formulas else (PHONE, 780)), mobile=not formulas)
        cls.page.open("file://" + path)
        seen = {"noise": cls.page.errors + [url for url in cls.page.requests if not url.startswith(("file:", "about:"))],
                "structure": cls.page.run(STRUCTURE), "formulas": cls.page.run(FORMULAS) if formulas else []}
        if formulas:
            seen["wide on a desk"] = cls.page.run(WIDE_FORMULAS)
            cls.page.size(PHONE, 780, mobile=True)
            seen["wide on a phone"] = cls.page.run(WIDE_FORMULAS)
        seen["overflow"] = cls.page.run("""(() => { [...document.querySelectorAll('.fold')].slice(0, 3).forEach(e => e.click());
          return [...(document.documentElement.scrollWidth === %d ? [] : ['the page']), ...%s]; })()""" % (PHONE, OVERFLOW))
        return seen

    def none(self, what):
        self.assertGreater(len(self.seen), 150)
        self.assertEqual({name: seen[what] for name, seen in self.seen.items() if seen.get(what)}, {})

    def test_is_quiet(self):
        """The console stays empty, and nobody else is asked."""
        self.none("noise")

    def test_has_headings_in_order_and_landmarks_of_different_names(self):
        self.none("structure")

    def test_fits_a_phone(self):
        self.none("overflow")

    def test_shows_formulas_whole(self):
        """Long ones go on in a line below; found: 53 of 140 were cut off on a desk and 99 on a phone."""
        self.none("wide on a desk")
        self.none("wide on a phone")

    def test_shows_each_formula_of_the_text(self):
        """Each `formula` block is drawn, at some size."""
        total = 0
        for path in sorted(glob.glob(os.path.join(SOURCE, "spec/**/*.md"), recursive=True)):
            with open(path, encoding="utf-8") as file:
                formulas = sum(line.startswith("```formula") for line in file)
            below = os.path.relpath(path, os.path.join(SOURCE, "spec"))
            if below.startswith("templates/"):
                continue
            page = below.removesuffix(".md").replace("README", "index") + ".html"
            self.assertEqual(self.seen[page]["formulas"], [True] * formulas, below)
            total += formulas
        print("%d formulas" % total)


class Looks(Browser):
    def test_each_kind_of_page_is_for_everybody(self):
        """Contrast by our own rule, of one ground; the rest by axe-core, where it is."""
        pages = ("index.html", "format/index.html", "ops/relu.html", "backend_protocol.html", "glossary.html", "results/ops/relu.html",
                 "proposals/0003-offset-before-rounding/proposal.html")
        for width, scheme in ((1440, "light"), (PHONE, "dark")):
            self.page.size(width, 900, mobile=width == PHONE)
            self.page.media(scheme)
            for page in pages:
                self.open(page)
                self.page.run("[...document.querySelectorAll('.fold, summary')].slice(0, 8).forEach(e => e.click())")
                if page == "index.html":
                    self.search("accumulator")
                self.assertEqual(self.page.run(chromium.CONTRAST), [], (scheme, page))
                if os.path.exists(chromium.AXE):
                    self.assertEqual(self.page.axe(), [], (scheme, page))
        if not os.path.exists(chromium.AXE):
            self.skipTest("no axe-core: conformance/tests/browser/install brings it")

    def test_a_table_is_read_whole_on_a_phone(self):
        self.page.size(390, 780, mobile=True)
        self.open("proposals/0003-offset-before-rounding/proposal.html")
        self.assertEqual(set(self.all("main .scroll", "e.scrollWidth > e.clientWidth")), {False})
        self.assertEqual(self.all("main thead", "e.checkVisibility()")[0], False, "a header without a word")

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
