// Operators that compute element by element, the same in both orders of dimensions.
#include <algorithm>
#include <array>

#include "tflite/ops.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using schema::ActivationFunctionType;
using schema::BuiltinOperator;
using enum schema::BuiltinOperator;

struct Name {
  BuiltinOperator code;
  const char* op_type;
};

constexpr std::array kUnary = {
    Name{ABS, "Abs"},
    Name{CEIL, "Ceil"},
    Name{COS, "Cos"},
    Name{ELU, "Elu"},
    Name{EXP, "Exp"},
    Name{FLOOR, "Floor"},
    Name{GELU, "Gelu"},
    Name{HARD_SWISH, "HardSwish"},
    Name{LEAKY_RELU, "LeakyRelu"},
    Name{LOG, "Log"},
    Name{LOGICAL_NOT, "Not"},
    Name{LOGISTIC, "Sigmoid"},
    Name{NEG, "Neg"},
    Name{ROUND, "Round"},
    Name{SIGN, "Sign"},
    Name{SIN, "Sin"},
    Name{SQRT, "Sqrt"},
    Name{TANH, "Tanh"},
};
constexpr std::array kBinary = {
    Name{ADD, "Add"},
    Name{DIV, "Div"},
    Name{EQUAL, "Equal"},
    Name{GREATER, "Greater"},
    Name{GREATER_EQUAL, "GreaterOrEqual"},
    Name{LESS, "Less"},
    Name{LESS_EQUAL, "LessOrEqual"},
    Name{LOGICAL_AND, "And"},
    Name{LOGICAL_OR, "Or"},
    Name{MAXIMUM, "Max"},
    Name{MINIMUM, "Min"},
    Name{MUL, "Mul"},
    Name{POW, "Pow"},
    Name{PRELU, "PRelu"},
    Name{SUB, "Sub"},
};

template <std::size_t N>
const char* OpType(const std::array<Name, N>& names, BuiltinOperator code) {
  return std::find_if(names.begin(), names.end(),
                      [code](const Name& name) { return name.code == code; })
      ->op_type;
}

// A file may leave the options out: then nothing is fused.
ActivationFunctionType FusedInto(const TfliteOperator& op) {
  const auto fused = [](const auto* options) {
    return options == nullptr ? ActivationFunctionType::NONE : options->fused_activation_function();
  };
  switch (op.code) {
    case ADD:
      return fused(op.options->builtin_options_as_AddOptions());
    case DIV:
      return fused(op.options->builtin_options_as_DivOptions());
    case MUL:
      return fused(op.options->builtin_options_as_MulOptions());
    case SUB:
      return fused(op.options->builtin_options_as_SubOptions());
    default:
      return ActivationFunctionType::NONE;
  }
}

struct Elements {
  int x = 0, y = 0;
  Layout layout = Layout::kOwn;
  std::string name;  // of x in that layout
};

// The one input and the output, of equal shapes.
Result<Elements> ElementsOf(TfliteBuilder& builder, const TfliteOperator& op) {
  Elements elements;
  QTX_ASSIGN_OR_RETURN(elements.x, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(elements.y, builder.Output(op));
  const TfliteTensor& x = builder.tensor(elements.x);
  const TfliteTensor& y = builder.tensor(elements.y);
  if (x.dims != y.dims) return BadOutput(x, y);
  elements.layout = CommonLayout(builder, std::vector<int>{elements.x, elements.y});
  QTX_ASSIGN_OR_RETURN(elements.name, builder.Use(elements.x, elements.layout));
  return elements;
}

struct Pair {
  int y = 0;
  Layout layout = Layout::kOwn;
  std::vector<std::string> names;
};

Result<Pair> PairOf(TfliteBuilder& builder, const TfliteOperator& op) {
  Pair pair;
  QTX_ASSIGN_OR_RETURN(const int a, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int b, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(pair.y, builder.Output(op));
  pair.layout = CommonLayout(builder, std::vector<int>{a, b, pair.y});
  for (const int index : {a, b}) {
    QTX_ASSIGN_OR_RETURN(std::string name, builder.Use(index, pair.layout));
    pair.names.push_back(std::move(name));
  }
  return pair;
}

// The type of `y` in `layout`, as a value that stands between two nodes.
Result<format::TensorType> InnerType(TfliteBuilder& builder, int y, Layout layout,
                                     ElementType elem_type) {
  format::TensorType type;
  type.elem_type = elem_type;
  const format::Dims& dims = builder.tensor(y).dims;
  type.shape = format::ToShape(layout == Layout::kFirst ? Permute(dims, NhwcToNchw()) : dims);
  return type;
}

// The constants of an LSTM of FLOAT16, which ConvertLstm reads.  LiteRT widens a state once, and
// then keeps it from run to run.
Result<void> SkipStacked(const TfliteBuilder& builder, int y) {
  if (!builder.tensor(y).variable) return {};
  const auto& stored = builder.tensor(*builder.HalfOf(y)).data;
  if (std::ranges::all_of(stored, [](std::byte b) { return b == std::byte{0}; })) return {};
  return Error{ErrorCode::kUnsupported, "tensor '" + builder.tensor(y).name + "'",
               "a variable that does not begin with 0"};
}

}  // namespace

Result<void> ConvertUnary(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const Elements elements, ElementsOf(builder, op));
  Draft draft{OpType(kUnary, op.code), {elements.name}, {}};
  if (op.code == LEAKY_RELU) {
    const auto* options = op.options->builtin_options_as_LeakyReluOptions();
    if (options == nullptr) return NoOptions();
    draft.attributes.push_back(Attribute::Float("alpha", options->alpha()));
  } else if (op.code == GELU) {
    const auto* options = op.options->builtin_options_as_GeluOptions();
    const bool approximate = options != nullptr && options->approximate();
    draft.attributes.push_back(Attribute::String("approximate", approximate ? "tanh" : "none"));
  }
  return builder.Emit(op, std::move(draft), elements.y, elements.layout);
}

Result<void> ConvertBinary(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(Pair pair, PairOf(builder, op));
  return builder.Emit(op, {OpType(kBinary, op.code), std::move(pair.names), {}}, pair.y,
                      pair.layout, FusedInto(op));
}

Result<void> ConvertSum(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  std::vector<int> tensors = op.inputs;
  tensors.push_back(y);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const int x, builder.Input(op, i));
    if (builder.tensor(x).dims != builder.tensor(y).dims)
      return BadOutput(builder.tensor(x), builder.tensor(y));
  }
  const Layout layout = CommonLayout(builder, tensors);
  Draft sum{"Sum", {}, {}};
  for (const int x : op.inputs) {
    QTX_ASSIGN_OR_RETURN(std::string name, builder.Use(x, layout));
    sum.inputs.push_back(std::move(name));
  }
  return builder.Emit(op, std::move(sum), y, layout);
}

// 1 / sqrt(x) is x to the power -1/2, one operator and so one rounding; x * x likewise.
Result<void> ConvertPower(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const Elements elements, ElementsOf(builder, op));
  if (op.code == SQUARE) {
    return builder.Emit(op, {"Mul", {elements.name, elements.name}, {}}, elements.y,
                        elements.layout);
  }
  const std::string exponent =
      builder.AddConstant(builder.tensor(elements.y).name + "/exponent", graph::FloatTensor(-0.5F));
  return builder.Emit(op, {"Pow", {elements.name, exponent}, {}}, elements.y, elements.layout);
}

Result<void> ConvertNotEqual(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(Pair pair, PairOf(builder, op));
  QTX_ASSIGN_OR_RETURN(format::TensorType type,
                       InnerType(builder, pair.y, pair.layout, ElementType::kBool));
  const std::string equal =
      builder.EmitInner(op, {"Equal", std::move(pair.names), {}},
                        builder.tensor(pair.y).name + "/equal", std::move(type));
  return builder.Emit(op, {"Not", {equal}, {}}, pair.y, pair.layout);
}

// SELECT picks rows of a and b where its condition has rank 1; SELECT_V2 broadcasts all three.
Result<void> ConvertSelect(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int condition, builder.Input(op, 0));
  QTX_ASSIGN_OR_RETURN(const int a, builder.Input(op, 1));
  QTX_ASSIGN_OR_RETURN(const int b, builder.Input(op, 2));
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  const Layout layout = CommonLayout(builder, std::vector<int>{condition, a, b, y});
  Draft where{"Where", {}, {}};
  for (const int index : {condition, a, b}) {
    QTX_ASSIGN_OR_RETURN(std::string name, builder.Use(index, layout));
    where.inputs.push_back(std::move(name));
  }
  const TfliteTensor& mask = builder.tensor(condition);
  const std::size_t rank = builder.tensor(a).dims.size();
  if (op.code == SELECT && mask.dims.size() == 1 && rank > 1) {
    if (mask.dims[0] != builder.tensor(a).dims[0]) return BadOutput(mask, builder.tensor(y));
    format::Dims rows(rank, 1);
    rows[0] = mask.dims[0];
    QTX_ASSIGN_OR_RETURN(const format::TensorType own, builder.Type(condition));
    QTX_ASSIGN_OR_RETURN(format::TensorType type, Reshaped(own, rows));
    const std::string shape = builder.AddConstant(mask.name + "/shape", graph::IntsTensor(rows));
    where.inputs[0] = builder.EmitInner(op, {"Reshape", {where.inputs[0], shape}, {}},
                                        mask.name + "/rows", std::move(type));
  }
  return builder.Emit(op, std::move(where), y, layout);
}

Result<void> ConvertSquaredDifference(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(Pair pair, PairOf(builder, op));
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, builder.Type(pair.y));
  const ElementType elem_type = y.quantization ? ElementType::kFloat : y.elem_type;
  QTX_ASSIGN_OR_RETURN(format::TensorType type, InnerType(builder, pair.y, pair.layout, elem_type));
  const std::string name = builder.tensor(pair.y).name;
  if (y.quantization)
    builder.Note(name, "difference", "a FLOAT value; the file has no such tensor");
  const std::string difference = builder.EmitInner(op, {"Sub", std::move(pair.names), {}},
                                                   name + "/difference", std::move(type));
  return builder.Emit(op, {"Mul", {difference, difference}, {}}, pair.y, pair.layout);
}

Result<void> ConvertActivation(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const Elements elements, ElementsOf(builder, op));
  Draft draft{"Relu", {elements.name}, {}};
  if (op.code != RELU) {
    const std::string& name = builder.tensor(elements.y).name;
    draft.op_type = "Clip";
    draft.inputs.push_back(builder.AddConstant(
        name + "/min", graph::FloatTensor(op.code == RELU_N1_TO_1 ? -1.0F : 0.0F)));
    draft.inputs.push_back(
        builder.AddConstant(name + "/max", graph::FloatTensor(op.code == RELU6 ? 6.0F : 1.0F)));
  }
  return builder.Emit(op, std::move(draft), elements.y, elements.layout);
}

Result<void> ConvertCast(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const Elements elements, ElementsOf(builder, op));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(elements.y));
  const auto to = static_cast<std::int64_t>(type.elem_type);
  return builder.Emit(op, {"Cast", {elements.name}, {Attribute::Int("to", to)}}, elements.y,
                      elements.layout);
}

Result<void> ConvertRequantize(TfliteBuilder& builder, const TfliteOperator& op) {
  QTX_ASSIGN_OR_RETURN(const int y, builder.Output(op));
  if (builder.IsStacked(y)) return SkipStacked(builder, y);
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, builder.Type(y));
  const bool quantizes = op.code == QUANTIZE;
  if (quantizes != type.quantization.has_value()) {
    return Error{ErrorCode::kInvalid, "output",
                 std::string(format::Name(type.elem_type)) +
                     (quantizes ? " has no scale" : " is quantized")};
  }
  return ConvertCast(builder, op);
}

}  // namespace qtx::convert
