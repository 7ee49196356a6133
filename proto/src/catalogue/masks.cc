// Operators that keep some elements of a tensor in their places.
// Source: spec/ops/, the sections that the rows name.
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using MaskedShapes = std::vector<std::optional<Dims>>;

constexpr TypeSet kDiagonal = {ElementType::kInt64};
constexpr TypeSet kMask = {ElementType::kBool};

// dropout.C2.
Result<void> DropoutTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(1, kRealTypes | TypeSet{ElementType::kDouble})(a));
  QTX_RETURN_IF_ERROR(InputTypes(2, kMask)(a));
  QTX_RETURN_IF_ERROR(Both({IsScalar(1), IsScalar(2)})(a));
  return OutputTypes(1, kMask)(a);
}

// dropout.C4.
Result<void> DropoutTrains(const Application& a) {
  if (a.opset < 7 && a.Int("is_test") == 0) return UndefinedAttribute("is_test", "0");
  const Tensor* trains = a.Input(2).constant;
  if (trains == nullptr || trains->bytes.empty() || UnpackIntegers(*trains).front() == 0) return {};
  return Error{ErrorCode::kUnsupported, InputPlace(a, 2),
               "found true, which this version of the text does not define"};
}

Result<MaskedShapes> DropoutShape(const Application& a) {
  return MaskedShapes{a.Input(0).dims, a.Input(0).dims};
}

ElementType DropoutType(const Application& a, std::size_t output) {
  return output == 0 ? a.Input(0).type : ElementType::kBool;
}

}  // namespace

void AddMasks(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "Dropout",
                  .inputs = {{"x"}, {"ratio", true}, {"training_mode", true}},
                  .outputs = {{"y"}, {"mask", true}},
                  .attributes = {{.name = "is_test",
                                  .type = AttributeType::kInt,
                                  .otherwise = std::int64_t{0},
                                  .until = 6},
                                 {.name = "ratio", .type = AttributeType::kFloat, .until = 11},
                                 {.name = "seed", .type = AttributeType::kInt, .since = 12}},
                  .checks = {{"dropout.C1", RealOrOne({0}, {0}, kAnyType)},
                             {"dropout.C2", DropoutTypes},
                             {"dropout.C4", DropoutTrains}},
                  .shape = DropoutShape,
                  .shape_clause = "dropout.C3",
                  .type = DropoutType,
                  .copies_elements = true});
  rows.push_back({.op_type = "Trilu",
                  .inputs = {{"x"}, {"k", true}},
                  .outputs = {{"y"}},
                  .attributes = {{"upper", AttributeType::kInt, std::int64_t{1}}},
                  .checks = {{"trilu.C1", OutputsFollowInput()},
                             {"trilu.C2", RankAtLeast(0, 2)},
                             {"trilu.C3", Both({InputTypes(1, kDiagonal), IsScalar(1)})},
                             {"trilu.C4", IntWithin("upper", 0, 1)}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "trilu.C5"});
}

}  // namespace qtx::format::catalogue
