// A base must be taken into account by every operator: each case of the suite again, its quantized
// values moved to another offset with the base that keeps their reals.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "effort.h"
#include "fault.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using format::Quantization;
using format::Tensor;

// scale * (stored - offset) = scale * (stored - (offset + 1)) + scale, or the same downwards.
bool MoveOffset(const format::IntegerRange& range, Quantization& q) {
  if (q.scale.empty() || !q.scale_tensor.empty() || !q.offset_tensor.empty() || HasLevels(q)) {
    return false;
  }
  q.offset.resize(q.scale.size(), 0);
  q.scheme = format::Scheme::kUnspecified;
  q.base_levels.resize(1);
  for (std::size_t i = 0; i < q.scale.size(); ++i) {
    const int step = q.offset[i] < range.max ? 1 : -1;
    q.offset[i] += step;
    q.base_levels[0].value.push_back(static_cast<float>(step) * q.scale[i]);
  }
  return true;
}

// The value as an initializer with a base; false where it is none that may have one.
bool AddBase(format::ValueInfo& info) {
  if (!info.type || !info.type->quantization || !format::IsQuantized(info.type->elem_type) ||
      !format::IsIntegerStorage(info.type->elem_type) ||
      format::BitWidth(info.type->elem_type) > 16 ||
      format::StorageOf(info.type->elem_type) == format::ElementType::kBipolar1 ||
      !info.type->shape || !format::FixedDims(*info.type->shape)) {
    return false;
  }
  return MoveOffset(format::StorageRange(info.type->elem_type), *info.type->quantization);
}

// Inputs become initializers, as only these may have a base. False: nothing to change.
bool AddBases(Question& question) {
  format::Graph& graph = question.model.graph;
  bool any = false;
  std::vector<format::ValueInfo> inputs;
  std::vector<Tensor> given;
  std::size_t next = 0;
  for (format::ValueInfo& info : graph.inputs) {
    const bool constant = graph.FindInitializer(info.name) != nullptr;
    Tensor* tensor = constant ? nullptr : &question.inputs[next++];
    const bool stored = tensor != nullptr && info.type && tensor->elem_type == info.type->elem_type;
    if (stored && AddBase(info)) {
      graph.initializers.push_back(format::ToTensorData(info.name, *tensor));
      graph.values.push_back(std::move(info));
      any = true;
      continue;
    }
    inputs.push_back(std::move(info));
    if (tensor != nullptr) given.push_back(std::move(*tensor));
  }
  graph.inputs = std::move(inputs);
  question.inputs = std::move(given);
  for (format::ValueInfo& info : graph.values) {
    const bool has_base =
        info.type && info.type->quantization && HasLevels(*info.type->quantization);
    if (!has_base && graph.FindInitializer(info.name) != nullptr) any = AddBase(info) || any;
  }
  for (format::OpsetImport& import : question.model.opset_imports) {
    if (import.domain == format::kDomain) import.version = format::kLevelsVersion;
  }
  return any;
}

Result<Outputs> RunExact(const Question& question) {
  QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(question.model));
  return interpreter.Run(question.inputs);
}

// A stock operator is defined over plain integers: it has no quantized inputs to change.
TEST(Base, IsPartOfTheRealsInEveryOperator) {
  const auto suite = LoadSuite(QTX_SOURCE_DIR "/conformance/cases");
  ASSERT_TRUE(suite.has_value());
  std::map<std::string, int> changed;
  int refused = 0;
  for (std::size_t i = 0; i < suite->cases.size(); i += kCaseStep) {
    const Case& c = suite->cases[i];
    const bool exact = std::ranges::find(c.arithmetics, "exact") != c.arithmetics.end();
    if (!c.op || !c.error.empty() || !exact) continue;
    auto question = BuildQuestion(c);
    ASSERT_TRUE(question.has_value()) << c.id;
    Question with_base = *question;
    if (!AddBases(with_base)) continue;
    // A base may break a rule: that of requantizations, or of 53 bits.
    if (!format::Check(with_base.model).empty()) {
      ++refused;
      continue;
    }
    const auto expected = RunExact(*question);
    const auto found = RunExact(with_base);
    ASSERT_TRUE(expected.has_value()) << c.id;
    ASSERT_TRUE(found.has_value())
        << c.id << ": " << found.error().where << ": " << found.error().message;
    ASSERT_EQ(found->size(), expected->size());
    for (std::size_t k = 0; k < expected->size(); ++k) {
      EXPECT_EQ((*found)[k].dims, (*expected)[k].dims) << c.id;
      EXPECT_EQ((*found)[k].bytes, (*expected)[k].bytes) << c.id << ", output " << k;
    }
    ++changed[c.op->type];
  }
  int cases = 0;
  for (const auto& [op, count] : changed) cases += count;
  RecordProperty("cases", cases);
  RecordProperty("operators", static_cast<int>(changed.size()));
  EXPECT_GE(changed.size(), 70U / kCaseStep);
  EXPECT_GE(cases, 1000 / kCaseStep);
  EXPECT_LE(refused, cases / 10);
}

}  // namespace
}  // namespace qtx::conformance
