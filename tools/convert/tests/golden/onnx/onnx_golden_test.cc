// Every ONNX model on plain integers in the corpus: imported or refused by name, run in `float32`,
// the arithmetic of its operators; integer results and those of single roundings bit for bit.
// Written out as qoperator and read again, it is the same model. QTX_GOLDEN_REPORT=1 prints a line
// per family, =2 one per set too.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "known_onnx_differences.h"
#include "onnx_corpus.h"
#include "qtx/format/check.h"
#include "qtx/format/scopes.h"
#include "qtx/reference/interpreter.h"
#include "qtx/reference/op.h"

namespace qtx::convert::golden {
namespace {

using format::Tensor;

struct OnnxOutcome {
  enum class Kind { kRefused, kNotRun, kStructural, kDiffers, kEqual } kind = Kind::kRefused;
  std::string text;
};
using Kind = OnnxOutcome::Kind;

OnnxOutcome Failed(Kind kind, const Error& error) {
  return {kind, error.where.substr(error.where.rfind(".onnx") + 1) + ": " + error.message};
}

// What a FLOAT result may be off by, as `absolute + relative * |golden|`: 0 where one rounding, or
// a dequantized integer, is the result.
struct Bound {
  double absolute = 0, relative = 0;
};

// |found - exact| <= (K + 2) u sum |a| |w| for a sum of K products in any order of binary32
// operations (Higham, Accuracy and Stability, 3.1), and golden likewise; the sum is at most K times
// the greatest product.
Bound DotBound(const format::Model& model, const format::Node& node, const Tensor& a) {
  const auto w = format::LoadInitializer(model, node.inputs[1]);
  if (!w.has_value() || !w->quantization || a.elem_type != format::ElementType::kFloat) return {};
  double most_a = 0, most_w = 0;
  for (const float value : a.As<float>()) most_a = std::max(most_a, std::abs(double{value}));
  for (const float scale : w->quantization->scale) most_w = std::max(most_w, double{scale} * 255);
  const auto k = static_cast<double>(w->dims[0]);
  return {2 * (k + 2) * 0x1p-24 * k * most_a * most_w, 0};
}

// Of the nodes that give FLOAT results: a product with a FLOAT operand, and Softmax of n values: n
// for the sum and the quotient, and 4 ulp for each of two exponentials.
Bound BoundOf(const format::Model& model, const std::string& output, const Tensor& a) {
  for (const format::Node& node : model.graph.nodes) {
    if (node.outputs[0] != output) continue;
    if (node.op_type == "MatMul" && node.inputs[0] == model.graph.inputs[0].name)
      return DotBound(model, node, a);
    const format::ValueInfo* info = model.graph.FindValue(output);
    if (node.op_type == "Softmax" && info->type->shape && info->type->shape->back().value)
      return {0, (static_cast<double>(*info->type->shape->back().value) + 8) * 0x1p-23};
  }
  return {};
}

std::string Differences(const Tensor& golden, Tensor found, const Bound& bound) {
  found.elem_type = format::StorageOf(found.elem_type);
  if (found.elem_type != golden.elem_type || found.dims != golden.dims) {
    return "found " + std::string(format::Name(found.elem_type)) + format::ToString(found.dims) +
           ", golden " + std::string(format::Name(golden.elem_type)) +
           format::ToString(golden.dims);
  }
  const std::vector<double> g = format::StoredValues(golden), f = format::StoredValues(found);
  std::int64_t differing = 0;
  double worst = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (g[i] == f[i]) continue;
    if (std::abs(g[i] - f[i]) <= bound.absolute + bound.relative * std::abs(g[i])) continue;
    ++differing;
    worst = std::max(worst, std::abs(g[i] - f[i]));
  }
  if (differing == 0) return "";
  return std::to_string(differing) + " of " + std::to_string(g.size()) + " differ, by at most " +
         std::to_string(worst);
}

Result<std::vector<Tensor>> LoadAll(const std::vector<std::filesystem::path>& files) {
  std::vector<Tensor> tensors;
  for (const auto& file : files) {
    QTX_ASSIGN_OR_RETURN(Tensor tensor, LoadTensorProto(file));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

OnnxOutcome Run(const OnnxSet& set, const format::Model& model) {
  for (const format::Node& node : model.graph.nodes) {
    if (reference::FindOperator(node.domain, node.op_type) == nullptr &&
        !format::IsControlFlow(node))
      return {Kind::kNotRun, "the reference has no " + node.op_type};
  }
  if (set.outputs.empty()) return {Kind::kStructural, "imported; no golden data"};
  auto interpreter = reference::Interpreter::Prepare(model, "float32");
  if (!interpreter.has_value()) return Failed(Kind::kNotRun, interpreter.error());
  auto inputs = LoadAll(set.inputs);
  auto golden = LoadAll(set.outputs);
  if (!inputs.has_value() || !golden.has_value()) return {Kind::kNotRun, "unreadable golden data"};
  if (set.bound) inputs->resize(1);
  const auto outputs = interpreter->Run(*inputs);
  if (!outputs.has_value()) return Failed(Kind::kNotRun, outputs.error());
  for (std::size_t i = 0; i < golden->size(); ++i) {
    const std::string differences = Differences(
        golden->at(i), outputs->at(i), BoundOf(model, model.graph.outputs[i].name, inputs->at(0)));
    if (!differences.empty()) return {Kind::kDiffers, differences};
  }
  return {Kind::kEqual, "equal"};
}

// Written as qoperator the model computes the same, on integers; read again it is what it was.
void ExpectRoundTrip(const OnnxSet& set, const Conversion& conversion, Kind kind) {
  const auto written = Write(conversion.model, *FindKind("qoperator"), {});
  ASSERT_TRUE(written.has_value())
      << set.Name() << ": " << written.error().where << ": " << written.error().message;
  Source source;
  source.onnx = std::get<format::Model>(written->content);
  for (const format::Finding& finding : format::Check(*source.onnx))
    ADD_FAILURE() << set.Name() << ": " << finding.where << ": " << finding.message;
  const auto again = Read(source, *FindKind("qoperator"));
  ASSERT_TRUE(again.has_value()) << set.Name() << ": " << again.error().message;
  // The integers that a Scan moves into its body get new names.
  if (!format::HasBodies(conversion.model.graph)) {
    EXPECT_EQ(again->model, conversion.model) << set.Name();
  }
  // The reference has no MatMulNBits and no MatMulIntegerToFloat.
  const OnnxOutcome outcome = Run(set, *source.onnx);
  if (kind == Kind::kEqual && !outcome.text.starts_with("the reference has no")) {
    EXPECT_EQ(outcome.kind, Kind::kEqual) << set.Name() << " written: " << outcome.text;
  }
}

OnnxOutcome Check(const OnnxSet& set) {
  const auto source = OpenSet(set);
  if (!source.has_value()) return Failed(Kind::kRefused, source.error());
  const auto conversion = Read(*source, *FindKind("qoperator"));
  if (!conversion.has_value()) return Failed(Kind::kRefused, conversion.error());
  const OnnxOutcome outcome = Run(set, conversion->model);
  ExpectRoundTrip(set, *conversion, outcome.kind);
  return outcome;
}

class Report {
 public:
  void Add(const OnnxSet& set, const OnnxOutcome& outcome) {
    models_[set.family].insert(set.model);
    ++counts_[set.family][outcome.kind];
    if (Level() > 1) std::cout << set.Name() << ": " << outcome.text << "\n";
  }
  void Print() {
    if (Level() == 0) return;
    for (auto& [family, counts] : counts_) {
      std::cout << family << ": " << models_[family].size() << " models; sets equal "
                << counts[Kind::kEqual] << ", different " << counts[Kind::kDiffers]
                << ", without golden data " << counts[Kind::kStructural]
                << ", imported but not run " << counts[Kind::kNotRun] << ", refused "
                << counts[Kind::kRefused] << "\n";
    }
  }

 private:
  static int Level() {
    const char* level = std::getenv("QTX_GOLDEN_REPORT");
    return level == nullptr ? 0 : std::atoi(level);
  }
  std::map<std::string, std::set<std::string>> models_;
  std::map<std::string, std::map<Kind, int>> counts_;
};

TEST(OnnxGolden, EverySetIsEqualOrAKnownDifference) {
  const std::vector<OnnxSet> sets = OnnxSets();
  if (sets.empty()) GTEST_SKIP() << "no corpus beside the source tree";
  Report report;
  for (const OnnxSet& set : sets) {
    const OnnxOutcome outcome = Check(set);
    report.Add(set, outcome);
    const bool good = outcome.kind == Kind::kEqual || outcome.kind == Kind::kStructural;
    const KnownOnnx* known = FindKnownOnnx(set.Name());
    if (known == nullptr) {
      EXPECT_TRUE(good) << set.Name() << ": " << outcome.text;
    } else {
      EXPECT_FALSE(good) << set.Name() << " is good now; listed: " << known->why;
    }
  }
  report.Print();
}

}  // namespace
}  // namespace qtx::convert::golden
