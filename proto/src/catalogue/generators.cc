// Operators that make tensors out of sizes, numbers and diagonals.
// Source: spec/ops/, the sections that the rows name.
#include <cmath>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using GeneratedShapes = std::vector<std::optional<Dims>>;

constexpr TypeSet kSizes = {ElementType::kInt64};
constexpr TypeSet kSteps =
    kPlainTypes | TypeSet{ElementType::kFloat, ElementType::kFloat16, ElementType::kBfloat16};

// ConstantOfShape ---------------------------------------------------------------------------------

ElementType FillType(const Application& a, std::size_t) {
  const Attribute* value = a.Find("value");
  return value != nullptr && value->t ? value->t->data_type : ElementType::kFloat;
}

// constant_of_shape.C1.
Result<void> FillsWithOne(const Application& a) {
  const Attribute* value = a.Find("value");
  if (value == nullptr || !value->t) return {};
  const auto count = ElementCount(value->t->dims);
  if (count.has_value() && *count == 1) return {};
  return BadAttribute("value", "shape " + ShapeText(value->t->dims), "one element");
}

// constant_of_shape.C2.
Result<void> FillTypes(const Application& a) {
  const ElementType value = FillType(a, 0);
  const ElementType y = a.Output(0).type;
  if (y == ElementType::kUndefined || y == value || (IsQuantized(y) && StorageOf(y) == value)) {
    return {};
  }
  return BadOutput(a, 0, "type " + std::string(Name(y)),
                   std::string(Name(value)) + " or a quantized type over it");
}

// constant_of_shape.C3.
Result<void> FillSizes(const Application& a) {
  QTX_RETURN_IF_ERROR(IsList(0, kSizes)(a));
  const auto size = FindInteger(a.Input(0), [](std::int64_t value) { return value < 0; });
  if (!size) return {};
  return BadInput(a, 0, "size " + std::to_string(*size), "at least 0");
}

Result<GeneratedShapes> FillShape(const Application& a) {
  if (const auto sizes = IntegersOf(a.Input(0))) return GeneratedShapes{*sizes};
  return GeneratedShapes{DimsOfRank(LengthOf(a.Input(0)))};
}

// EyeLike -----------------------------------------------------------------------------------------

ElementType EyeType(const Application& a, std::size_t) {
  if (a.Find("dtype") == nullptr) return a.Input(0).type;
  return ElementTypeFromCode(a.Int("dtype")).value_or(ElementType::kUndefined);
}

// eye_like.C1.
Result<void> EyeTypes(const Application& a) {
  constexpr TypeSet kHolds = kRealTypes | kPlainTypes | TypeSet{ElementType::kBool};
  const ElementType type = EyeType(a, 0);
  if (a.Find("dtype") != nullptr && !kHolds.Has(type)) {
    return BadAttribute("dtype", std::to_string(a.Int("dtype")),
                        "the code of a type that holds numbers");
  }
  QTX_RETURN_IF_ERROR(OutputTypes(0, kHolds)(a));
  const ElementType y = a.Output(0).type;
  if (y == type || y == ElementType::kUndefined || type == ElementType::kUndefined) return {};
  if (a.Find("dtype") == nullptr && kRealTypes.Has(y) && kRealTypes.Has(type)) return {};
  return BadOutput(a, 0, "type " + std::string(Name(y)), std::string(Name(type)));
}

// Range -------------------------------------------------------------------------------------------

// The whole number of a scalar input, where it is known and one.
std::optional<std::int64_t> WholeOf(const ValueFacts& value) {
  if (const auto integers = IntegersOf(value)) return integers->front();
  const auto floats = FloatsOf(value);
  const bool whole = floats && std::abs(floats->front()) < 0x1p62 &&
                     std::trunc(floats->front()) == floats->front();
  return whole ? std::optional(static_cast<std::int64_t>(floats->front())) : std::nullopt;
}

// range.C1.
Result<void> RangeTypes(const Application& a) {
  for (std::size_t i = 0; i < 3; ++i) QTX_RETURN_IF_ERROR(InputTypes(i, kSteps)(a));
  QTX_RETURN_IF_ERROR(RealOrOne({0, 1, 2}, {}, kPlainTypes)(a));
  for (std::size_t i = 1; i < 3; ++i) {
    const ElementType start = a.Input(0).type, type = a.Input(i).type;
    if (start == type || start == ElementType::kUndefined || type == ElementType::kUndefined) {
      continue;
    }
    return BadInput(a, i, "type " + std::string(Name(type)), std::string(Name(start)));
  }
  return {};
}

// range.C3, of numbers that are known.
Result<void> RangeEnds(const Application& a) {
  QTX_RETURN_IF_ERROR(Both({IsScalar(0), IsScalar(1), IsScalar(2)})(a));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto floats = FloatsOf(a.Input(i));
    if (!floats || std::isfinite(floats->front())) continue;
    return BadInput(a, i, std::to_string(floats->front()), "a finite number");
  }
  return WholeOf(a.Input(2)) == 0 ? BadInput(a, 2, "0", "another number") : Result<void>();
}

// range.S1, of whole numbers: others have no exact quotient here.
Result<GeneratedShapes> RangeShape(const Application& a) {
  const auto start = WholeOf(a.Input(0)), limit = WholeOf(a.Input(1)), delta = WholeOf(a.Input(2));
  if (!start || !limit || !delta) return GeneratedShapes{Dims{kUnknownSize}};
  const __int128 distance = static_cast<__int128>(*limit) - *start;
  const __int128 whole = distance / *delta;
  const bool more = distance % *delta != 0 && (distance < 0) == (*delta < 0);
  const __int128 count = whole + (more ? 1 : 0);
  if (count > INT64_MAX) return BadInput(a, 1, std::to_string(*limit), "fewer than 2^63 steps");
  return GeneratedShapes{Dims{count < 0 ? 0 : static_cast<std::int64_t>(count)}};
}

Result<GeneratedShapes> ScalarShape(const Application&) { return GeneratedShapes{Dims()}; }

}  // namespace

void AddGenerators(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "ConstantOfShape",
                  .inputs = {{"sizes"}},
                  .outputs = {{"y"}},
                  .attributes = {{"value", AttributeType::kTensor}},
                  .checks = {{"constant_of_shape.C1", FillsWithOne},
                             {"constant_of_shape.C2", FillTypes},
                             {"constant_of_shape.C3", FillSizes}},
                  .shape = FillShape,
                  .shape_clause = "constant_of_shape.C4",
                  .type = FillType});
  rows.push_back(
      {.op_type = "EyeLike",
       .inputs = {{"x"}},
       .outputs = {{"y"}},
       .attributes = {{"dtype", AttributeType::kInt}, {"k", AttributeType::kInt, std::int64_t{0}}},
       .checks = {{"eye_like.C1", EyeTypes}, {"eye_like.C2", RankIs(0, 2)}},
       .shape = ShapeOfFirst,
       .shape_clause = "eye_like.C3",
       .type = EyeType});
  rows.push_back({.op_type = "Range",
                  .inputs = {{"start"}, {"limit"}, {"delta"}},
                  .outputs = {{"y"}},
                  .attributes = {{"stash_type", AttributeType::kInt, std::int64_t{1}, false, 27}},
                  .checks = {{"range.C1", RangeTypes},
                             {"range.C2", OutputsFollowInput()},
                             {"range.C3", RangeEnds},
                             {"range.C5", IntWithin("stash_type", 1, 1)}},
                  .shape = RangeShape,
                  .shape_clause = "range.C4"});
  rows.push_back({.op_type = "Size",
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .attributes = {},
                  .checks = {{"size.C1", OutputTypes(0, kSizes)}},
                  .shape = ScalarShape,
                  .shape_clause = "size.C2",
                  .type = Int64Type});
}

}  // namespace qtx::format::catalogue
