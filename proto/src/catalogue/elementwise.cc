// Operators of one element: of one input, of two, of any number.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

constexpr TypeSet kDouble = {ElementType::kDouble};

// x to y of the same shape: C1 of types, C2 of the shape.
OpSchema Unary(std::string_view op_type, std::string_view types_clause,
               std::string_view shape_clause, TypeSet one,
               std::vector<AttributeRule> attributes = {}, std::vector<ClauseCheck> further = {}) {
  OpSchema row{.op_type = op_type,
               .inputs = {{"x"}},
               .outputs = {{"y"}},
               .attributes = std::move(attributes),
               .checks = {{types_clause, RealOrOne({0}, {0}, one)}},
               .shape = ShapeOfFirst,
               .shape_clause = shape_clause};
  for (ClauseCheck& check : further) row.checks.push_back(std::move(check));
  return row;
}

// a and b, broadcast: C1 of types, C2 of broadcasting, C3 of the shape.
OpSchema Binary(std::string_view op_type, std::string_view types, std::string_view broadcast,
                std::string_view shape) {
  return {
      .op_type = op_type,
      .inputs = {{"a"}, {"b"}},
      .outputs = {{"y"}},
      .attributes = {},
      .checks = {{types, RealOrOne({0, 1}, {0}, kPlainTypes)}, {broadcast, CanBroadcast({0, 1})}},
      .shape = ShapeOfBroadcast,
      .shape_clause = shape};
}

Result<void> AllCanBroadcast(const Application& a) {
  Indices all;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) all.push_back(i);
  return CanBroadcast(all)(a);
}

OpSchema Variadic(std::string_view op_type, std::string_view types, std::string_view broadcast,
                  std::string_view shape, TypeSet one) {
  return {.op_type = op_type,
          .inputs = {{"x", false, true}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {{types, AllRealOrOne(one)}, {broadcast, AllCanBroadcast}},
          .shape = ShapeOfBroadcast,
          .shape_clause = shape};
}

// div.C4, where the elements of b are known.
Result<void> DividesByNoZero(const Application& a) {
  if (!FindInteger(a.Input(1), [](std::int64_t value) { return value == 0; })) return {};
  return Refuse(InputPlace(a, 1), "an element is 0");
}

// pow.C1: the exponent's type is its own.
Result<void> PowTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(RealOrOne({0}, {0}, kPlainTypes)(a));
  return InputTypes(1, kRealTypes | kPlainTypes)(a);
}

// where.C2.
Result<void> WhereTypes(const Application& a) {
  static const TypeSet kOthers = kAnyType;
  return RealOrOne({1, 2}, {0}, kOthers)(a);
}

ElementType TypeOfSecond(const Application& a, std::size_t) { return a.Input(1).type; }

// cast.C1: types that hold reals.
Result<void> CastTypes(const Application& a) {
  for (const ElementType type : {a.Input(0).type, a.Output(0).type}) {
    if (type != ElementType::kString) continue;
    return Error{ErrorCode::kUnsupported, "",
                 "STRING, which this version of the text does not define"};
  }
  QTX_RETURN_IF_ERROR(InputTypes(0, kAnyType)(a));
  return OutputTypes(0, kAnyType)(a);
}

ElementType CastType(const Application& a, std::size_t) {
  return ElementTypeFromCode(a.Int("to")).value_or(ElementType::kUndefined);
}

Result<void> CastTo(const Application& a) {
  const Attribute* to = a.Find("to");
  if (to == nullptr) return Refuse("attribute 'to'", "is not given");
  const auto type = ElementTypeFromCode(to->i);
  if (!type || !(kAnyType | TypeSet{ElementType::kString}).Has(*type)) {
    return BadAttribute("to", std::to_string(to->i), "the code of a type that holds numbers");
  }
  const ElementType declared = a.Output(0).type;
  if (declared == ElementType::kUndefined || declared == *type) return {};
  return BadAttribute("to", std::string(Name(*type)),
                      "the declared type, " + std::string(Name(declared)));
}

// cast.C4.
Result<void> CastModes(const Application& a) {
  QTX_RETURN_IF_ERROR(IntWithin("saturate", 0, 1)(a));
  const ElementType to = CastType(a, 0);
  if (IsQuantized(to) && IsSmallFloat(to) && a.Int("saturate") != 1) {
    return BadAttribute("saturate", "0", "1: a scaled small float saturates");
  }
  return StringOneOf("round_mode", {"up", "down", "nearest"})(a);
}

// Before opset 11 bounds are attributes, then inputs: clip.C4.
Result<void> ClipBounds(const Application& a) {
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const std::string name = i == 1 ? "min" : "max";
    if (a.Find(name) == nullptr) continue;
    if (a.opset >= 11) {
      return Refuse("attribute '" + name + "'",
                    "opset " + std::to_string(a.opset) + " has an input in its place, since 11");
    }
    if (a.Input(i).given) return Refuse(InputPlace(a, i), "is given as an attribute, too");
    const ElementType type = a.Input(0).type;
    if (type != ElementType::kUndefined && !kRealTypes.Has(type)) {
      return BadInput(a, 0, "type " + std::string(Name(type)),
                      "a real operand, since a bound is an attribute");
    }
  }
  return {};
}

}  // namespace

void AddElementwise(std::vector<OpSchema>& rows) {
  const AttributeRule alpha{"alpha", AttributeType::kFloat};
  const auto with = [](AttributeRule rule, float value) {
    rule.otherwise = value;
    return rule;
  };
  rows.push_back(Unary("Abs", "abs.C1", "abs.C2", kPlainTypes));
  rows.push_back(Unary("Neg", "neg.C1", "neg.C2", kPlainTypes));
  rows.push_back(Unary("Relu", "relu.C1", "relu.C2", kPlainTypes));
  rows.push_back(Unary("Elu", "elu.C1", "elu.C2", kDouble, {with(alpha, 1.0F)},
                       {{"elu.C3", IsFinite("alpha")}}));
  rows.push_back(Unary("Erf", "erf.C1", "erf.C2", kDouble));
  rows.push_back(Unary("Exp", "exp.C1", "exp.C2", kDouble));
  rows.push_back(Unary("Gelu", "gelu.C1", "gelu.C2", kDouble,
                       {{"approximate", AttributeType::kString, "none"}},
                       {{"gelu.C3", StringOneOf("approximate", {"none", "tanh"})}}));
  rows.push_back(Unary("HardSigmoid", "hard_sigmoid.C1", "hard_sigmoid.C2", kDouble,
                       {with(alpha, 0.2F), {"beta", AttributeType::kFloat, 0.5F}},
                       {{"hard_sigmoid.C3", Both({IsFinite("alpha"), IsFinite("beta")})}}));
  rows.push_back(Unary("HardSwish", "hard_swish.C1", "hard_swish.C2", kDouble));
  rows.push_back(Unary("LeakyRelu", "leaky_relu.C1", "leaky_relu.C2", kDouble, {with(alpha, 0.01F)},
                       {{"leaky_relu.C3", IsFinite("alpha")}}));
  rows.push_back(Unary("Log", "log.C1", "log.C2", kDouble));
  rows.push_back(Unary("Mish", "mish.C1", "mish.C2", kDouble));
  rows.push_back(Unary("Reciprocal", "reciprocal.C1", "reciprocal.C2", kDouble));
  rows.push_back(Unary("Sigmoid", "sigmoid.C1", "sigmoid.C2", kDouble));
  rows.push_back(Unary("Softplus", "softplus.C1", "softplus.C2", kDouble));
  rows.push_back(Unary("Sqrt", "sqrt.C1", "sqrt.C2", kDouble));
  rows.push_back(Unary("Tanh", "tanh.C1", "tanh.C2", kDouble));
  rows.push_back(Unary("Identity", "identity.C1", "identity.C2", kAnyType));
  rows.back().copies_elements = true;

  rows.push_back(Binary("Add", "add.C1", "add.C2", "add.C3"));
  rows.push_back(Binary("Sub", "sub.C1", "sub.C2", "sub.C3"));
  rows.push_back(Binary("Mul", "mul.C1", "mul.C2", "mul.C3"));
  rows.push_back(Binary("Div", "div.C1", "div.C2", "div.C3"));
  rows.back().checks.push_back({"div.C4", DividesByNoZero});
  rows.push_back({.op_type = "Pow",
                  .inputs = {{"x"}, {"y"}},
                  .outputs = {{"z"}},
                  .attributes = {},
                  .checks = {{"pow.C1", PowTypes}, {"pow.C2", CanBroadcast({0, 1})}},
                  .shape = ShapeOfBroadcast,
                  .shape_clause = "pow.C3"});
  rows.push_back({.op_type = "PRelu",
                  .inputs = {{"x"}, {"slope"}},
                  .outputs = {{"y"}},
                  .attributes = {},
                  .checks = {{"p_relu.C1", RealOrOne({0, 1}, {0}, kPlainTypes)},
                             {"p_relu.C2", BroadcastsTo(1, 0)}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "p_relu.C3"});
  rows.push_back(Variadic("Max", "max.C1", "max.C2", "max.C3", kPlainTypes));
  rows.push_back(Variadic("Min", "min.C1", "min.C2", "min.C3", kPlainTypes));
  rows.push_back(Variadic("Mean", "mean.C1", "mean.C2", "mean.C3", kDouble));
  rows.push_back(Variadic("Sum", "sum.C1", "sum.C2", "sum.C3", kDouble));

  rows.push_back({.op_type = "Where",
                  .inputs = {{"condition"}, {"x"}, {"y"}},
                  .outputs = {{"z"}},
                  .attributes = {},
                  .checks = {{"where.C1", InputTypes(0, {ElementType::kBool})},
                             {"where.C2", WhereTypes},
                             {"where.C3", CanBroadcast({0, 1, 2})}},
                  .shape = ShapeOfBroadcast,
                  .shape_clause = "where.C4",
                  .type = TypeOfSecond});
  rows.push_back({.op_type = "Clip",
                  .inputs = {{"x"}, {"min", true}, {"max", true}},
                  .outputs = {{"y"}},
                  .attributes = {{"max", AttributeType::kFloat}, {"min", AttributeType::kFloat}},
                  .checks = {{"clip.C4", ClipBounds},
                             {"clip.C1", RealOrOne({0, 1, 2}, {0}, kPlainTypes)},
                             {"clip.C2", Both({IsScalar(1), IsScalar(2)})}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "clip.C3"});
  rows.push_back({.op_type = "Cast",
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .attributes = {{"round_mode", AttributeType::kString, "up", false, 24},
                                 {"saturate", AttributeType::kInt, 1, false, 19},
                                 {"to", AttributeType::kInt}},
                  .checks = {{"cast.C1", CastTypes}, {"cast.C2", CastTo}, {"cast.C4", CastModes}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "cast.C3",
                  .type = CastType});
}

}  // namespace qtx::format::catalogue
