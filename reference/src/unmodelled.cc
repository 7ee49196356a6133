// Which nodes an arithmetic computes as `exact` for want of a clause: tflite.S11.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "arithmetic/image_resize.h"
#include "arithmetic/kernel_types.h"
#include "plan.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/levels.h"
#include "qtx/reference/interpreter.h"

namespace qtx::reference {
namespace {

using format::ElementType;

using Types = std::map<std::string, OutputType, std::less<>>;
using Shapes = std::map<std::string_view, format::Dims>;  // those without a size that is open

// A node and the types of its values; an absent one has none.
struct TypedNode {
  const format::Node& node;
  const Arithmetic& arithmetic;
  std::vector<std::optional<ValueType>> inputs;
  ValueType y;
  bool constant_matrix = false;  // input 1 is an initializer of rank 2
  bool one_shape = true;         // inputs 0 and 1 are not declared with two

  bool Has(std::size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  format::Attributes attributes() const { return format::Attributes(node); }
  bool HasTables() const { return arithmetic.kernels == Arithmetic::Kernels::kTflite; }
};

bool IsReal(const ValueType& type) {
  return type.elem_type == ElementType::kFloat || type.elem_type == ElementType::kFloat16 ||
         type.elem_type == ElementType::kBfloat16 || type.quantization != nullptr;
}

bool SameType(const ValueType& a, const ValueType& b) {
  if (a.quantization == nullptr || b.quantization == nullptr) {
    return a.quantization == b.quantization;
  }
  return HasOneScale(a) && HasOneScale(b) && a.quantization->scale == b.quantization->scale &&
         format::OffsetAt(*a.quantization, 0) == format::OffsetAt(*b.quantization, 0);
}

// tflite.S7, tflite.S10: stored values, or floats, are moved or compared.
bool Moves(const TypedNode& typed) {
  return std::ranges::all_of(typed.inputs, [&typed](const std::optional<ValueType>& x) {
    return !x || !IsReal(*x) || SameType(*x, typed.y);
  });
}

bool AllFloat(const TypedNode& typed) { return typed.y.quantization == nullptr && Moves(typed); }

// Comparisons of quantized types rescale what they compare.
bool Compares(const TypedNode& typed) {
  return std::ranges::none_of(typed.inputs, [](const std::optional<ValueType>& x) {
    return x && x->quantization != nullptr;
  });
}

bool Combines(const TypedNode& typed) {
  if (!typed.Has(1)) return false;
  const std::array<ValueType, 3> types = {*typed.inputs[0], *typed.inputs[1], typed.y};
  return HasBinaryKernel(typed.arithmetic, typed.node, types) ||
         HasShiftedSum(typed.arithmetic, typed.node, types, typed.one_shape);
}

// tflite_float64.S14.
bool Divides(const TypedNode& typed) {
  return typed.Has(1) &&
         HasDivKernel(typed.arithmetic, typed.node, {*typed.inputs[0], *typed.inputs[1], typed.y});
}

// tflite_float64.S3.
bool IsMean(const TypedNode& typed) {
  return HasMeanKernel(typed.arithmetic, typed.node, *typed.inputs[0], typed.y);
}

// tflite_half_up.S9.
bool IsSum(const TypedNode& typed) {
  return HasSumKernel(typed.arithmetic, typed.node, *typed.inputs[0], typed.y);
}

// The kernel divides by what a window holds; with padding that counts there is none.
bool Averages(const TypedNode& typed) {
  if (typed.node.op_type == "GlobalAveragePool") {
    return IsMean(typed) || HasAverageKernel(typed.arithmetic, *typed.inputs[0], typed.y);
  }
  const auto pads = typed.attributes().Ints("pads");
  const std::string padding = typed.attributes().String("auto_pad");
  const bool unpadded = (padding == "NOTSET" || padding == "VALID") &&
                        std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; });
  return (unpadded || typed.attributes().Int("count_include_pad") == 0) &&
         HasAverageKernel(typed.arithmetic, *typed.inputs[0], typed.y);
}

bool IsWord(const TypedNode& typed) {
  return HasWordKernel(typed.arithmetic, *typed.inputs[0], typed.y);
}

bool Shares(const TypedNode& typed) {
  return IsWord(typed) || HasSoftmaxKernel(*typed.inputs[0], typed.y);
}

template <bool kWide>
bool LooksUp(const TypedNode& typed) {
  return typed.HasTables() && HasUnaryKernel(*typed.inputs[0], typed.y, kWide);
}

bool Squashes(const TypedNode& typed) { return IsWord(typed) || LooksUp<false>(typed); }

bool HasTable(const TypedNode& typed) {
  return HasTableKernel(typed.arithmetic, typed.node, *typed.inputs[0], typed.y);
}

bool IsSwish(const TypedNode& typed) {
  return HasSwishKernel(typed.arithmetic, *typed.inputs[0], typed.y);
}

bool IsLogSoftmax(const TypedNode& typed) {
  return AllFloat(typed) || HasLogSoftmaxKernel(typed.arithmetic, *typed.inputs[0], typed.y);
}

bool IsNorm(const TypedNode& typed) {
  return HasNormKernel(typed.arithmetic, typed.node, *typed.inputs[0], typed.y);
}

bool IsRsqrt(const TypedNode& typed) {
  return StandsFor(typed.node, "RSQRT") && LooksUp<false>(typed) &&
         typed.y.elem_type == ElementType::kInt8Q;
}

// tflite_float64.S7, by types.
bool IsLiteRtHybrid(const TypedNode& typed) {
  const bool own = StandsFor(typed.node, "CONV_2D") || StandsFor(typed.node, "DEPTHWISE_CONV_2D") ||
                   (StandsFor(typed.node, "FULLY_CONNECTED") && !HasOneScale(*typed.inputs[1]));
  return typed.arithmetic.litert != Arithmetic::LiteRt::kNone && own &&
         typed.inputs[0]->elem_type == ElementType::kFloat &&
         typed.inputs[1]->elem_type == ElementType::kInt8Q &&
         typed.y.elem_type == ElementType::kFloat;
}

bool IsHybrid(const TypedNode& typed) {
  return IsLiteRtHybrid(typed) ||
         (typed.HasTables() &&
          HasHybridKernel(typed.node, *typed.inputs[0], *typed.inputs[1],
                          typed.Has(2) ? &*typed.inputs[2] : nullptr, typed.y));
}

// One scale, or one for each index of one axis.
bool HasOneScalePerSlice(const ValueType& w) {
  if (w.quantization == nullptr || !format::HasIntegerForm(*w.quantization)) return false;
  const auto is_one = [](std::int64_t block) { return block == 1; };
  return w.quantization->axis.size() <= 1 &&
         std::ranges::all_of(w.quantization->block_shape, is_one);
}

bool Multiplies(const TypedNode& typed) {
  if (!typed.Has(1)) return false;
  const ValueType& x = *typed.inputs[0];
  const ValueType& w = *typed.inputs[1];
  const bool bias = !typed.Has(2) || typed.inputs[2]->quantization != nullptr;
  const bool integers =
      HasOneScale(x) && HasOneScalePerSlice(w) && bias && !format::IsScaledGemm(typed.node);
  const bool batched = IsBatchMatMul(typed.node, typed.constant_matrix);
  return IsHybrid(typed) ||
         (integers && HasProductKernel(typed.arithmetic, typed.node, batched, {x, w, typed.y}));
}

// Types alone do not decide here: tflite.S18 has conditions on parameters and constants too.
bool IsLstm(const TypedNode& typed) {
  const auto is = [&typed](std::size_t i, ElementType type) {
    return typed.Has(i) && typed.inputs[i]->elem_type == type;
  };
  return typed.HasTables() &&
         (StandsFor(typed.node, "LSTM") || StandsFor(typed.node, "UNIDIRECTIONAL_SEQUENCE_LSTM")) &&
         is(0, ElementType::kInt8Q) && is(1, ElementType::kInt8Q) && is(2, ElementType::kInt8Q) &&
         is(5, ElementType::kInt8Q) && is(6, ElementType::kInt16Q);
}

// tflite.S9, between quantized types of 8 bits and more.
bool Rescales(const TypedNode& typed) {
  const auto wide = [](const ValueType& type) {
    return HasOneScale(type) && format::BitWidth(type.elem_type) >= 8;
  };
  return Moves(typed) || (wide(*typed.inputs[0]) && wide(typed.y));
}

// tflite.S9: RELU, and RELU6.
bool Activates(const TypedNode& typed) {
  return Moves(typed) || HasUnaryKernel(*typed.inputs[0], typed.y, true);
}

bool ChangesType(const TypedNode& typed) {
  return typed.inputs[0]->quantization == nullptr || typed.y.quantization == nullptr ||
         Rescales(typed);
}

bool Clips(const TypedNode& typed) {
  const TypedNode x{typed.node, typed.arithmetic, {typed.inputs[0]}, typed.y};
  return Moves(x) || (StandsFor(typed.node, "RELU6") && Activates(x));
}

bool IsNearest(const TypedNode& typed) {
  return typed.attributes().String("mode") == "nearest" &&
         Moves({typed.node, typed.arithmetic, {typed.inputs[0]}, typed.y});
}

// tflite_float64.S6.
bool Resizes(const TypedNode& typed) {
  return IsNearest(typed) ||
         HasResizeKernel(typed.arithmetic, typed.node, *typed.inputs[0], typed.y);
}

struct Row {
  std::string_view op_type;
  bool (*is_stated)(const TypedNode&);
};

// Operators but those that copy elements of their first input.
constexpr std::array kRows = {
    Row{"Abs", AllFloat},
    Row{"Add", Combines},
    Row{"And", Moves},
    Row{"AveragePool", Averages},
    Row{"Cast", ChangesType},
    Row{"Ceil", AllFloat},
    Row{"CastLike", ChangesType},
    Row{"Clip", Clips},
    Row{"Concat", Moves},
    Row{"Conv", Multiplies},
    Row{"ConvTranspose", Multiplies},
    Row{"Div", Divides},
    Row{"Dropout", Moves},
    Row{"Equal", Compares},
    Row{"Exp", HasTable},
    Row{"Floor", AllFloat},
    Row{"EyeLike", AllFloat},
    Row{"Gelu", HasTable},
    Row{"Gemm", Multiplies},
    Row{"GlobalAveragePool", Averages},
    Row{"Greater", Compares},
    Row{"GreaterOrEqual", Compares},
    Row{"GridSample", IsNearest},
    Row{"HardSwish", IsSwish},
    Row{"IsInf", Compares},
    Row{"IsNaN", Compares},
    Row{"LSTM", IsLstm},
    Row{"LeakyRelu", LooksUp<true>},
    Row{"Less", Compares},
    Row{"LessOrEqual", Compares},
    Row{"LogSoftmax", IsLogSoftmax},
    Row{"LpNormalization", IsNorm},
    Row{"MatMul", Multiplies},
    Row{"Max", Moves},
    Row{"Min", Moves},
    Row{"Mod", AllFloat},
    Row{"Mul", Combines},
    Row{"Neg", AllFloat},
    Row{"Not", Moves},
    Row{"OneHot", Moves},
    Row{"Or", Moves},
    Row{"Pad", Moves},
    Row{"Pow", IsRsqrt},
    Row{"Range", AllFloat},
    Row{"ReduceMean", IsMean},
    Row{"ReduceSum", IsSum},
    Row{"Relu", Activates},
    Row{"Resize", Resizes},
    Row{"Round", AllFloat},
    Row{"ScatterND", Moves},
    Row{"Sigmoid", Squashes},
    Row{"Sign", AllFloat},
    Row{"Softmax", Shares},
    Row{"Sub", Combines},
    Row{"Tanh", Squashes},
    Row{"Trilu", Moves},
    Row{"Where", Moves},
    Row{"Xor", Moves},
};

// Operators that take parameters as inputs are none of TFLite's: their clauses say what they are.
bool TakesParameters(const format::Node& node) {
  return !node.domain.empty() || node.op_type.find("Linear") != std::string::npos ||
         node.op_type.ends_with("Integer");
}

// The result is real, or compares what is.
bool HasReals(const TypedNode& typed) {
  if (typed.y.elem_type != ElementType::kBool) return IsReal(typed.y);
  return std::ranges::any_of(typed.inputs, [](const auto& x) { return x && IsReal(*x); });
}

bool IsStated(const TypedNode& typed) {
  const format::Node& node = typed.node;
  if (typed.arithmetic.domain != Domain::kStored || !HasReals(typed) || TakesParameters(node)) {
    return true;
  }
  if (!typed.Has(0)) return node.inputs.empty();  // Constant
  const format::OpSchema* schema = format::FindSchema(node.domain, node.op_type);
  if (schema != nullptr && schema->copies_elements) return Moves(typed);
  const auto* row = std::ranges::find(kRows, node.op_type, &Row::op_type);
  return row != kRows.end() && row->is_stated(typed);
}

// REQUIRES: value.type.
Result<OutputType> TypeOf(const format::Model& model, const format::ValueInfo& value) {
  const format::TensorType& type = *value.type;
  OutputType result{type.elem_type, std::nullopt};
  if (format::IsQuantized(type.elem_type) && type.quantization) {
    QTX_ASSIGN_OR_RETURN(result.quantization, format::Resolve(model, type, value.name));
  }
  return result;
}

Result<Types> DeclaredTypes(const format::Model& model) {
  Types types;
  for (const format::TensorData& data : model.graph.initializers) {
    types[data.name] = {data.data_type, std::nullopt};
  }
  for (const auto* values : {&model.graph.inputs, &model.graph.values, &model.graph.outputs}) {
    for (const format::ValueInfo& value : *values) {
      if (!value.type) continue;
      QTX_ASSIGN_OR_RETURN(types[value.name], TypeOf(model, value));
    }
  }
  return types;
}

Shapes DeclaredShapes(const format::Model& model) {
  Shapes shapes;
  for (const auto* values : {&model.graph.inputs, &model.graph.values, &model.graph.outputs}) {
    for (const format::ValueInfo& value : *values) {
      const auto fixed =
          value.type && value.type->shape ? format::FixedDims(*value.type->shape) : std::nullopt;
      if (fixed) shapes[value.name] = *fixed;
    }
  }
  for (const format::TensorData& data : model.graph.initializers) {
    shapes.try_emplace(data.name, data.dims);
  }
  return shapes;
}

bool IsConstantMatrix(const format::Model& model, const Shapes& shapes, std::string_view name) {
  const auto& constants = model.graph.initializers;
  return std::ranges::find(constants, name, &format::TensorData::name) != constants.end() &&
         shapes.at(name).size() == 2;
}

bool MayHaveOneShape(const Shapes& shapes, std::string_view a, std::string_view b) {
  const auto of_a = shapes.find(a), of_b = shapes.find(b);
  return of_a == shapes.end() || of_b == shapes.end() || of_a->second == of_b->second;
}

// "FLOAT by INT8Q to FLOAT"
std::string Spelled(const TypedNode& typed) {
  std::string text;
  for (const std::optional<ValueType>& x : typed.inputs) {
    if (!x || !IsReal(*x)) continue;
    text += (text.empty() ? "" : ", ") + std::string(format::Name(x->elem_type));
  }
  return text + " to " + std::string(format::Name(typed.y.elem_type));
}

}  // namespace

Result<std::vector<Unmodelled>> FindUnmodelled(const format::Model& model,
                                               std::string_view arithmetic,
                                               const Interpreter::NodeArithmetics& by_node,
                                               format::Features features) {
  QTX_ASSIGN_OR_RETURN(const Types types, DeclaredTypes(model));
  const OutputType undeclared{ElementType::kFloat, std::nullopt};
  const auto type_of = [&](const std::string& name) -> const OutputType& {
    const auto found = types.find(name);
    return found == types.end() ? undeclared : found->second;
  };
  const Shapes shapes = DeclaredShapes(model);
  std::vector<Unmodelled> found;
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const format::Node& node = model.graph.nodes[i];
    if (node.outputs.empty()) continue;
    const auto own = by_node.find(NameToUsers(node));
    QTX_ASSIGN_OR_RETURN(const Arithmetic* row,
                         FindArithmetic(own == by_node.end() ? arithmetic : own->second, features));
    TypedNode typed{node, *row, {}, type_of(node.outputs[0])};
    for (const std::string& name : node.inputs) {
      typed.inputs.push_back(name.empty() ? std::nullopt : std::optional<ValueType>(type_of(name)));
    }
    if (node.inputs.size() > 1) {
      typed.constant_matrix = IsConstantMatrix(model, shapes, node.inputs[1]);
      typed.one_shape = MayHaveOneShape(shapes, node.inputs[0], node.inputs[1]);
    }
    if (IsStated(typed)) continue;
    found.push_back({NodeName(model, i), "'" + std::string(row->name) + "' states no " +
                                             node.op_type + " of " + Spelled(typed) +
                                             ": computed as in exact [tflite.S11]"});
  }
  return found;
}

}  // namespace qtx::reference
