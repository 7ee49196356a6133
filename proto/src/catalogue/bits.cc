// Operators on the bits of plain integers, and those that say what a value is.
// Source: spec/ops/, the sections that the rows name.
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

constexpr TypeSet kFlags = {ElementType::kBool};

ElementType FlagType(const Application&, std::size_t) { return ElementType::kBool; }

// a and b of one plain integer type, broadcast: C1 of types, C2 of broadcasting, C3 of the shape.
OpSchema OfBits(std::string_view op_type, std::string_view types, std::string_view broadcast,
                std::string_view shape) {
  return {.op_type = op_type,
          .inputs = {{"a"}, {"b"}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {{types, Both({InputTypes(0, kPlainIntegers),
                                   RealOrOne({0, 1}, {0}, kPlainIntegers)})},
                     {broadcast, CanBroadcast({0, 1})}},
          .shape = ShapeOfBroadcast,
          .shape_clause = shape};
}

// x to BOOL: C1 of x, C2 of y, C3 of the shape.
OpSchema Question(std::string_view op_type, std::string_view types, std::string_view result,
                  std::string_view shape) {
  return {.op_type = op_type,
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {{types, InputTypes(0, kRealTypes | TypeSet{ElementType::kDouble})},
                     {result, OutputTypes(0, kFlags)}},
          .shape = ShapeOfFirst,
          .shape_clause = shape,
          .type = FlagType};
}

}  // namespace

void AddBits(std::vector<OpSchema>& rows) {
  rows.push_back(OfBits("BitShift", "bit_shift.C1", "bit_shift.C2", "bit_shift.C3"));
  rows.back().attributes = {{"direction", AttributeType::kString, "", true}};
  rows.back().checks.push_back({"bit_shift.C4", StringOneOf("direction", {"LEFT", "RIGHT"})});
  rows.push_back(OfBits("BitwiseAnd", "bitwise_and.C1", "bitwise_and.C2", "bitwise_and.C3"));
  rows.push_back(OfBits("BitwiseOr", "bitwise_or.C1", "bitwise_or.C2", "bitwise_or.C3"));
  rows.push_back(OfBits("BitwiseXor", "bitwise_xor.C1", "bitwise_xor.C2", "bitwise_xor.C3"));
  rows.push_back({.op_type = "BitwiseNot",
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .attributes = {},
                  .checks = {{"bitwise_not.C1", Both({InputTypes(0, kPlainIntegers),
                                                      RealOrOne({0}, {0}, kPlainIntegers)})}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "bitwise_not.C2"});
  rows.push_back(Question("IsInf", "is_inf.C1", "is_inf.C2", "is_inf.C3"));
  rows.back().attributes = {{"detect_negative", AttributeType::kInt, std::int64_t{1}},
                            {"detect_positive", AttributeType::kInt, std::int64_t{1}}};
  rows.back().checks.push_back({"is_inf.C4", Both({IntWithin("detect_negative", 0, 1),
                                                   IntWithin("detect_positive", 0, 1)})});
  rows.push_back(Question("IsNaN", "is_na_n.C1", "is_na_n.C2", "is_na_n.C3"));
}

}  // namespace qtx::format::catalogue
