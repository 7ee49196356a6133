#!/usr/bin/env python3
"""options_test.py QTX SOURCE_FOLDER

What all commands have in common: --json, --quiet, ledgers, kinds of models, arrays of NumPy, losses, filters, interruption.
"""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

QTX, SOURCE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
TFLITE = SOURCE / "conformance/cases/models/aww/source.tflite"
SAMPLE = SOURCE / "conformance/cases/models/aww/normal/input_0.npy"
ABS = SOURCE / "conformance/cases/ops/abs"


def identity(folder, name, inputs):
    """A model that gives back its inputs: {name: (type, shape)}."""
    types = {key: helper.make_tensor_value_info(key, *value) for key, value in inputs.items()}
    outputs = [helper.make_tensor_value_info("of_" + key, *value) for key, value in inputs.items()]
    nodes = [helper.make_node("Identity", [key], ["of_" + key]) for key in inputs]
    model = helper.make_model(helper.make_graph(nodes, "g", list(types.values()), outputs), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / name)


def gemm(folder, name):
    """y = relu(x w)"""
    def value(key, size):
        return helper.make_tensor_value_info(key, TensorProto.FLOAT, [1, size])
    weights = numpy_helper.from_array(numpy.linspace(-1, 1, 24, dtype=numpy.float32).reshape(4, 6), "w")
    nodes = [helper.make_node("Gemm", ["x", "w"], ["h"], name="first"), helper.make_node("Relu", ["h"], ["y"], name="last")]
    graph = helper.make_graph(nodes, "g", [value("x", 4)], [value("y", 6)], [weights], value_info=[value("h", 6)],
                              doc_string="what only ONNX has a place for")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / name)


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="qtx")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        gemm(self.folder, "m.onnx")
        numpy.save(self.folder / "x.npy", numpy.array([[1, -2, 3, 0.5]], numpy.float32))
        (self.folder / "b.tflite").write_bytes(TFLITE.read_bytes())

    def run_qtx(self, *words, status=0):
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        done = subprocess.run([QTX, *map(str, words)], cwd=self.folder, env=environment, capture_output=True, timeout=300)
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, f"{words}: {self.err}")
        return self.out

    def quantized(self):
        self.run_qtx("calibrate", "m.onnx", "--data", "x.npy", "-o", "c.onnx")
        self.run_qtx("quantize", "c.onnx", "-o", "q.onnx")


class Json(Case):
    def commands(self):
        self.quantized()
        return [["check", "m.onnx"], ["inspect", "m.onnx"], ["convert", "m.onnx", "-o", "o.onnx"], ["lower", "q.onnx", "-o", "o.onnx"],
                ["lift", "m.onnx", "-o", "o.onnx"], ["diff", "m.onnx", "m.onnx"], ["calibrate", "m.onnx", "--data", "x.npy", "-o", "o.onnx"],
                ["calibrate", "--merge", "c.onnx", "-o", "o.onnx"], ["quantize", "c.onnx", "-o", "o.onnx"],
                ["run", "m.onnx", "--input", "x.npy", "--output-dir", "run"], ["compare", "m.onnx", "--input", "x.npy"], ["validate", "--suite", ABS, "--backend", "x86"],
                ["validate", "--suite", ABS, "--coverage"], ["identify", "--suite", ABS, "--backend", "x86"],
                ["spec", "run", SOURCE / "spec/ops/abs.md"], ["fuzz", "--backend", "x86", "--cases", "1", "--operators", "Relu"],
                ["bench", "--backend", "reference", "--filter", "gemm/64x64x64", "--types", "u8s8", "--threads", "1", "--seconds", "0.0001"],
                ["shrink", "--backend", "faulty:quantize_half_away", "--suite", ABS.parent / "quantize_linear", "--case",
                 "quantize_linear/ties_int8", "-o", "shrunk"]]

    def test_goes_to_a_file_beside_the_text_or_to_stdout_in_its_place(self):
        for words in self.commands():
            status = 1 if "--coverage" in words else 0
            with self.subTest(words=words):
                self.run_qtx(*words, "--json", "out.json", status=status)
                self.assertTrue(self.out, "no text")
                self.assertFalse(self.out.startswith("{"))
                of_file = json.loads((self.folder / "out.json").read_text())
                of_stdout = json.loads(self.run_qtx(*words, "--json", "-", status=status))
                self.assertEqual(list(of_file), list(of_stdout))
                self.assertEqual(self.run_qtx(*words, "--quiet", status=status), "")
                self.assertEqual(list(json.loads(self.run_qtx(*words, "-q", "--json", "-", status=status))), list(of_stdout))
                self.run_qtx(*words, "--json", status=2)
                self.assertIn("--json: found no file, expected one, or --json - for stdout", self.err)
                self.assertEqual(self.out, "")
                self.run_qtx(*words, "--json", "nowhere/out.json", status=4)
                self.assertTrue(self.err.startswith("nowhere/out.json: "), self.err)

    def test_replaces_only_what_is_json(self):
        before = (self.folder / "m.onnx").read_bytes()
        self.run_qtx("check", "--json", "m.onnx", "m.onnx", status=2)
        self.run_qtx("check", "--json", "b.tflite", "m.onnx", status=2)
        self.assertIn("--json: found 'b.tflite', which is there and is no JSON document", self.err)
        self.assertEqual((self.folder / "m.onnx").read_bytes(), before)
        self.assertEqual((self.folder / "b.tflite").read_bytes(), TFLITE.read_bytes())
        for _ in range(2):
            self.run_qtx("check", "m.onnx", "--json", "out.json")

    def test_has_stdout_alone(self):
        self.run_qtx("convert", "m.onnx", "-o", "-", "--json", "-", status=2)
        self.assertEqual(self.err, "--json: found '-', stdout, which --output has, expected a file\n")
        self.assertEqual(self.out, "")


class Ledger(Case):
    def test_is_a_summary_unless_all_is_asked_for(self):
        self.run_qtx("convert", "b.tflite", "-o", "o.onnx")
        summary = self.out.splitlines()
        self.assertIn("shape of ", self.out)
        self.assertRegex(self.out, r"--ledger lists \d+ more\n")
        whole = self.run_qtx("convert", "b.tflite", "-o", "o.onnx", "--ledger").splitlines()
        entries = json.loads(self.run_qtx("convert", "b.tflite", "-o", "o.onnx", "--json", "-"))["ledger"]
        told = [entry for entry in entries if entry["why"]]
        self.assertEqual(len(whole), len(told) + 1)
        self.assertEqual(summary[-1], whole[-1])
        groups = {(entry["fate"], entry["field"]) for entry in told}
        self.assertEqual(len(summary), min(len(groups), 24) + 2)
        untold = sum(int(count) for count in re.findall(r"--ledger lists (\d+)", "\n".join(summary)))
        self.assertEqual(untold, len(told) - len(groups))


class Kinds(Case):
    def test_are_read_by_every_command_that_takes_a_model(self):
        self.assertEqual(self.run_qtx("check", "b.tflite"), "b.tflite: conforms\n")
        self.assertIn("INT8Q", self.run_qtx("inspect", "b.tflite"))
        self.run_qtx("run", "b.tflite", "--input", SAMPLE, "--output-dir", "a", "--arithmetic", "tflite")
        self.run_qtx("convert", "b.tflite", "-o", "e.onnx")
        self.run_qtx("run", "e.onnx", "--input", SAMPLE, "--output-dir", "b", "--arithmetic", "tflite")
        for one in (self.folder / "a").iterdir():
            self.assertEqual(one.read_bytes(), (self.folder / "b" / one.name).read_bytes())

    def test_that_need_more_files_name_the_line_that_takes_them(self):
        self.quantized()
        self.run_qtx("convert", "c.onnx", "--to", "csv", "-o", "t.csv")
        for words in (["check", "t.csv"], ["inspect", "t.csv"], ["run", "t.csv"], ["calibrate", "t.csv", "--data", "x.npy", "-o", "o.onnx"]):
            self.run_qtx(*words, status=3)
            self.assertTrue(self.err.startswith("t.csv: "), self.err)
            self.assertIn("'qtx convert t.csv --with FILE -o t.onnx'", self.err)
        self.run_qtx("convert", "t.csv", "--with", "m.onnx", "-o", "t.onnx")

    def test_are_those_of_the_names_of_outputs(self):
        self.quantized()
        for words in (["quantize", "c.onnx"], ["calibrate", "m.onnx", "--data", "x.npy"], ["convert", "--infer", "m.onnx"],
                      ["convert", "--restore", "q.onnx", "m.onnx"], ["lower", "q.onnx"], ["convert", "--to", "qdq", "q.onnx"]):
            self.run_qtx(*words, "-o", "o.tflite", status=2)
            self.assertRegex(self.err, r"^--output: found 'o.tflite', a name for tflite, expected .onnx, which is of (qtx|qdq)\n$")
            self.assertFalse((self.folder / "o.tflite").exists())
        self.run_qtx("convert", "q.onnx", "-o", "o.tflite", "--allow", "statistics", "--allow", "origin", "--allow", "documentation",
                     "--allow", "scheme")
        self.assertEqual((self.folder / "o.tflite").read_bytes()[4:8], b"TFL3")


class Arrays(Case):
    """numpy says what is in its files: the model gives back what it reads."""

    def outputs(self, *inputs, status=0):
        words = [word for value in inputs for word in ("--input", value)]
        self.run_qtx("run", "i.onnx", *words, "--output-dir", "out", status=status)
        return {path.stem: numpy.load(path) for path in (self.folder / "out").glob("*.npy")}

    def test_of_an_archive_are_taken_by_name(self):
        identity(self.folder, "i.onnx", {"a": (TensorProto.FLOAT, [2, 3]), "b": (TensorProto.INT64, [2])})
        a, b = numpy.arange(6, dtype=numpy.float32).reshape(2, 3), numpy.array([5, -7])
        numpy.savez(self.folder / "both.npz", a=a, b=b)
        numpy.savez_compressed(self.folder / "more.npz", a=numpy.asfortranarray(a), c=b, b=b)
        numpy.savez(self.folder / "one.npz", b)
        numpy.save(self.folder / "a.npy", a)
        for inputs in (["both.npz"], ["more.npz"], ["a=a.npy", "b=one.npz"], ["a=both.npz", "b=more.npz"]):
            found = self.outputs(*inputs)
            numpy.testing.assert_array_equal(found["of_a"], a)
            numpy.testing.assert_array_equal(found["of_b"], b)
        numpy.savez(self.folder / "none.npz", x=a, y=b)
        self.outputs("none.npz", status=3)
        self.assertIn("none.npz: found 2 arrays, none of them 'a', expected it, or one array alone", self.err)
        whole = (self.folder / "both.npz").read_bytes()
        for size in (0, 10, len(whole) // 2, len(whole) - 1):
            (self.folder / "cut.npz").write_bytes(whole[:size])
            self.outputs("cut.npz", status=3)
            self.assertTrue(self.err.startswith("cut.npz: "), self.err)
            self.assertEqual(self.err.count("\n"), 1, self.err)
        self.outputs("both.npz", "a=a.npy", status=2)

    def test_in_fortran_order_are_turned(self):
        identity(self.folder, "i.onnx", {"a": (TensorProto.FLOAT, [2, 3, 4])})
        a = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
        numpy.save(self.folder / "f.npy", numpy.asfortranarray(a))
        self.assertIn(b"'fortran_order': True", (self.folder / "f.npy").read_bytes())
        numpy.testing.assert_array_equal(self.outputs("f.npy")["of_a"], a)

    def test_in_fortran_order_calibrate_as_in_c_order(self):
        samples = numpy.random.default_rng(1).normal(size=(5, 4)).astype(numpy.float32)
        for name, order in (("c", "C"), ("f", "F")):
            array = numpy.array(samples, order=order)
            numpy.save(self.folder / f"{name}.npy", array)
            numpy.savez(self.folder / f"{name}.npz", x=array)
        made = []
        for data in ("c.npy", "f.npy", "c.npz", "f.npz"):
            self.run_qtx("calibrate", "m.onnx", "--data", data, "-o", "o.onnx", "--threads", "2")
            self.assertIn("5 samples", self.out)
            made.append(json.loads(self.run_qtx("inspect", "o.onnx", "--json", "-"))["inputs"])
        self.assertEqual(made, made[:1] * 4)

    def test_of_double_are_rounded_once(self):
        # Half an ulp above 1 in either type: to even; a little more: up. Through binary32 it would be a tie in FLOAT16, and even.
        for kind, ulp in ((TensorProto.FLOAT, 2.0**-23), (TensorProto.FLOAT16, 2.0**-10)):
            identity(self.folder, "i.onnx", {"a": (kind, [1, 4])})
            a = numpy.array([[1, 1 + ulp / 2, 1 + ulp / 2 + 2.0**-52, -numpy.inf]])
            numpy.save(self.folder / "d.npy", a)
            found = self.outputs("d.npy")["of_a"].astype(numpy.float64)
            numpy.testing.assert_array_equal(found, [[1, 1, 1 + ulp, -numpy.inf]])
            self.assertRegex(self.err, r"d.npy: input 'a': DOUBLE is FLOAT(16)?, 2 of 4 elements rounded half to even\n")
            numpy.save(self.folder / "d.npy", numpy.array([[1, 2, 3, 1e39]]))
            self.outputs("d.npy", status=3)
            self.assertIn("element 3: found the DOUBLE 1e+39, expected one in the range of FLOAT", self.err)

    def test_of_double_for_integers_are_refused_unless_exact(self):
        self.quantized()
        quantized = json.loads(self.run_qtx("inspect", "q.onnx", "--json", "-"))
        self.assertTrue(quantized["inputs"])
        self.run_qtx("quantize", "c.onnx", "-o", "q8.onnx", "--io", "quantized")
        numpy.save(self.folder / "d.npy", numpy.array([[1, -2, 3, 0.5]]))
        self.run_qtx("run", "q8.onnx", "--input", "d.npy", "--output-dir", "out")
        self.assertIn("reals quantized by the input's own parameters", self.err)
        numpy.save(self.folder / "d.npy", numpy.array([[1, -2, 0.1, 0.5]]))
        self.run_qtx("run", "q8.onnx", "--input", "d.npy", "--output-dir", "out", status=3)
        self.assertIn("element 2: found the DOUBLE 0.1, expected one that is exact in FLOAT", self.err)


class Told(Case):
    def test_losses_are_told_at_once(self):
        self.quantized()
        self.run_qtx("convert", "q.onnx", "-o", "o.tflite", status=3)
        allowed = re.findall(r"--allow (\w+)", self.err)
        self.assertGreater(len(allowed), 1, self.err)
        self.assertEqual(self.err.count("\n"), 1)
        for left_out in allowed:
            words = [word for loss in allowed if loss != left_out for word in ("--allow", loss)]
            self.run_qtx("convert", "q.onnx", "-o", "o.tflite", *words, status=3)
            self.assertEqual(re.findall(r"--allow (\w+)", self.err), [left_out])
        self.run_qtx("convert", "q.onnx", "-o", "o.tflite", *[word for loss in allowed for word in ("--allow", loss)])

    def test_filters_that_match_nothing_are_named(self):
        self.run_qtx("validate", "--suite", ABS, "--backend", "reference", "--filter", "abs/*", "--filter", "asb/*")
        self.assertEqual(self.err, "--filter asb/*: matches nothing\n")
        self.run_qtx("validate", "--suite", ABS, "--backend", "reference", "--filter", "abs/*")
        self.assertEqual(self.err, "")
        self.run_qtx("bench", "--list", "--filter", "gemm/*", "--filter", "gmem/*")
        self.assertEqual(self.err, "--filter gmem/*: matches nothing\n")

    def test_bench_refuses_an_arithmetic_that_nobody_knows(self):
        self.run_qtx("bench", "--list", "--arithmetic", "exakt", status=2)
        self.assertRegex(self.err, r"^--arithmetic: .*exakt.*\n$")

    def test_a_quantized_model_is_not_quantized_again(self):
        for model in ("b.tflite", "q.onnx"):
            self.quantized()
            self.run_qtx("quantize", model, "-o", "again.onnx", status=3)
            self.assertRegex(self.err, rf"^{model}: found \d+ values that are quantized already and none to quantize, expected a float model")
            self.assertFalse((self.folder / "again.onnx").exists())


class Interrupted(Case):
    def test_bench_keeps_what_it_has(self):
        words = [QTX, "bench", "--backend", "reference", "--filter", "gemm/*", "--types", "u8s8", "--threads", "1", "--unchecked",
                 "--seconds", "0.05", "--json", "b.json"]
        with subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for line in process.stdout:
                if line.startswith(b"gemm/"):
                    break
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertRegex(err.decode(), r"^interrupted at gemm/\S+: \d+ of \d+ workloads are left out\n$")
        report = json.loads((self.folder / "b.json").read_text())
        self.assertTrue(report["interrupted"])
        self.assertGreaterEqual(len(report["rows"]), 1)
        self.assertTrue(all(row["outcome"] == "measured" for row in report["rows"]))


# What the process may still do when it ends: "r", "w" and so on for what is permitted, "-" for what is not.
ATTEMPTS = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
__attribute__((destructor)) static void attempt(void) {
  char said[] = "----\n";
  char* none[] = {0};
  if (open(getenv("ELSEWHERE"), O_RDONLY) >= 0) said[0] = 'r';
  if (open(getenv("ELSEWHERE"), O_WRONLY) >= 0) said[1] = 'w';
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0) said[2] = 's';
  if (execve("/none", none, none) != 0 && errno == ENOENT) said[3] = 'x';
  (void)!write(2, said, 5);
}
"""


# KERNEL PROGRAM ...: runs PROGRAM where a call fails as on a kernel without "landlock", or without "seccomp" filters.
OLDER_KERNEL = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
  if (count < 3) return 1;
  struct sock_filter landlock[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_filter seccomp[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
                                  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog of_landlock = {sizeof landlock / sizeof *landlock, landlock};
  struct sock_fprog of_seccomp = {sizeof seccomp / sizeof *seccomp, seccomp};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, strcmp(words[1], "seccomp") == 0 ? &of_seccomp : &of_landlock) != 0) return 1;
  execvp(words[2], words + 2);
  return 1;
}
"""


class Sandbox(Case):
    """Commands that read what others wrote, judged by a library that is loaded into their process."""

    VALIDATE = ["validate", "--backend", f"cmd:{QTX} serve --backend reference", "--suite", str(ABS)]

    @classmethod
    def setUpClass(cls):
        cls.tools = tempfile.TemporaryDirectory(prefix="qtx")
        cls.library = pathlib.Path(cls.tools.name, "attempts.so")
        subprocess.run(["cc", "-x", "c", "-shared", "-fPIC", "-o", cls.library, "-"], input=ATTEMPTS.encode(), check=True)
        cls.older_kernel = pathlib.Path(cls.tools.name, "older_kernel")
        subprocess.run(["cc", "-x", "c", "-o", cls.older_kernel, "-"], input=OLDER_KERNEL.encode(), check=True)
        cls.elsewhere = pathlib.Path(cls.tools.name, "elsewhere")
        cls.elsewhere.write_text("not for qtx\n")

    @classmethod
    def tearDownClass(cls):
        cls.tools.cleanup()

    def run_on(self, kernel, *words, **options):
        return subprocess.run([*kernel, QTX, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=300, **options)

    def may(self, *words, kernel=()):
        environment = {**os.environ, "LD_PRELOAD": str(self.library), "ELSEWHERE": str(self.elsewhere)}
        done = self.run_on(kernel, *words, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr.splitlines()[-1]

    def test_readers_may_do_nothing_else(self):
        self.quantized()
        for words in (["check", "m.onnx"], ["inspect", "m.onnx", "--html", "page.html"], ["convert", "b.tflite", "-o", "o.onnx"],
                      ["lower", "q.onnx", "-o", "o.onnx"], ["lift", "o.onnx", "-o", "l.onnx"], ["diff", "m.onnx", "m.onnx"],
                      ["calibrate", "m.onnx", "--data", "x.npy", "-o", "o.onnx"], ["quantize", "c.onnx", "-o", "o.onnx"],
                      ["run", "m.onnx", "--input", "x.npy"], ["validate", "--backend", "reference", "--suite", ABS],
                      ["spec", "run", SOURCE / "spec/ops/abs.md"], ["serve", "--backend", "x86"]):
            with self.subTest(words=words):
                self.assertEqual(self.may(*words), "----")
                self.assertEqual(self.may(*words, "--sandbox", "strict"), "----")
                self.assertEqual(self.may(*words, "--sandbox", "off"), "rwsx")

    def test_an_older_kernel_withholds_what_it_can(self):
        for lacks, allowed, reason in (("landlock", "rw--", "no Landlock"), ("seccomp", "--sx", "no seccomp filters")):
            with self.subTest(lacks=lacks):
                kernel = (self.older_kernel, lacks)
                self.assertEqual(self.may("check", "m.onnx", kernel=kernel), allowed)
                for words in (["check", "m.onnx"], self.VALIDATE):
                    done = self.run_on(kernel, *words, "--sandbox", "strict")
                    self.assertEqual((done.returncode, done.stdout), (2, ""))
                    self.assertRegex(done.stderr, rf"^--sandbox( strict)?: this kernel has {reason}\n$")
                done = self.run_on(kernel, *self.VALIDATE)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn(f": this kernel has {reason}, so its sandbox is not whole\n", done.stderr)

    def test_links_beside_the_model_lead_where_they_did(self):
        blobs = self.folder / "blobs"
        blobs.mkdir()
        (self.folder / "m.onnx").rename(blobs / "0123")
        cache = self.folder / "cache"
        cache.mkdir()
        (cache / "m.onnx").symlink_to("../blobs/0123")
        (cache / "o.onnx").symlink_to("../new.onnx")
        self.run_qtx("convert", "cache/m.onnx", "-o", "cache/o.onnx")
        self.run_qtx("check", "new.onnx")

    def test_says_what_may_be_the_reason(self):
        deep = self.folder / "data" / "deep"
        deep.mkdir(parents=True)
        (deep / "x.npy").symlink_to(self.elsewhere)
        self.run_qtx("calibrate", "m.onnx", "--data", "data", "-o", "o.onnx", status=3)
        self.assertEqual(self.err, "deep/x.npy: Permission denied, or outside of the folders that the command names, which --sandbox off permits\n")
        self.run_qtx("calibrate", "m.onnx", "--data", "data", "-o", "o.onnx", "--sandbox", "off", status=3)
        self.assertNotIn("Permission", self.err)


class Rounding(Case):
    def test_the_first_product_is_rounded_alike_by_sums_and_by_data(self):
        (self.folder / "data").mkdir()
        for i, row in enumerate(numpy.random.default_rng(1).standard_normal((8, 1, 4)).astype(numpy.float32)):
            numpy.save(self.folder / f"data/{i}.npy", row)
        data = ["--data", "data"]
        self.run_qtx("calibrate", "m.onnx", *data, "-o", "c.onnx")
        self.run_qtx("calibrate", "c.onnx", *data, "-o", "again.onnx", "--gram", "gram.onnx")
        for method in ("gptq", "coordinate-descent"):
            made = []
            for by in (["--gram", "gram.onnx"], data):
                self.run_qtx("quantize", "c.onnx", "--weights", "int4", "--method", method, *by, "-o", "q.onnx")
                made.append((self.folder / "q.onnx").read_bytes())
            self.assertEqual(*made)

    def test_sums_and_bias_correction_are_refused_where_they_do_not_go_together(self):
        for words, message in ((["--method", "gptq"], "--method gptq: needs --gram, which qtx calibrate writes, or --data\n"),
                               (["--awq", "mul"], "--awq mul: needs --gram, which qtx calibrate writes, or --data\n"),
                               (["--act-order"], "--act-order: needs --method gptq or coordinate-descent\n"),
                               (["--method", "gptq", "--data", "x.npy", "--bias-correction"],
                                "--bias-correction: takes the mean error of weights that --method gptq with --data does not leave\n")):
            self.run_qtx("quantize", "m.onnx", *words, "-o", "q.onnx", status=2)
            self.assertEqual(self.err, message)


class Progress(Case):
    def terminal(self, *words):
        """What the command writes to stderr where that is a terminal."""
        leader, follower = pty.openpty()
        with subprocess.Popen([QTX, *map(str, words)], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=follower) as process:
            os.close(follower)
            text = b""
            while True:
                try:
                    part = os.read(leader, 4096)
                except OSError:
                    break
                if not part:
                    break
                text += part
        os.close(leader)
        return text.decode()

    def test_has_the_time_left(self):
        words = ["fuzz", "--backend", "x86", "--operators", "Relu", "--minutes", "0.03"]
        self.assertRegex(self.terminal(*words), r"\rmodel \d+  \d+ s left\x1b\[K")
        self.assertEqual(self.terminal(*words, "--quiet"), "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
