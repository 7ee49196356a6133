"""The graph that the page of `qtx inspect --html` draws, in headless Chromium.

graph_browser_test.py QTX SOURCE_FOLDER; exit status 77 (skipped) without a browser.
"""

import os
import sys

import onnx
from onnx import TensorProto, helper

sys.dont_write_bytecode = True  # the source tree stays as it is
from inspect_page import NODES, PageTest, chromium, main, path

BOXES = """[...document.querySelectorAll('.box:not(.head)')].map(e => {
  const b = $('.ground', e).getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })"""
LAYER = ["MatMul", "Add", "Relu", "MatMul", "Add", "Mul"]


def decoder(layers):
    """A chain of layers, each with scopes in its names and with a branch around it."""
    nodes, value = [], "x"
    for i in range(layers):
        before = value
        for k, op in enumerate(LAYER):
            name = "/model/layers.%d/%s/%s_%d" % (i, "attention" if k < 3 else "mlp", op, k)
            second = [before] if op == "Mul" else ["w"] if op == "MatMul" else ["b"] if op == "Add" else []
            nodes.append(helper.make_node(op, [value, *second], [name + "_output"], name=name))
            value = name + "_output"
    return nodes, value


def save(nodes, output, name):
    tensor = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    constants = [helper.make_tensor("w", TensorProto.FLOAT, [2, 2], [1, 0, 0, 1]), helper.make_tensor("b", TensorProto.FLOAT, [2], [0, 0])]
    graph = helper.make_graph(nodes, "graph", [tensor("x", [3, 2])], [tensor(output, [3, 2])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path(name))
    return path(name)


class Graph(PageTest):
    def operators(self):
        return sorted(self.all(".box.item .op"))

    def show(self, overlay):
        self.page.run("""(() => { const s = $('.tools').elements.overlay; s.value = '%s';
          s.dispatchEvent(new Event('change', {bubbles: true})); })()""" % overlay)

    def overlaps(self):
        boxes = self.page.run(BOXES)
        return [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]
                if a[0] < b[2] - 1 and b[0] < a[2] - 1 and a[1] < b[3] - 1 and b[1] < a[3] - 1]

    def test_axe_finds_nothing(self):
        if not os.path.exists(chromium.AXE):
            self.skipTest("no axe-core: conformance/tests/browser/install brings it")
        self.open("resnet8")
        for width, scheme in ((1280, "light"), (390, "dark")):
            self.page.size(width, 900, mobile=width == 390)
            self.page.media(scheme)
            self.assertEqual(self.page.axe(), [], scheme)

    def test_draws_each_node_and_input_once(self):
        self.open("resnet8")
        expected = ["input"] * len(self.model["inputs"]) + [node["op_type"] for node in self.model["nodes"]]
        self.assertEqual(self.operators(), sorted(expected))
        self.assertEqual(self.overlaps(), [])

    def test_lines_lead_down_from_giver_to_reader(self):
        self.open("resnet8")
        makers = {name: node["name"] for node in self.model["nodes"] for name in node["outputs"]}
        expected = {(makers[name], node["name"]) for node in self.model["nodes"] for name in node["inputs"] if name in makers}
        found = self.page.run("drawing.edges.filter(e => e.from.name).map(e => [e.from.name, e.to.name])")
        self.assertEqual({tuple(edge) for edge in found}, expected)
        ups = self.page.run("""drawing.edges.filter(e => drawing.boxes.get(e.from).getBoundingClientRect().bottom
          > drawing.boxes.get(e.to).getBoundingClientRect().top).length""")
        self.assertEqual(ups, 0)

    def test_writes_types_below_boxes_and_marks_what_is_inferred(self):
        self.open_file(save(*decoder(1), "layer.onnx"))
        self.assertEqual({value["name"] for value in self.model["inferred"]},
                         {node["outputs"][0] for node in self.model["nodes"][:-1]})
        # The outputs of the layer's first five nodes are not declared; that of the last is one of the graph.
        self.assertEqual(set(self.all(".drawing .type.inferred")), {"FLOAT[3,2]"})
        self.assertEqual(self.all(".drawing .type:not(.inferred)"), ["FLOAT[3,2]"])  # of the input x
        self.assertEqual(self.all(".list .type.inferred"), ["FLOAT[3,2] inferred"] * 5)

    def test_groups_open_and_close(self):
        self.open_file(save(*decoder(40), "forty.onnx"))
        self.click("[name=close]")
        self.assertEqual(self.operators(), ["input"])
        self.assertEqual(self.all(".box.group", "e.getAttribute('aria-label')"), ["model 240 nodes"])
        self.click("[name=open]")
        self.assertEqual(self.operators(), sorted(["input"] + LAYER * 40))
        self.assertEqual(self.overlaps(), [])
        self.assertEqual(sorted(self.all(".frame > .head .op"))[:2], ["attention"] * 2)
        self.page.run("$('.frame > .head').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.assertEqual(self.operators(), ["input"])

    def test_bodies_are_groups_beside_their_node(self):
        self.open_file(os.path.join(NODES, "test_if/model.onnx"))
        heads = self.all(".frame > .head .op")
        groups = self.page.run("drawing.root.members.map(m => m.label ?? m.op)")
        self.assertIn("If", groups)
        self.assertEqual(len(self.page.run("data.bodies")), 2)
        self.assertEqual(heads, [])  # each branch is one Constant, and so no group
        self.open_file(os.path.join(NODES, "test_loop11/model.onnx"))
        body = self.page.run("data.bodies.map(b => b.path.slice(0, -1))")
        self.assertEqual(self.all(".frame > .head .op"), body)
        # What the body gives joins its group with the Loop.
        self.assertIn([body[0], "Loop"], self.page.run("[...drawing.root.links.values()].map(l => [l.source.label ?? '', l.target.op])"))

    def test_a_node_and_its_row_choose_each_other(self):
        self.open("mobilenet_v2_1.0_224")
        self.click("[name=close]")
        self.click(".list > li:nth-child(40) .row")
        name = self.page.run("items[39].name")
        self.assertEqual(self.page.run("drawing.chosen.name"), name)
        self.assertEqual(len(self.all(".box[aria-pressed=true]")), 1)
        box, frame = self.page.run("""[$('.box[aria-pressed=true]'), $('.graph')].map(e => { const b = e.getBoundingClientRect();
          return [b.left, b.top, b.right, b.bottom]; })""")
        self.assertTrue(frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3], (box, frame))
        self.page.run("drawing.boxes.get(items[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        self.assertTrue(self.page.run("items[0].element.classList.contains('open')"))
        self.assertEqual(self.page.run("$('.box[aria-pressed=true] .op').textContent"), "input")

    def test_keys_walk_along_values(self):
        self.open("aww")
        self.page.run("drawing.setCurrent(items[0], true)")
        walked = []
        for _ in range(3):
            self.page.key("ArrowDown")
            walked.append(self.page.run("document.activeElement.getAttribute('aria-label')"))
        self.assertEqual(len(set(walked)), 3)
        for _ in range(3):
            self.page.key("ArrowUp")
        self.assertEqual(self.page.run("drawing.current === items[0]"), True)
        self.page.key("Enter")
        self.assertEqual(self.page.run("drawing.chosen === items[0]"), True)
        self.assertEqual(self.all(".box[tabindex='0']", "1"), [1])  # one stop of the Tab key

    def test_overlays_say_in_words_what_they_colour(self):
        self.open("resnet8")
        self.show("quantization")
        value = next(value for value in self.model["values"] if value["name"] == self.model["nodes"][1]["outputs"][0])
        words = self.page.run("$('.words', drawing.boxes.get(data.nodes[1])).textContent")
        self.assertEqual(words, "scale %s, offset %d" % (self.page.run("real(%r)" % float.fromhex(value["scale"][0])), value["offset"][0]))
        self.assertIn("tensor", self.page.run("drawing.boxes.get(data.nodes[1]).getAttribute('class')"))
        self.assertIn("per tensor", self.all(".kinds li"))
        self.show("statistics")
        words = self.page.run("$('.words', drawing.boxes.get(data.nodes[1])).textContent")
        low, high = (float.fromhex(value["statistics"][key][0]) for key in ("min", "max"))
        self.assertTrue(words.startswith("%s … %s" % (self.page.run("real(%r)" % low), self.page.run("real(%r)" % high))), words)
        self.assertNotIn("error", self.page.run("[...$('.tools').elements.overlay.options].map(o => o.value)"))  # no report

    def test_says_what_was_judged(self):
        self.open_file(os.path.join(NODES, "test_add/model.onnx"))
        self.assertEqual(self.all("#verdict"), ["–Nothing was judged"])
        self.open("resnet8")
        judged = self.model["judged"]
        self.assertGreater(judged["neither"], 0)
        every = judged["range_and_data"] + judged["range_alone"] + judged["data_alone"]
        self.assertIn("in the %d of %d values that were judged" % (every, every + judged["neither"]), self.all("#verdict")[0])

    def test_six_thousand_nodes_open_closed(self):
        seconds = self.open_file(save(*decoder(1000), "thousand.onnx"))
        self.assertLess(seconds, 30)  # about 2; a slow machine under load
        self.assertEqual(len(self.all(".list > li", "1")), 6001)
        self.assertLessEqual(len(self.all(".box", "1")), 100)
        self.assertTrue(self.page.run("$('.tools').elements.open.disabled"))
        self.page.run("toggle(items[3000])")
        self.assertEqual(self.page.run("$('.box[aria-pressed=true] .op').textContent"), self.model["nodes"][2999]["op_type"])
        self.assertEqual(self.overlaps(), [])

    def test_names_are_text(self):
        evil = ["</script><script>document.title = 'evil'</script>", "__proto__/constructor/x", "a/\u202eb\u2066/c\x07", "/" * 900, "]]>/-->/x", "\n/\n"]
        nodes = [helper.make_node("Relu", [(["x"] + evil)[i]], [name], name=name) for i, name in enumerate(evil)]
        self.open_file(save(nodes, evil[-1], "evil.onnx"))
        self.assertEqual(self.operators(), sorted(["input"] + ["Relu"] * len(evil)))
        self.assertNotEqual(self.page.run("document.title"), "evil")
        self.assertEqual(self.page.run("document.scripts.length"), 3)
        self.assertFalse(set("\u202e\u2066\x07") & set("".join(self.all(".box, .port, .row"))))

    def test_text_can_be_read_and_fits_a_phone(self):
        for theme in ("light", "dark"):
            self.page.media(theme)
            self.open("resnet8")
            for overlay in ("names", "quantization", "statistics"):
                self.show(overlay)
                self.assertEqual(self.page.run(chromium.CONTRAST), [], (theme, overlay))
        self.page.size(390, 844)
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    main()
