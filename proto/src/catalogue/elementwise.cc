// Operators of one element: of one input, of two, of any number.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

constexpr TypeSet kDouble = {ElementType::kDouble};
constexpr TypeSet kBool = {ElementType::kBool};

ElementType BoolType(const Application&, std::size_t) { return ElementType::kBool; }

Result<void> AllBool(const Application& a) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i) QTX_RETURN_IF_ERROR(InputTypes(i, kBool)(a));
  return OutputTypes(0, kBool)(a);
}

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

// selu.S1: the constants of Selu-1 have five digits.
OpSchema SeluRow() {
  constexpr std::int64_t kRounded = 5;  // the last opset of Selu-1
  return Unary("Selu", "selu.C1", "selu.C2", kDouble,
               {{"alpha", AttributeType::kFloat, 1.6732F, false, 0, kRounded},
                {"gamma", AttributeType::kFloat, 1.0507F, false, 0, kRounded},
                {"alpha", AttributeType::kFloat, 0x1.ac5afap0F, false, kRounded + 1},
                {"gamma", AttributeType::kFloat, 0x1.0cfabep0F, false, kRounded + 1}},
               {{"selu.C3", Both({IsFinite("alpha"), IsFinite("gamma")})}});
}

// celu.C3.
Result<void> CeluAlpha(const Application& a) {
  QTX_RETURN_IF_ERROR(IsFinite("alpha")(a));
  const float alpha = a.Float("alpha");
  if (alpha > 0) return {};
  return BadAttribute("alpha", std::to_string(alpha), "a value above 0");
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

Result<void> IsNoString(const ValueFacts& value) {
  if (value.type != ElementType::kString) return {};
  return Error{ErrorCode::kUnsupported, "",
               "STRING, which this version of the text does not define"};
}

// equal.C1.
Result<void> EqualTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(IsNoString(a.Input(0)));
  return RealOrOne({0, 1}, {}, kPlainTypes | kBool)(a);
}

// a and b, broadcast, to BOOL: C1 of the operands, C2 of y, C3 of broadcasting, C4 of the shape.
OpSchema Comparison(std::string_view op_type, ClauseCheck operands, std::string_view result,
                    std::string_view broadcast, std::string_view shape) {
  return {.op_type = op_type,
          .inputs = {{"a"}, {"b"}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {std::move(operands),
                     {result, OutputTypes(0, kBool)},
                     {broadcast, CanBroadcast({0, 1})}},
          .shape = ShapeOfBroadcast,
          .shape_clause = shape,
          .type = BoolType};
}

// a and b of BOOL, broadcast, to BOOL.
OpSchema Logical(std::string_view op_type, std::string_view types, std::string_view broadcast,
                 std::string_view shape) {
  return {.op_type = op_type,
          .inputs = {{"a"}, {"b"}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {{types, AllBool}, {broadcast, CanBroadcast({0, 1})}},
          .shape = ShapeOfBroadcast,
          .shape_clause = shape,
          .type = BoolType};
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

// div.C4 and mod.C4, where the elements of b are known.
Result<void> DividesByNoZero(const Application& a) {
  if (!FindInteger(a.Input(1), [](std::int64_t value) { return value == 0; })) return {};
  return Refuse(InputPlace(a, 1), "an element is 0");
}

// mod.C5: floor and real operands meet since opset 28.
Result<void> ModForm(const Application& a) {
  QTX_RETURN_IF_ERROR(IntWithin("fmod", 0, 1)(a));
  if (a.Int("fmod") != 0 || a.opset >= 28) return {};
  const ElementType type = a.Input(0).type;
  if (type == ElementType::kUndefined || !(kRealTypes | kDouble).Has(type)) return {};
  return BadAttribute(
      "fmod", "0",
      "1, as opset " + std::to_string(a.opset) + " has it of " + std::string(Name(type)));
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
  QTX_RETURN_IF_ERROR(IsNoString(a.Input(0)));
  QTX_RETURN_IF_ERROR(IsNoString(a.Output(0)));
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

// cast.C4 and cast_like.C4.
Result<void> CastModes(const Application& a) {
  QTX_RETURN_IF_ERROR(IntWithin("saturate", 0, 1)(a));
  const ElementType to = TypeOfOutput(a, 0);
  if (IsQuantized(to) && IsSmallFloat(to) && a.Int("saturate") != 1) {
    return BadAttribute("saturate", "0", "1: a scaled small float saturates");
  }
  return StringOneOf("round_mode", {"up", "down", "nearest"})(a);
}

// cast_like.C1.
Result<void> CastLikeTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(IsNoString(a.Input(1)));
  QTX_RETURN_IF_ERROR(InputTypes(1, kAnyType)(a));
  return CastTypes(a);
}

// cast_like.C2.
Result<void> CastLikeTo(const Application& a) {
  const ElementType like = a.Input(1).type;
  const ElementType y = a.Output(0).type;
  if (like == y || like == ElementType::kUndefined || y == ElementType::kUndefined) return {};
  return BadOutput(a, 0, "type " + std::string(Name(y)), std::string(Name(like)));
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
  rows.push_back(Unary("Floor", "floor.C1", "floor.C2", kDouble));
  rows.push_back(Unary("Ceil", "ceil.C1", "ceil.C2", kDouble));
  rows.push_back(Unary("Round", "round.C1", "round.C2", kDouble));
  rows.push_back(Unary("Sign", "sign.C1", "sign.C2", kPlainTypes));
  rows.push_back(Unary("Sin", "sin.C1", "sin.C2", kDouble));
  rows.push_back(Unary("Cos", "cos.C1", "cos.C2", kDouble));
  rows.push_back(Unary("Tan", "tan.C1", "tan.C2", kDouble));
  rows.push_back(Unary("Sinh", "sinh.C1", "sinh.C2", kDouble));
  rows.push_back(Unary("Cosh", "cosh.C1", "cosh.C2", kDouble));
  rows.push_back(Unary("Asin", "asin.C1", "asin.C2", kDouble));
  rows.push_back(Unary("Acos", "acos.C1", "acos.C2", kDouble));
  rows.push_back(Unary("Atan", "atan.C1", "atan.C2", kDouble));
  rows.push_back(Unary("Asinh", "asinh.C1", "asinh.C2", kDouble));
  rows.push_back(Unary("Acosh", "acosh.C1", "acosh.C2", kDouble));
  rows.push_back(Unary("Atanh", "atanh.C1", "atanh.C2", kDouble));
  rows.push_back(Unary("Softsign", "softsign.C1", "softsign.C2", kDouble));
  rows.push_back(SeluRow());
  rows.push_back(
      Unary("Celu", "celu.C1", "celu.C2", kDouble, {with(alpha, 1.0F)}, {{"celu.C3", CeluAlpha}}));
  rows.push_back(Unary("ThresholdedRelu", "thresholded_relu.C1", "thresholded_relu.C2", kDouble,
                       {with(alpha, 1.0F)}, {{"thresholded_relu.C3", IsFinite("alpha")}}));
  rows.push_back(Unary("Swish", "swish.C1", "swish.C2", kDouble, {with(alpha, 1.0F)},
                       {{"swish.C3", IsFinite("alpha")}}));
  rows.push_back(
      Unary("Shrink", "shrink.C1", "shrink.C2", kDouble,
            {{"lambd", AttributeType::kFloat, 0.5F}, {"bias", AttributeType::kFloat, 0.0F}},
            {{"shrink.C3", Both({IsFinite("lambd"), IsFinite("bias")})}}));
  rows.push_back(Unary("Identity", "identity.C1", "identity.C2", kAnyType));
  rows.back().copies_elements = true;

  rows.push_back(Binary("Add", "add.C1", "add.C2", "add.C3"));
  rows.push_back(Binary("Sub", "sub.C1", "sub.C2", "sub.C3"));
  rows.push_back(Binary("Mul", "mul.C1", "mul.C2", "mul.C3"));
  rows.push_back(Binary("Div", "div.C1", "div.C2", "div.C3"));
  rows.back().checks.push_back({"div.C4", DividesByNoZero});
  rows.push_back(Binary("Mod", "mod.C1", "mod.C2", "mod.C3"));
  rows.back().attributes = {{"fmod", AttributeType::kInt, std::int64_t{0}}};
  rows.back().checks.push_back({"mod.C4", DividesByNoZero});
  rows.back().checks.push_back({"mod.C5", ModForm});
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

  const ClauseRule ordered = RealOrOne({0, 1}, {}, kPlainTypes);
  rows.push_back(Comparison("Equal", {"equal.C1", EqualTypes}, "equal.C2", "equal.C3", "equal.C4"));
  rows.push_back(
      Comparison("Greater", {"greater.C1", ordered}, "greater.C2", "greater.C3", "greater.C4"));
  rows.push_back(Comparison("Less", {"less.C1", ordered}, "less.C2", "less.C3", "less.C4"));
  rows.push_back(Comparison("GreaterOrEqual", {"greater_or_equal.C1", ordered},
                            "greater_or_equal.C2", "greater_or_equal.C3", "greater_or_equal.C4"));
  rows.push_back(Comparison("LessOrEqual", {"less_or_equal.C1", ordered}, "less_or_equal.C2",
                            "less_or_equal.C3", "less_or_equal.C4"));
  rows.push_back(Logical("And", "and.C1", "and.C2", "and.C3"));
  rows.push_back(Logical("Or", "or.C1", "or.C2", "or.C3"));
  rows.push_back(Logical("Xor", "xor.C1", "xor.C2", "xor.C3"));
  rows.push_back({.op_type = "Not",
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .attributes = {},
                  .checks = {{"not.C1", AllBool}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "not.C2",
                  .type = BoolType});
  rows.push_back({.op_type = "Where",
                  .inputs = {{"condition"}, {"x"}, {"y"}},
                  .outputs = {{"z"}},
                  .attributes = {},
                  .checks = {{"where.C1", InputTypes(0, kBool)},
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
  rows.push_back({.op_type = "CastLike",
                  .inputs = {{"x"}, {"like"}},
                  .outputs = {{"y"}},
                  .attributes = {{"round_mode", AttributeType::kString, "up", false, 24},
                                 {"saturate", AttributeType::kInt, 1, false, 19}},
                  .checks = {{"cast_like.C1", CastLikeTypes},
                             {"cast_like.C2", CastLikeTo},
                             {"cast_like.C4", CastModes}},
                  .shape = ShapeOfFirst,
                  .shape_clause = "cast_like.C3",
                  .type = TypeOfSecond});
}

}  // namespace qtx::format::catalogue
