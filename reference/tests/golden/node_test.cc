// Holds the reference to ONNX's node tests: integers to the bit, floats within the bound derived
// for their operator (bounds.cc). QTX_GOLDEN_REPORT=1 prints the figures per op_type; `used` is the
// greatest share of its bound that a float was off by.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "qtx/format/file.h"
#include "qtx/reference/interpreter.h"
#include "tests/golden/case.h"
#include "tests/golden/compare.h"
#include "tests/golden/enclosure.h"
#include "tests/golden/known_differences.h"

namespace qtx::reference::golden {
namespace {

using format::Tensor;

struct Figures {
  int cases = 0;
  int pass = 0;
  int listed = 0;
  double used = 0;
};

// Prints the figures when all tests have run.
class Report : public ::testing::Environment {
 public:
  static Report& Instance() {
    static auto* report = new Report;  // GoogleTest deletes it
    return *report;
  }
  void Count(const NodeCase& node_case, const Verdict& verdict, bool listed) {
    for (const std::string& op : node_case.op_types) Count(&figures_[op], verdict, listed);
    Count(&total_, verdict, listed);
  }
  void TearDown() override {
    if (std::getenv("QTX_GOLDEN_REPORT") == nullptr) return;
    std::cout << "op_type cases pass listed used\n";
    for (const auto& [op, figures] : figures_) Print(op, figures);
    Print("all", total_);
  }

 private:
  static void Count(Figures* figures, const Verdict& verdict, bool listed) {
    ++figures->cases;
    figures->pass += verdict.outcome == Outcome::kPass ? 1 : 0;
    figures->listed += listed ? 1 : 0;
    figures->used = std::max(figures->used, verdict.used);
  }
  static void Print(const std::string& op, const Figures& figures) {
    std::cout << op << " " << figures.cases << " " << figures.pass << " " << figures.listed << " "
              << figures.used << "\n";
  }
  std::map<std::string, Figures> figures_;
  Figures total_;
};

const ::testing::Environment* const kReport =
    ::testing::AddGlobalTestEnvironment(&Report::Instance());

Verdict Refused(const Error& error) {
  return {Outcome::kRefused, error.where + ": " + error.message};
}

// The data of ONNX 1.12 holds BFLOAT16 as UINT16, since NumPy had no such type.
void AdoptBfloat16(const std::vector<format::ValueInfo>& declared, std::vector<Tensor>* tensors) {
  for (std::size_t i = 0; i < tensors->size() && i < declared.size(); ++i) {
    if ((*tensors)[i].elem_type != format::ElementType::kUint16 || !declared[i].type) continue;
    if (declared[i].type->elem_type != format::ElementType::kBfloat16) continue;
    (*tensors)[i].elem_type = format::ElementType::kBfloat16;
  }
}

Verdict RunDataSet(const format::Model& model, const std::string& data_set) {
  auto inputs = LoadTensors(data_set, "input");
  if (!inputs.has_value()) return Refused(inputs.error());
  auto golden = LoadTensors(data_set, "output");
  if (!golden.has_value()) return Refused(golden.error());
  AdoptBfloat16(model.graph.inputs, &*inputs);
  AdoptBfloat16(model.graph.outputs, &*golden);
  const auto enclosed = Enclose(model, *inputs);
  if (!enclosed.has_value()) return Refused(enclosed.error());
  std::vector<Tensor> exact;
  for (const Enclosed& output : *enclosed) exact.push_back(output.value);
  const Verdict verdict = Compare(exact, *golden, *enclosed, 1);
  auto interpreter = Interpreter::Prepare(model, "float32");
  if (!interpreter.has_value()) return Refused(interpreter.error());
  const auto float32 = interpreter->Run(*inputs);
  if (!float32.has_value()) return Refused(float32.error());
  Verdict second = Compare(*float32, *golden, *enclosed, 2);
  if (second.outcome != Outcome::kPass) {
    second.message = "float32: " + second.message;
    return second;
  }
  if (verdict.outcome != Outcome::kPass) return {Outcome::kRounded, "exact: " + verdict.message};
  second.used = std::max(second.used, verdict.used);
  return second;
}

Verdict RunCase(const NodeCase& node_case) {
  const auto model = format::Model::Load(node_case.folder + "/model.onnx");
  if (!model.has_value()) return Refused(model.error());
  double used = 0;
  for (const std::string& data_set : DataSets(node_case)) {
    Verdict verdict = RunDataSet(*model, data_set);
    if (verdict.outcome != Outcome::kPass) return verdict;
    used = std::max(used, verdict.used);
  }
  return {Outcome::kPass, "", used};
}

std::string Describe(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "passes";
    case Outcome::kDiffers:
      return "differs";
    case Outcome::kRefused:
      return "is refused";
    case Outcome::kRounded:
      return "differs in exact alone";
  }
  return "";
}

class NodeGolden : public ::testing::TestWithParam<NodeCase> {};

TEST_P(NodeGolden, IsReproduced) {
  const Verdict verdict = RunCase(GetParam());
  const auto known = FindKnownDifference(GetParam().name);
  Report::Instance().Count(GetParam(), verdict, known.has_value());
  const Outcome expected = known ? known->outcome : Outcome::kPass;
  EXPECT_EQ(verdict.outcome, expected)
      << GetParam().name << " " << Describe(verdict.outcome) << " " << verdict.message
      << (known ? "; known_differences.txt: it " + Describe(known->outcome) + ", " + known->reason
                : "");
}

std::string TestName(const ::testing::TestParamInfo<NodeCase>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Onnx, NodeGolden, ::testing::ValuesIn(NodeCases()), TestName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NodeGolden);

TEST(KnownDifferences, HasOnlyLinesOfItsForm) { EXPECT_EQ(MalformedLines(), ""); }

// `qtx spec coverage` counts the operators of the list as held to others' data.
TEST(NodeCases, HaveTheOperatorsOfTheList) {
  std::set<std::string> tested;
  for (const NodeCase& node_case : NodeCases()) {
    if (!node_case.name.starts_with("libonnx/") || FindKnownDifference(node_case.name)) continue;
    tested.insert(node_case.op_types.begin(), node_case.op_types.end());
  }
  if (tested.empty()) GTEST_SKIP() << "libonnx-testdata is not here";
  std::string lines;
  for (const std::string& op_type : tested) lines += op_type + "\n";
  EXPECT_EQ(*format::ReadFile(QTX_SOURCE_DIR "/reference/tests/golden/operators.txt", 1 << 16),
            lines);
}

TEST(NodeCases, AreThere) {
  if (NodeCases().empty()) GTEST_SKIP() << "neither libonnx-testdata nor the corpus is here";
}

}  // namespace
}  // namespace qtx::reference::golden
