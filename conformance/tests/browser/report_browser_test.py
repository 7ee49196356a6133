"""The HTML report in headless Chromium, and the JUnit report through an XML parser.

report_browser_test.py REPORT_MAKER [--speed] [TEST]…; exit status 77 (skipped) without a browser.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True  # the source tree stays as it is
import chromium

FOLDER = tempfile.TemporaryDirectory(prefix="qtx-report-")
OUTCOMES = ["pass", "fail", "unsupported", "crash", "timeout", "protocol_error", "expected_fail", "unexpected_pass",
            "self", "bad_expectation", "bad_golden"]
PROBLEMS = {"fail", "crash", "timeout", "protocol_error", "unexpected_pass", "bad_expectation", "bad_golden"}


def path(name):
    return os.path.join(FOLDER.name, name)


def report(name):
    with open(path(name + ".json"), encoding="utf-8") as file:
        return json.load(file)


class Browser(unittest.TestCase):
    """Each test opens the page anew, on a desktop in light mode."""

    @classmethod
    def setUpClass(cls):
        cls.page = chromium.shared()

    def setUp(self):
        self.page.size(1280, 900)
        self.page.media()

    def tearDown(self):
        self.assertEqual(self.page.errors, [], "the console must stay empty")

    def open(self, name, state=""):
        return self.page.open("file://" + path(name + ".html") + state)

    def all(self, selector, what="e.textContent"):
        return self.page.run("[...document.querySelectorAll(%s)].map(e => %s)" % (json.dumps(selector), what))

    def one(self, selector, what="e.textContent"):
        found = self.all(selector, what)
        self.assertEqual(len(found), 1, selector)
        return found[0]

    def click(self, selector):
        self.page.run("document.querySelector(%s).click()" % json.dumps(selector))

    def shown(self):
        """The ids in the list, with everything loaded."""
        return self.page.run("""(() => {
          while (!document.querySelector('.more button').hidden) document.querySelector('.more button').click();
          return [...document.querySelectorAll('.list .id')].map(e => e.textContent); })()""")

    def choose(self, name, value):
        self.page.run("""(() => { const field = document.querySelector('.filters').elements[%s];
          field.value = %s; field.dispatchEvent(new Event('input', {bubbles: true})); })()"""
                      % (json.dumps(name), json.dumps(value)))


class Head(Browser):
    def test_says_who_conforms(self):
        self.open("known")
        self.assertIn("3 of 5 runs do not conform", self.one("#verdict"))
        verdicts = dict(zip(self.all(".runs tbody th"), self.all(".runs tbody .mark")))
        self.assertEqual(verdicts["npu exact"], "✗ not conforming")
        self.assertEqual(verdicts["x86 exact"], "✓ conforming")
        self.assertEqual(verdicts["mute"], "✗ no answer")
        self.assertEqual(verdicts["x86 (AMX) exact"], "✓ conforming")  # a second device of a joined report

    def test_counts_as_the_json_does(self):
        for name in ("known", "wrong"):
            self.open(name)
            columns = self.all(".runs thead th")
            rows = {label: cells for label, cells in zip(
                self.all(".runs tbody tr", "e.dataset.run"),
                self.all(".runs tbody tr", "[...e.cells].map(cell => cell.textContent)"))}
            for backend in report(name)["backends"]:
                if "error" in backend or backend["name"].startswith("<"):
                    continue
                cells = rows[backend["name"] + "/" + backend["arithmetic"]]
                for outcome, count in backend["counts"].items():
                    label = outcome.replace("_", " ") if outcome != "not_applicable" else "n/a"
                    if label in columns:
                        self.assertEqual(cells[columns.index(label)].replace("\u2009", ""), str(count), (name, outcome))
                    else:
                        self.assertEqual(count, 0)
                for source, count in backend["passes"].items():
                    shown = cells[columns.index(source.replace("_", " "))]
                    self.assertEqual(shown.replace("\u2009", ""), str(count), (name, source))

    def test_says_what_made_each_run(self):
        self.open("known")
        self.assertEqual(self.all("#provenance summary"), [
            f"qtx 0.1.0, commit {12 * digit} · 2026-11-24T11:30:00Z · A processor, 2 threads" for digit in "ab"])
        self.assertEqual(self.one("#provenance .bad"), "These runs are of 2 commits of qtx.")
        facts = dict(zip(self.all("#provenance dt"), self.all("#provenance dd")))  # of the second
        self.assertEqual(facts["qtx"], "0.1.0, commit " + 40 * "b")
        self.assertIn("onerror=alert(2)", facts["command"])
        self.open("wrong")
        self.assertEqual(self.all("#provenance *"), [])  # a report without provenance

    def test_puts_the_findings_first(self):
        self.open("known")
        says = self.all(".findings .says")
        self.assertEqual(says[-1], "An expected failure matches no case of the suite: list.txt:3: gone/*")
        self.assertEqual(says[0], "Conv, Softmax: rounds half away from zero: half_away (2 of 2 wrong answers, and 3 fresh questions)")
        hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"
        self.assertEqual(self.all(".findings .place"), ["Conv: only in channel 2 of 0 to 2Conv(x: INT8Q [1,1,5])", "Softmax",
                                                        f"{hostile}: {hostile}{hostile}"])
        self.assertTrue(self.page.run("document.querySelector('#findings').compareDocumentPosition("
                                      "document.querySelector('#matrix')) === Node.DOCUMENT_POSITION_FOLLOWING"))
        self.click(".findings button")
        self.assertEqual(self.shown(), ["conv/ties[n=1]", "softmax/near"])


class Matrix(Browser):
    def test_every_cell_is_what_the_json_says(self):
        self.open("wrong")
        cells = {(run, op): label for run, op, label in self.all(
            "#matrix td button", "[e.dataset.run, e.dataset.op, e.textContent]")}
        expected = {}
        operators = dict(zip(*self.page.run("[cases.map(it => it.id), cases.map(it => it.op)]")))
        for backend in report("wrong")["backends"]:
            for case in backend["cases"]:
                key = (backend["name"] + "/" + backend["arithmetic"], operators[case["id"]])
                expected.setdefault(key, []).append(case["outcome"])
        self.assertEqual(set(cells), set(expected))
        for key, outcomes in expected.items():
            wrong = sum(outcome in PROBLEMS for outcome in outcomes)
            passed = outcomes.count("pass")
            sign, shown = cells[key].split()
            self.assertEqual(sign, "✗" if wrong else "✓" if passed == len(outcomes) else "◐" if passed else "○", key)
            self.assertEqual(int(shown), wrong or passed or len(outcomes), key)
        self.assertGreater(sum(label.startswith("✗") for label in cells.values()), 0)

    def test_signs_say_what_colours_say(self):
        self.open("known")
        label = "#matrix button[data-op=%s][data-run='npu/exact']"
        for op, sign in {"Conv": "✗ 1", "Mul": "! 2", "Relu": "○ 1", "Add": "✗ 2"}.items():
            self.assertEqual(self.one(label % op), sign)

    def test_a_click_filters_the_list(self):
        self.open("known")
        self.click("#matrix button[data-op=Mul][data-run='npu/exact']")
        self.assertEqual(self.shown(), ["mul/slow", "mul/noise"])
        self.assertIn("op=Mul", self.page.run("location.hash"))

    def test_sorts_and_says_so(self):
        self.open("wrong")
        names = "#matrix tbody th"
        self.assertEqual(self.one("[aria-sort]", "e.dataset.sort + e.getAttribute('aria-sort')"), "baddescending")
        self.click("[data-sort=op] button")
        self.assertEqual(self.all(names), sorted(self.all(names)))
        self.click("[data-sort=op] button")
        self.assertEqual(self.all(names), sorted(self.all(names), reverse=True))

    def test_arrows_move_within(self):
        self.open("wrong")
        self.page.run("document.querySelector('#matrix tbody button').focus()")
        self.page.key("ArrowRight")
        self.assertEqual(self.page.run("document.activeElement.dataset.run"), "binary32/exact")
        first = self.page.run("document.activeElement.dataset.op")
        self.page.key("ArrowDown")
        self.assertNotEqual(self.page.run("document.activeElement.dataset.op"), first)
        self.assertEqual(len(self.all("#matrix tbody [tabindex='0']")), 1)


class List(Browser):
    def test_starts_with_what_is_wrong(self):
        self.open("wrong")
        wrong = [case["id"] for backend in report("wrong")["backends"] for case in backend["cases"]
                 if case["outcome"] in PROBLEMS]
        self.assertEqual(self.shown(), wrong)

    def test_searches_every_word_in_id_reason_clause_and_tag(self):
        self.open("known", "#outcome=" + ",".join(OUTCOMES))
        for words, ids in {"slow": ["mul/slow"], "Softmax.S1": ["softmax/near"], "half_away conv/e": ["conv/even"],
                           "SIGSEGV": ["add/dead"], "ROUNDING relu": ["relu/none", "relu/none", "relu/none"]}.items():
            self.choose("q", words)
            self.assertEqual(self.shown(), ids, words)
        self.choose("q", "no such text")
        self.assertEqual(self.one(".count"), "No answer matches these filters.")

    def test_filters_by_backend_operator_level_and_outcome(self):
        self.open("known", "#outcome=" + ",".join(OUTCOMES))
        self.choose("run", "x86/exact")
        self.assertEqual(self.shown(), ["conv/ties[n=1]", "relu/none"])
        self.choose("op", "Relu")
        self.assertEqual(self.shown(), ["relu/none"])
        self.click("[name=outcome][value=pass]")
        self.assertEqual(self.shown(), [])
        self.click(".filters [type=reset]")
        self.choose("level", "core")
        self.assertEqual(len(self.shown()), 9)

    def test_the_address_keeps_the_view(self):
        self.open("known")
        self.choose("op", "Add")
        self.choose("q", "SIGSEGV")
        state = self.page.run("location.hash")
        self.open("known", state)
        self.assertEqual(self.shown(), ["add/dead"])
        self.assertEqual(self.one("[name=q]", "e.value"), "SIGSEGV")

    def test_the_address_names_a_case(self):
        self.open("known", "#case=conv%2Feven%40npu%2Fexact")
        self.assertEqual(self.one(".open .id"), "conv/even")

    def test_works_by_keyboard(self):
        self.open("known")
        self.page.key("/")
        self.assertEqual(self.page.run("document.activeElement.name"), "q")
        self.page.run("document.querySelector('.row').focus()")
        self.page.key("ArrowDown")
        self.page.key("Enter")
        self.assertEqual(self.one(".open .id"), "softmax/near")
        self.assertEqual(self.one(".open .row", "e.getAttribute('aria-expanded')"), "true")
        self.page.key("Enter")
        self.assertEqual(self.all(".open"), [])


class Detail(Browser):
    def case(self, id, name="known", run="npu/exact"):
        self.open(name, "#case=" + "".join("%%%02X" % byte for byte in (id + "@" + run).encode()))

    def test_shows_the_numbers_of_an_integer_difference(self):
        self.case("conv/ties[n=1]")
        self.assertIn("3 of 12 elements differ", self.one(".open h4:has(code)"))
        self.assertEqual(self.all(".open [data-role=got] td.minus"), ["3"])
        self.assertEqual(self.all(".open [data-role=got] td.plus"), ["7", "111"])
        self.assertEqual(self.all(".open [data-role=expected] td.plus"), ["5", "11"])
        self.assertEqual(self.all(".open [data-role=expected] td"), [str(i) for i in range(12)])
        self.assertEqual(self.all(".open [data-role=expected] tr th"),
                         ["[0, 0, 0, ·]", "[0, 0, 1, ·]", "[0, 1, 0, ·]", "[0, 1, 1, ·]"])
        caption = self.one(".open [data-role=expected] figcaption")
        self.assertEqual(caption, "expected INT8Q [1, 2, 2, 3] · scale 0.5 · offset 3")

    def test_says_where_the_expectation_came_from(self):
        self.case("conv/even")
        facts = dict(zip(self.all(".open dt"), self.all(".open dd")))
        self.assertEqual(facts["Expectation from"], "third party, within the bound")

    def test_bins_far_distances_by_powers_of_two(self):
        self.case("conv/ties[n=1]")
        bars = dict(self.all(".open .chart rect", "[e.dataset.label, Number(e.dataset.count)]"))
        self.assertEqual({label: n for label, n in bars.items() if n}, {"−1": 1, "+2": 1, "+64": 1})
        self.assertIn("in powers of two", self.one(".open .histogram figcaption"))

    def test_the_histogram_of_a_real_failure_is_that_of_the_json(self):
        backend = report("wrong")["backends"][0]
        case = next(case for case in backend["cases"] if case["id"].startswith("average_pool/")
                    and case["outcome"] == "fail")
        self.case(case["id"], "wrong", "binary32/exact")
        bars = {label.replace("−", "-").replace("+", ""): n for label, n in self.all(
            ".open .chart rect", "[e.dataset.label, Number(e.dataset.count)]") if n}
        self.assertEqual(bars, case["differences"][0]["histogram"])

    def test_floats_within_the_tolerance_are_not_marked(self):
        self.case("softmax/near")
        self.assertIn("2 of 4 elements differ by more than 1 ulp", self.one(".open h4:has(code)"))
        self.assertEqual(self.all(".open [data-role=got] td", "[e.textContent, e.className]"),
                         [["1", ""], ["1.0000001", ""], ["1.0000002", "plus"], ["NaN", "nan"]])

    def test_the_heat_map_reads_out_what_is_pointed_at(self):
        self.case("conv/ties[n=1]")
        self.assertEqual(self.all(".open .tile span"), ["[0, 0]", "[0, 1]"])
        box = self.all(".open canvas", "(({x, y, width, height}) => ({x, y, width, height}))"
                                       "(e.getBoundingClientRect())")[1]
        self.page.pointer(box["x"] + box["width"] * 0.9, box["y"] + box["height"] * 0.8)
        self.assertEqual(self.one(".open .read"), "[0, 1, 1, 2] got 111 (54), expected 11 (4), +100 LSB")

    def test_the_heat_map_works_by_keyboard(self):
        self.case("conv/ties[n=1]")
        self.page.run("document.querySelector('.open canvas').focus()")
        self.page.key("Home")
        self.assertEqual(self.one(".open .read"), "[0, 0, 1, 1] got 3 (0), expected 4 (0.5), −1 LSB")
        self.page.key("ArrowRight")
        self.assertIn("[0, 0, 1, 2] got 7 (2), expected 5 (1), +2 LSB", self.one(".open .read"))

    def test_the_heat_map_paints_signs_in_two_colours(self):
        self.case("conv/ties[n=1]")
        reads = self.page.run("""[...document.querySelectorAll('.open canvas')].map(canvas => {
          const pen = canvas.getContext('2d');
          const side = canvas.width / 3;
          return [0, 1, 2, 3, 4, 5].map(i => [...pen.getImageData(
            (i % 3) * side + 1, Math.floor(i / 3) * side + 1, 1, 1).data].slice(0, 3)); })""")
        cells = [tuple(color) for tile in reads for color in tile]
        equal = cells[0]
        self.assertEqual([i for i, color in enumerate(cells) if color != equal], [4, 5, 11])
        self.assertGreater(cells[4][2], cells[4][0], "too low is blue")
        self.assertGreater(cells[11][0], cells[11][2], "too high is orange")

    def test_shows_both_shapes_where_they_disagree(self):
        self.case("reshape/dims")
        self.assertIn("has dims [3,2], expected [2,3]", self.one(".open h4:has(code)"))
        self.assertEqual(self.one(".open [data-role=got] figcaption").split("]")[0], "got INT8Q [3, 2")

    def test_shows_what_a_process_wrote_to_its_error_output(self):
        self.case("add/dead")
        self.assertIn("\nassertion failed: k % 16 == 0 </script>", self.one(".open .output-text"))

    def test_a_large_tensor_is_bounded(self):
        self.case("add/huge")
        self.assertIn("16\u2009384 of 1\u2009048\u2009576 elements differ", self.one(".open h4:has(code)"))
        self.assertLessEqual(len(self.all(".open [data-role=got] tr")), 24)

    def test_the_command_is_quoted_for_a_shell(self):
        self.open("known", "#outcome=fail&q=it%27s")
        self.click(".row")
        command = self.one(".open .reproduce")
        words = json.loads(subprocess.run(
            ["python3", "-c", "import json, shlex, sys; print(json.dumps(shlex.split(sys.stdin.read())))"],
            input=command, text=True, capture_output=True, check=True).stdout)
        hostile = "it's/</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"
        self.assertEqual(words, ["qtx", "validate", "--backend", "cmd:./guest --mode 'it''s'", "--arithmetic",
                                 "exact", "--filter", hostile])

    def test_copies_the_command(self):
        self.case("conv/even")
        self.page.run("navigator.clipboard.writeText = async text => { window.copied = text; }")
        self.click(".open .command button")
        self.assertEqual(self.page.run("window.copied"), self.one(".open .reproduce"))
        self.assertEqual(self.one(".open .command button"), "Copied")


class Safety(Browser):
    def test_hostile_texts_stay_texts(self):
        self.open("known", "#outcome=" + ",".join(OUTCOMES))
        self.page.run("document.querySelectorAll('.row').forEach(row => row.click())")
        self.assertEqual(self.all("img"), [])
        self.assertEqual(len(self.all("script")), 2)
        self.assertIn("onerror=alert(2)", self.one("body"))
        self.assertEqual(self.page.run("Math.max(...[...document.querySelectorAll('.diagnosis')]"
                                       ".map(e => e.textContent.length)) < 2000"), True)

    def test_nothing_is_fetched(self):
        self.open("known")
        self.page.run("document.querySelectorAll('.row').forEach(row => row.click())")
        self.assertEqual(self.page.requests, ["file://" + path("known.html")])

    def test_the_policy_stops_foreign_scripts_and_styles(self):
        self.open("known")
        self.page.run("""(() => { const script = document.createElement('script');
          script.textContent = 'window.owned = true'; document.body.append(script);
          document.body.setAttribute('style', 'margin-left: 99px'); })()""")
        self.assertIsNone(self.page.run("window.owned"))
        self.assertNotEqual(self.page.run("getComputedStyle(document.body).marginLeft"), "99px")
        self.assertEqual(len(self.page.errors), 2)
        self.page.errors.clear()

    def test_without_scripts_there_are_the_totals(self):
        self.page.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.open("wrong")
            root = self.page.call("DOM.getDocument")["root"]["nodeId"]
            node = self.page.call("DOM.querySelector", nodeId=root, selector="noscript table")["nodeId"]
            self.assertIn("not conforming", self.page.call("DOM.getOuterHTML", nodeId=node)["outerHTML"])
        finally:
            self.page.call("Emulation.setScriptExecutionDisabled", value=False)


OVERFLOW = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, .tensor, .skip') &&
  e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.short, .id, .facts')
  ).map(e => e.outerHTML.slice(0, 100))"""


class Looks(Browser):
    def open_all(self, name, rows=20):
        self.open(name, "#outcome=" + ",".join(OUTCOMES))
        self.page.run("[...document.querySelectorAll('.row')].slice(0, %d).forEach(row => row.click())" % rows)

    def test_fits_a_phone(self):
        self.page.size(360, 780, mobile=True)
        for name in ("known", "wrong", "large"):
            self.open_all(name)
            self.assertEqual(self.page.run("document.documentElement.scrollWidth"), 360, name)
            self.assertEqual(self.page.run(OVERFLOW), [], name)

    def test_dark_mode_switches_the_colours(self):
        self.open_all("known")
        ground = "getComputedStyle(document.body).backgroundColor"
        cell = "[...document.querySelector('canvas').getContext('2d').getImageData(1, 1, 1, 1).data]"
        light = self.page.run(ground), self.page.run(cell)
        self.page.media("dark")
        dark = self.page.run(ground), self.page.run(cell)
        self.assertNotEqual(light[0], dark[0])
        self.assertNotEqual(light[1], dark[1])

    def test_is_for_everybody(self):
        """Contrast by our own rule, of one ground; the rest by axe-core, where it is."""
        for width, scheme in ((1280, "light"), (360, "dark")):
            self.page.size(width, 900, mobile=width == 360)
            self.page.media(scheme)
            self.open_all("known", 3)  # wrong integers, floats and a shape
            self.assertEqual(self.page.run(chromium.CONTRAST), [], scheme)
            if os.path.exists(chromium.AXE):
                self.assertEqual(self.page.axe(), [], scheme)
        if not os.path.exists(chromium.AXE):
            self.skipTest("no axe-core: conformance/tests/browser/install brings it")

    def test_has_landmarks_and_names(self):
        self.open_all("known")
        for selector in ("header", "main", "footer", "h1", "form[role=search]"):
            self.assertEqual(len(self.all(selector)), 1, selector)
        nodes = self.page.call("Accessibility.getFullAXTree")["nodes"]
        unnamed = [node["role"]["value"] for node in nodes if not node.get("ignored")
                   and node["role"]["value"] in ("button", "combobox", "searchbox", "checkbox", "image", "region")
                   and not node.get("name", {}).get("value")]
        self.assertEqual(unnamed, [])

    def test_prints_without_controls(self):
        self.open_all("known")
        self.page.media(media="print")
        self.assertEqual(self.one(".filters", "getComputedStyle(e).display"), "none")
        self.assertEqual(self.one(".tall", "getComputedStyle(e).overflowY"), "visible")


class Large(Browser):
    """Nine thousand answers. How fast they are depends on the machine: `--speed` measures it, and no test asks for it."""

    ALL = "#outcome=" + ",".join(OUTCOMES)
    SEARCHES = ("s", "so", "sweep 29", "x")

    def test_only_what_is_seen_is_drawn(self):
        self.assertLess(os.path.getsize(path("large.html")), 5_000_000)
        self.open("large", self.ALL)
        self.assertIn("9\u2009000", self.one(".count"))
        self.assertLess(len(self.all(".row")), 200)
        for text in self.SEARCHES:
            self.page.run("change({q: %s})" % json.dumps(text))
            self.assertLess(len(self.all(".row")), 200, text)

    def test_speed(self):
        if "--speed" not in sys.argv:
            self.skipTest("no --speed")
        opened = sorted(self.open("large", self.ALL) for _ in range(7))
        searched = sorted(self.page.run("""(() => { const start = performance.now(); change({q: %s});
          return performance.now() - start; })()""" % json.dumps(text)) for text in self.SEARCHES * 7)
        print("9000 answers: opened in %.0f ms, searched in %.1f ms (medians)"
              % (1000 * opened[len(opened) // 2], searched[len(searched) // 2]))


class Junit(unittest.TestCase):
    """What readers rely on; attribute and element names as in Jenkins' junit-10.xsd."""

    SUITE = {"name", "tests", "failures", "errors", "skipped", "time"}
    CASE = {"classname", "name", "file", "time"}
    CHILDREN = {"properties", "failure", "error", "skipped", "system-out", "system-err"}

    def test_keeps_to_the_schema_and_its_counts_add_up(self):
        for name in ("known", "wrong", "large"):
            root = ElementTree.parse(path(name + ".xml")).getroot()
            self.assertEqual(root.tag, "testsuites")
            seen = set()
            for suite in root:
                self.assertEqual(suite.tag, "testsuite")
                self.assertLessEqual(set(suite.attrib), self.SUITE)
                self.assertEqual([child.tag for child in suite][0], "properties")
                cases = suite.findall("testcase")
                self.assertEqual(len(cases), int(suite.get("tests")))
                for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
                    self.assertEqual(len(suite.findall("testcase/" + tag)), int(suite.get(attribute)), tag)
                for case in cases:
                    self.check(case, seen)
            for attribute in ("tests", "failures", "errors"):
                self.assertEqual(int(root.get(attribute)), sum(int(suite.get(attribute)) for suite in root))

    def check(self, case, seen):
        self.assertLessEqual(set(case.attrib), self.CASE)
        self.assertGreaterEqual(float(case.get("time")), 0)
        tags = [child.tag for child in case]
        self.assertLessEqual(set(tags), self.CHILDREN)
        self.assertLessEqual(sum(tag in ("failure", "error", "skipped") for tag in tags), 1)
        key = case.get("classname"), case.get("name")
        self.assertNotIn(key, seen, "readers would take these for one test")
        seen.add(key)

    def test_says_of_a_failure_what_the_page_says(self):
        root = ElementTree.parse(path("known.xml")).getroot()
        case = root.find(".//testcase[@classname='npu.exact.Conv'][@name='conv/ties[n=1]']")
        failure = case.find("failure")
        self.assertIn("differs in 3 of 12 elements by -1 to +100 LSB", failure.get("message"))
        self.assertEqual(failure.get("type"), "fail")
        self.assertIn("element 4: got 3, expected 4", failure.text)
        self.assertIn("-1 LSB in 1; +2 LSB in 1; +100 LSB in 1", failure.text)
        properties = {entry.get("name"): entry.get("value") for entry in case.iter("property")}
        self.assertEqual(properties["clause"], "Conv.S1")
        self.assertEqual(properties["level"], "core")
        self.assertEqual(properties["tag"], "rounding")
        dead = root.find(".//testcase[@name='add/dead']")
        self.assertEqual(dead.find("error").get("type"), "crash")
        self.assertIn("assertion failed", dead.find("system-err").text)

    def test_agrees_with_the_json(self):
        root = ElementTree.parse(path("wrong.xml")).getroot()
        failed = sorted(case.get("name") for case in root.iter("testcase") if case.find("failure") is not None)
        self.assertEqual(failed, sorted(case["id"] for backend in report("wrong")["backends"]
                                        for case in backend["cases"] if case["outcome"] == "fail"))


def main():
    subprocess.run([sys.argv[1], FOLDER.name], check=True)
    if chromium.find() is None:
        print("skipped: report_browser_test needs Chromium (Debian package chromium-headless-shell); JUnit alone is tested")
        done = unittest.main(argv=["report_browser_test", "Junit"], exit=False).result
        sys.exit(77 if done.wasSuccessful() else 1)
    unittest.main(argv=["report_browser_test", *(word for word in sys.argv[2:] if word != "--speed")])


if __name__ == "__main__":
    main()
