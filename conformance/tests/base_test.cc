// What takes a value's integer form must be taken into account by every operator: each case of the
// suite again, its quantized values written in another way that keeps their reals.
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

// The integers of a tensor of at most 16 bits, and their parameters.
struct Stored {
  format::TensorType& type;
  Tensor& tensor;
  Quantization& q() const { return *type.quantization; }
  format::IntegerRange range() const { return format::StorageRange(type.elem_type); }
};
using Change = bool (*)(const Stored&);

// scale * (stored - offset) = scale * (stored - (offset + 1)) + scale, or the same downwards.
bool MoveOffset(const Stored& stored) {
  Quantization& q = stored.q();
  q.offset.resize(q.scale.size(), 0);
  q.scheme = format::Scheme::kUnspecified;
  q.base_levels.resize(1);
  for (std::size_t i = 0; i < q.scale.size(); ++i) {
    const int step = q.offset[i] < stored.range().max ? 1 : -1;
    q.offset[i] += step;
    q.base_levels[0].value.push_back(static_cast<float>(step) * q.scale[i]);
  }
  return true;
}

// scale * (stored - offset) = -scale * (~stored - ~offset), ~ being the mirror of the storage.
bool NegateScale(const Stored& stored) {
  Quantization& q = stored.q();
  const std::int64_t ends = stored.range().min + stored.range().max;
  q.offset.resize(q.scale.size(), 0);
  q.scheme = format::Scheme::kUnspecified;
  std::swap(q.quant_min, q.quant_max);
  for (auto* end : {&q.quant_min, &q.quant_max}) {
    if (*end) *end = ends - **end;
  }
  for (std::int32_t& offset : q.offset) offset = static_cast<std::int32_t>(ends - offset);
  for (float& scale : q.scale) scale = -scale;
  std::vector<std::int64_t> integers = format::UnpackIntegers(stored.tensor);
  for (std::int64_t& integer : integers) integer = ends - integer;
  format::PackIntegers(integers, stored.tensor);
  return true;
}

// The same bits as codes of an unsigned storage, with the differences that they stand for.
bool MakeCodeBook(const Stored& stored) {
  using enum format::ElementType;
  static const std::map<format::ElementType, format::ElementType> kUnsigned = {
      {kInt2Q, kUint2Q},  {kInt4Q, kUint4Q},  {kInt8Q, kUint8Q},
      {kUint2Q, kUint2Q}, {kUint4Q, kUint4Q}, {kUint8Q, kUint8Q}};
  Quantization& q = stored.q();
  const auto type = kUnsigned.find(stored.type.elem_type);
  const auto other = [&q](std::int32_t offset) { return offset != q.offset[0]; };
  if (type == kUnsigned.end() || std::ranges::any_of(q.offset, other)) return false;
  if (q.quant_min || q.quant_max) return false;  // which stored values may lie outside of
  const std::int64_t codes = stored.range().max - stored.range().min + 1;
  std::vector<float> book;
  for (std::int64_t code = 0; code < codes; ++code) {
    const std::int64_t integer = code > stored.range().max ? code - codes : code;
    book.push_back(static_cast<float>(integer - format::OffsetAt(q, 0)));
  }
  format::SetCodeBook(std::move(book), q);
  q.offset.clear();
  q.scheme = format::Scheme::kUnspecified;
  stored.type.elem_type = type->second;
  stored.tensor.elem_type = type->second;
  return true;
}

// False where the value is none that may be an initializer of integers, and changed.
bool MayChange(const format::ValueInfo& info) {
  if (!info.type || !info.type->quantization || !format::IsQuantized(info.type->elem_type) ||
      !format::IsIntegerStorage(info.type->elem_type) ||
      format::BitWidth(info.type->elem_type) > 16 ||
      format::StorageOf(info.type->elem_type) == format::ElementType::kBipolar1 ||
      !info.type->shape || !format::FixedDims(*info.type->shape)) {
    return false;
  }
  const Quantization& q = *info.type->quantization;
  return !q.scale.empty() && q.scale_tensor.empty() && q.offset_tensor.empty() && !HasLevels(q) &&
         HasIntegerForm(q);
}

// Inputs become initializers, as only these may lack an integer form. False: nothing to change.
bool ChangeAll(Question& question, Change change) {
  format::Graph& graph = question.model.graph;
  bool any = false;
  std::vector<format::ValueInfo> inputs;
  std::vector<Tensor> given;
  std::size_t next = 0;
  for (format::TensorData& data : graph.initializers) {
    const auto info = std::ranges::find(graph.values, data.name, &format::ValueInfo::name);
    if (info == graph.values.end() || !MayChange(*info)) continue;
    auto tensor = format::LoadInitializer(question.model, data.name);
    if (!tensor.has_value() || !change({*info->type, *tensor})) continue;
    data = format::ToTensorData(data.name, *tensor);
    any = true;
  }
  for (format::ValueInfo& info : graph.inputs) {
    const bool constant = graph.FindInitializer(info.name) != nullptr;
    Tensor* tensor = constant ? nullptr : &question.inputs[next++];
    const bool stored = tensor != nullptr && info.type && tensor->elem_type == info.type->elem_type;
    if (stored && MayChange(info) && change({*info.type, *tensor})) {
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
  for (format::OpsetImport& import : question.model.opset_imports) {
    if (import.domain == format::kDomain) import.version = format::kCodeBooksVersion;
  }
  return any;
}

Result<Outputs> RunExact(const Question& question) {
  QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(question.model));
  return interpreter.Run(question.inputs);
}

// A stock operator is defined over plain integers: it has no quantized inputs to change.
void ExpectSameResults(Change change, std::size_t first, std::size_t step) {
  static const auto suite = LoadSuite(QTX_SOURCE_DIR "/conformance/cases");
  ASSERT_TRUE(suite.has_value());
  std::map<std::string, int> changed;
  int refused = 0;
  for (std::size_t i = first; i < suite->cases.size(); i += step) {
    const Case& c = suite->cases[i];
    const bool exact = std::ranges::find(c.arithmetics, "exact") != c.arithmetics.end();
    if (!c.op || !c.error.empty() || !exact) continue;
    auto question = BuildQuestion(c);
    ASSERT_TRUE(question.has_value()) << c.id;
    Question changed_question = *question;
    if (!ChangeAll(changed_question, change)) continue;
    // It may break a rule: that of requantizations, of powers of two, or of 53 bits.
    if (!format::Check(changed_question.model).empty()) {
      ++refused;
      continue;
    }
    const auto expected = RunExact(*question);
    const auto found = RunExact(changed_question);
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
  testing::Test::RecordProperty("cases", cases);
  testing::Test::RecordProperty("operators", static_cast<int>(changed.size()));
  EXPECT_GE(changed.size(), 70U / step);
  EXPECT_GE(cases, 1000 / static_cast<int>(step));
  EXPECT_LE(refused, cases / 10);
}

TEST(Base, IsPartOfTheRealsInEveryOperator) { ExpectSameResults(MoveOffset, 0, kCaseStep); }

TEST(SignedScale, IsPartOfTheRealsInEveryOperator) {
  ExpectSameResults(NegateScale, 1, 8 * kCaseStep);
}

TEST(CodeBook, IsPartOfTheRealsInEveryOperator) {
  ExpectSameResults(MakeCodeBook, 2, 8 * kCaseStep);
}

}  // namespace
}  // namespace qtx::conformance
