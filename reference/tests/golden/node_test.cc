// Holds the reference to ONNX's node tests: integers to the bit, floats within the bound derived
// for their operator (bounds.cc). QTX_GOLDEN_REPORT=1 prints the figures per op_type.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>

#include "qtx/reference/interpreter.h"
#include "tests/golden/case.h"
#include "tests/golden/enclosure.h"
#include "tests/golden/known_differences.h"
#include "tests/golden/numbers.h"

namespace qtx::reference::golden {
namespace {

using format::Tensor;

struct Verdict {
  Outcome outcome = Outcome::kPass;
  std::string message;
};

struct Figures {
  int cases = 0;
  int pass = 0;
  int listed = 0;
};

// Prints the figures when all tests have run.
class Report : public ::testing::Environment {
 public:
  static Report& Instance() {
    static auto* report = new Report;  // GoogleTest deletes it
    return *report;
  }
  void Count(const NodeCase& node_case, bool pass, bool listed) {
    for (const std::string& op : node_case.op_types) Count(&figures_[op], pass, listed);
    Count(&total_, pass, listed);
  }
  void TearDown() override {
    if (std::getenv("QTX_GOLDEN_REPORT") == nullptr) return;
    std::cout << "op_type cases pass listed\n";
    for (const auto& [op, figures] : figures_) Print(op, figures);
    Print("all", total_);
  }

 private:
  static void Count(Figures* figures, bool pass, bool listed) {
    ++figures->cases;
    figures->pass += pass ? 1 : 0;
    figures->listed += listed ? 1 : 0;
  }
  static void Print(const std::string& op, const Figures& figures) {
    std::cout << op << " " << figures.cases << " " << figures.pass << " " << figures.listed << "\n";
  }
  std::map<std::string, Figures> figures_;
  Figures total_;
};

const ::testing::Environment* const kReport =
    ::testing::AddGlobalTestEnvironment(&Report::Instance());

Verdict Refused(const Error& error) {
  return {Outcome::kRefused, error.where + ": " + error.message};
}

// An element differs when it is outside `slack` times its radius; zeros are one real, NaN is NaN.
std::string CompareFloats(const Tensor& found, const Tensor& golden,
                          const std::vector<double>& radius, double slack) {
  const std::vector<double> f = ToDoubles(found);
  const std::vector<double> g = ToDoubles(golden);
  for (std::size_t i = 0; i < f.size(); ++i) {
    if (f[i] == g[i] || (std::isnan(f[i]) && std::isnan(g[i]))) continue;
    const double bound = radius.empty() ? 0 : slack * radius[i];
    if (std::abs(f[i] - g[i]) <= bound) continue;
    std::ostringstream text;
    text.precision(17);
    text << "element " << i << ": found " << f[i] << ", golden " << g[i] << ", bound " << bound;
    return text.str();
  }
  return "";
}

std::string Compare(const Tensor& found, const Tensor& golden, const std::vector<double>& radius,
                    double slack) {
  if (found.elem_type != golden.elem_type || found.dims != golden.dims) {
    return "found " + std::string(format::Name(found.elem_type)) + format::ToString(found.dims) +
           ", golden " + std::string(format::Name(golden.elem_type)) +
           format::ToString(golden.dims);
  }
  if (IsFloating(found.elem_type)) return CompareFloats(found, golden, radius, slack);
  for (std::size_t i = 0; i < found.bytes.size(); ++i) {
    if (found.bytes[i] == golden.bytes[i]) continue;
    return "byte " + std::to_string(i) + ": found " +
           std::to_string(std::to_integer<int>(found.bytes[i])) + ", golden " +
           std::to_string(std::to_integer<int>(golden.bytes[i]));
  }
  return "";
}

// `slack` 1 for arithmetic exact, which is at the centre; 2 for another, which may be as far from
// it as the golden, on the other side.
Verdict CompareAll(const std::vector<Tensor>& found, const std::vector<Tensor>& golden,
                   const std::vector<Enclosed>& enclosed, double slack) {
  if (found.size() != golden.size()) {
    return {Outcome::kDiffers, "found " + std::to_string(found.size()) + " outputs, golden has " +
                                   std::to_string(golden.size())};
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string difference = Compare(found[i], golden[i], enclosed[i].radius, slack);
    if (difference.empty()) continue;
    return {Outcome::kDiffers, "output " + std::to_string(i) + ": " + difference};
  }
  return {};
}

Verdict RunDataSet(const format::Model& model, const std::string& data_set) {
  const auto inputs = LoadTensors(data_set, "input");
  if (!inputs.has_value()) return Refused(inputs.error());
  const auto golden = LoadTensors(data_set, "output");
  if (!golden.has_value()) return Refused(golden.error());
  const auto enclosed = Enclose(model, *inputs);
  if (!enclosed.has_value()) return Refused(enclosed.error());
  std::vector<Tensor> exact;
  for (const Enclosed& output : *enclosed) exact.push_back(output.value);
  Verdict verdict = CompareAll(exact, *golden, *enclosed, 1);
  if (verdict.outcome != Outcome::kPass) {
    return {verdict.outcome, "exact: " + verdict.message};
  }
  auto interpreter = Interpreter::Prepare(model, "float32");
  if (!interpreter.has_value()) return Refused(interpreter.error());
  const auto float32 = interpreter->Run(*inputs);
  if (!float32.has_value()) return Refused(float32.error());
  verdict = CompareAll(*float32, *golden, *enclosed, 2);
  if (verdict.outcome != Outcome::kPass) verdict.message = "float32: " + verdict.message;
  return verdict;
}

Verdict RunCase(const NodeCase& node_case) {
  const auto model = format::Model::Load(node_case.folder + "/model.onnx");
  if (!model.has_value()) return Refused(model.error());
  for (const std::string& data_set : DataSets(node_case)) {
    const Verdict verdict = RunDataSet(*model, data_set);
    if (verdict.outcome != Outcome::kPass) return verdict;
  }
  return {};
}

std::string Describe(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "passes";
    case Outcome::kDiffers:
      return "differs";
    case Outcome::kRefused:
      return "is refused";
  }
  return "";
}

class NodeGolden : public ::testing::TestWithParam<NodeCase> {};

TEST_P(NodeGolden, IsReproduced) {
  const Verdict verdict = RunCase(GetParam());
  const auto known = FindKnownDifference(GetParam().name);
  Report::Instance().Count(GetParam(), verdict.outcome == Outcome::kPass, known.has_value());
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

TEST(NodeCases, AreThere) {
  if (NodeCases().empty()) GTEST_SKIP() << "neither libonnx-testdata nor the corpus is here";
}

}  // namespace
}  // namespace qtx::reference::golden
