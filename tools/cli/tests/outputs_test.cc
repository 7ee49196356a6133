// An output that would destroy an input or another output of the same command.
#include "program.h"

namespace qtx::cli {
namespace {

namespace fs = std::filesystem;

class Outputs : public Program {
 protected:
  Outputs() {
    fs::copy(Network("aww") + "/model.onnx", Path("m.onnx"));
    fs::create_directories(Path("data"));
    fs::copy(Network("aww") + "/normal/input_0.npy", Path("data/x.npy"));
    fs::create_directories(Path("suite"));
    fs::copy(QTX_SOURCE_DIR "/conformance/cases/ops/abs", Path("suite"),
             fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(Path("suite"))) {
      if (entry.path().extension() == ".yaml") case_file_ = entry.path().string();
    }
  }

  // `arguments` are refused in one line of `option` that names `file`, which keeps its bytes.
  void ExpectRefused(const std::string& arguments, const std::string& option,
                     const std::string& file) const {
    const std::string before = Contents(file);
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << outcome.err;
    EXPECT_TRUE(IsOneLine(outcome.err)) << arguments << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with(option + ": found '")) << arguments << outcome.err;
    EXPECT_NE(outcome.err.find(file), std::string::npos) << arguments << outcome.err;
    EXPECT_TRUE(Contents(file) == before) << arguments;
  }

  std::string case_file_;
};

TEST_F(Outputs, AreNoInputs) {
  const std::string model = Path("m.onnx"), x = Path("data/x.npy"), data = Path("data");
  ExpectRefused("inspect " + model + " --html " + model, "--html", model);
  const std::string calibrate = "calibrate " + model + " --data ";
  ExpectRefused(calibrate + x + " -o " + x, "--output", x);
  ExpectRefused(calibrate + data + " -o " + x, "--output", x);
  fs::create_symlink(x, Path("link"));
  ExpectRefused(calibrate + x + " -o " + Path("link"), "--output", x);
  ExpectRefused("quantize " + model + " --data " + x + " -o " + x, "--output", x);
  ExpectRefused("validate --suite " + Path("suite") + " --json " + case_file_, "--json",
                case_file_);
}

TEST_F(Outputs, AreNoFilesOfBackends) {
  fs::create_directories(Path("spec/ops"));
  const std::string chapter = Write("spec/ops/abs.md", "# Abs\n"), program = Write("p", "exit 1\n"),
                    text = " --backend text:spec=" + Path("spec"),
                    command = " --backend \"cmd:sh '" + program + "'\"",
                    validate = "validate --suite " + Path("suite");
  ExpectRefused(validate + text + " --json " + chapter, "--json", chapter);
  ExpectRefused(validate + command + " --html " + program, "--html", program);
  ExpectRefused("bench" + command + " --json " + program, "--json", program);
  ExpectRefused("review 0003" + command + " --html " + program, "--html", program);
  ExpectRefused("shrink --case a" + command + " -o " + program, "--output", program);
}

TEST_F(Outputs, OfRunAreNoInputs) {
  const Outcome first = Run("run " + Path("m.onnx") + " --arithmetic tflite --input " +
                            Path("data/x.npy") + " --output-dir " + Path("o"));
  ASSERT_EQ(first.status, 0) << first.err;
  const std::string output = fs::directory_iterator(Path("o"))->path().string();
  ExpectRefused("run " + Path("m.onnx") + " --input " + output + " --output-dir " + Path("o"),
                "--output-dir", output);
}

TEST_F(Outputs, OfWholeFoldersHoldNoInputs) {
  const std::string reproducer = Path("shrunk");
  const std::string shrink = "shrink --backend faulty:quantize_half_away -o " + reproducer;
  const std::string x = reproducer + "/inputs/a.npy";
  const Outcome first = Run(shrink + " --case quantize_linear/ties_int8");
  ASSERT_EQ(first.status, 0) << first.err;
  ExpectRefused(shrink + " --model " + reproducer + "/model.onnx --input " + x, "--output", x);
  ExpectRefused(shrink + " --suite " + reproducer + " --case shrunk/quantize_linear/ties_int8",
                "--output", reproducer);
  EXPECT_TRUE(fs::exists(reproducer + "/case.yaml"));
  fs::create_directories(Path("site"));
  Write("site/report.json", "{}");
  ExpectRefused("spec html --report " + Path("site/report.json") + " -o " + Path("site"),
                "--output", Path("site/report.json"));
  ExpectRefused("power --suite " + Path("suite") + " --json " + case_file_, "--json", case_file_);
}

TEST_F(Outputs, AreDistinct) {
  const std::string same = Path("same"), validate = "validate --suite " + Path("suite");
  ExpectRefused(validate + " --json " + same + " --html " + Path("./same"), "--html", same);
  ExpectRefused(validate + " --resume " + same + " --json " + same, "--resume", same);
  ExpectRefused("calibrate " + Path("m.onnx") + " --data " + Path("data") + " -o " + same +
                    " --resume " + same,
                "--resume", same);
  EXPECT_EQ(Run("validate --backend reference --suite " + Path("suite") +
                " --json /dev/null --html /dev/null")
                .status,
            0);
}

// The limit of file sizes ends the writing; `false` is no backend.
TEST_F(Outputs, OfAFailingRunLeaveNoFolderThatItMade) {
  const std::string model = Path("m.onnx"), made = Path("made");
  for (const std::string& arguments :
       {"run " + model + " --input " + Path("data/x.npy") + " --output-dir " + made + "/a/b",
        "convert " + model + " -o " + made + "/",
        "fuzz --backend cmd:false --cases 1 -o " + made}) {
    EXPECT_EQ(Run(arguments, "ulimit -f 0;").status, 4) << arguments;
    EXPECT_FALSE(fs::exists(made)) << arguments;
  }
}

TEST_F(Outputs, MayReplaceTheModelTheyAreMadeOf) {
  EXPECT_EQ(Run("convert --infer " + Path("m.onnx") + " -o " + Path("m.onnx")).status, 0);
  EXPECT_EQ(Run("check " + Path("m.onnx")).status, 0);
}

}  // namespace
}  // namespace qtx::cli
