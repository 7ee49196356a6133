// Operators that compute element by element, activations and Cast.
#include <algorithm>
#include <array>
#include <cmath>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "tflite/rules.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using schema::ActivationFunctionType;
using enum schema::BuiltinOperator;

// Which output type an integer kernel supports: the requested one, none, or fixed parameters.
enum class Grid { kAny, kSum, kNone, kOne256, kOne128, kSame };

struct OutOperator {
  const char* op_type;
  schema::BuiltinOperator code;
  Grid grid;
};
constexpr std::array kUnaryOut = {
    OutOperator{"Abs", ABS, Grid::kAny},
    OutOperator{"Ceil", CEIL, Grid::kNone},
    OutOperator{"Cos", COS, Grid::kNone},
    OutOperator{"Elu", ELU, Grid::kNone},
    OutOperator{"Exp", EXP, Grid::kNone},
    OutOperator{"Floor", FLOOR, Grid::kNone},
    OutOperator{"Gelu", GELU, Grid::kNone},
    OutOperator{"HardSwish", HARD_SWISH, Grid::kAny},
    OutOperator{"LeakyRelu", LEAKY_RELU, Grid::kAny},
    OutOperator{"Log", LOG, Grid::kNone},
    OutOperator{"Neg", NEG, Grid::kNone},
    OutOperator{"Not", LOGICAL_NOT, Grid::kNone},
    OutOperator{"Round", ROUND, Grid::kNone},
    OutOperator{"Sigmoid", LOGISTIC, Grid::kOne256},
    OutOperator{"Sign", SIGN, Grid::kNone},
    OutOperator{"Sin", SIN, Grid::kNone},
    OutOperator{"Sqrt", SQRT, Grid::kNone},
    OutOperator{"Tanh", TANH, Grid::kOne128},
};
constexpr std::array kBinaryOut = {
    OutOperator{"Add", ADD, Grid::kSum},
    OutOperator{"And", LOGICAL_AND, Grid::kNone},
    OutOperator{"Div", DIV, Grid::kNone},
    OutOperator{"Equal", EQUAL, Grid::kNone},
    OutOperator{"Greater", GREATER, Grid::kNone},
    OutOperator{"GreaterOrEqual", GREATER_EQUAL, Grid::kNone},
    OutOperator{"Less", LESS, Grid::kNone},
    OutOperator{"LessOrEqual", LESS_EQUAL, Grid::kNone},
    OutOperator{"Max", MAXIMUM, Grid::kSame},
    OutOperator{"Min", MINIMUM, Grid::kSame},
    OutOperator{"Mul", MUL, Grid::kAny},
    OutOperator{"Or", LOGICAL_OR, Grid::kNone},
    OutOperator{"PRelu", PRELU, Grid::kNone},
    OutOperator{"Pow", POW, Grid::kNone},
    OutOperator{"Sub", SUB, Grid::kSum},
};

template <std::size_t N>
const OutOperator* FindEntry(const std::array<OutOperator, N>& entries,
                             const std::string& op_type) {
  const auto* found = std::ranges::find_if(
      entries, [&](const OutOperator& entry) { return op_type == entry.op_type; });
  return found == entries.end() ? nullptr : found;
}

bool GivesGrid(Grid grid, const format::TensorType& x, const format::TensorType& y) {
  const bool wide = y.elem_type == ElementType::kInt16Q;
  const bool is_signed = y.elem_type == ElementType::kInt8Q;
  switch (grid) {
    case Grid::kAny:
    case Grid::kSum:
      return true;
    case Grid::kNone:
      return false;
    case Grid::kSame:
      return SameGrid(x, y);
    case Grid::kOne256:
      return HasParameters(y, wide ? 0x1p-15F : 0x1p-8F, wide || !is_signed ? 0 : -128);
    case Grid::kOne128:
      return HasParameters(y, wide ? 0x1p-15F : 0x1p-7F, wide || is_signed ? 0 : 128);
  }
  return false;
}

// True if ADD and SUB of LiteRT take the scales: their factors are above 0 and below 1, others
// abort. Source: LiteRT 2.3, kernels/add.cc and sub.cc.
bool HasFactors(const format::TensorType& a, const format::TensorType& b,
                const format::TensorType& y) {
  const int shift = y.elem_type == ElementType::kInt16Q ? 15 : 20;
  const float scale_a = a.quantization->scale[0], scale_b = b.quantization->scale[0];
  const auto twice = static_cast<double>(2 * std::max(scale_a, scale_b));
  const auto shifted = static_cast<double>(std::ldexp(y.quantization->scale[0], shift));
  return std::isfinite(twice) && std::isfinite(shifted) && twice < shifted;
}

// The kernel for `values`, the last of which is the result.
Result<Kernel> KernelOf(TfliteWriter& writer, Grid grid, const std::vector<std::string>& values) {
  QTX_ASSIGN_OR_RETURN(Kernel kernel, KernelFor(writer, values));
  if (kernel == Kernel::kReal) return kernel;
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(values.back()));
  std::vector<format::TensorType> operands;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(operands.emplace_back(), writer.Type(values[i]));
    if (!GivesGrid(grid, operands.back(), y)) return Kernel::kReal;
  }
  const bool aborts = grid == Grid::kSum && !HasFactors(operands[0], operands[1], y);
  return aborts ? Kernel::kReal : kernel;
}

// The kernel's output type for operands of type `x` and a declared result `y`.
Result<format::TensorType> Given(const TfliteWriter& writer, const Job& job, Kernel kernel) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, writer.Type(job.output));
  if (kernel == Kernel::kInteger) return type;
  QTX_ASSIGN_OR_RETURN(type, writer.Type(job.Input(0)));
  if (type.quantization) type = Float();
  static constexpr std::array kPredicates = {"Equal", "Greater", "GreaterOrEqual", "LessOrEqual",
                                             "Less"};
  if (std::ranges::find(kPredicates, job.node.op_type) != kPredicates.end()) {
    type.elem_type = ElementType::kBool;
  }
  type.statistics.reset();
  return type;
}

void NoteReal(TfliteWriter& writer, const Job& job, Kernel kernel) {
  for (const std::string& input : job.node.inputs) {
    const auto type = writer.Type(input);
    if (kernel == Kernel::kInteger || input.empty() || !type.has_value() || !type->quantization) {
      continue;
    }
    writer.ledger().Changed(job.output, "arithmetic",
                            "in FLOAT: no integer kernel of TFLite gives these scales");
    return;
  }
}

template <typename Options>
void SetFused(Call& call, ActivationFunctionType activation, bool wide = false) {
  Options options;
  options.fused_activation_function = activation;
  if constexpr (requires { options.pot_scale_int16; }) options.pot_scale_int16 = !wide;
  call.options.Set(std::move(options));
}

bool Fuses(schema::BuiltinOperator code) {
  return code == ADD || code == SUB || code == MUL || code == DIV;
}

void SetBinaryOptions(Call& call, ActivationFunctionType activation, bool wide) {
  if (call.code == ADD) SetFused<schema::AddOptionsT>(call, activation, wide);
  if (call.code == SUB) SetFused<schema::SubOptionsT>(call, activation, wide);
  if (call.code == MUL) SetFused<schema::MulOptionsT>(call, activation);
  if (call.code == DIV) SetFused<schema::DivOptionsT>(call, activation);
}

Result<Dims> Broadcast(const Dims& a, const Dims& b) {
  Dims y(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t p = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t q = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (p != q && p != 1 && q != 1) {
      return Unsupported("", "shapes " + format::ToString(a) + " and " + format::ToString(b));
    }
    y[y.size() - 1 - i] = p == 1 ? q : p;
  }
  return y;
}

// [N,H,W,C] where an operand has that form only; others are constants or of rank 4 too.
Order OrderOf(const TfliteWriter& writer, const Job& job, std::size_t rank) {
  if (rank != 4) return Order::kOnnx;
  bool nhwc = false;
  for (const std::string& input : job.node.inputs) {
    const auto dims = writer.Dims(input);
    if (!dims.has_value()) return Order::kOnnx;
    if (dims->size() != 4 && !writer.IsConstant(input)) return Order::kOnnx;
    nhwc |= writer.Common({input}) == Order::kNhwc;
  }
  return nhwc ? Order::kNhwc : Order::kOnnx;
}

// 1 / sqrt(x) is RSQRT.
bool IsRsqrt(const TfliteWriter& writer, const Job& job) {
  if (job.node.op_type != "Pow" || !writer.IsConstant(job.Input(1))) return false;
  const auto exponent = writer.Constant(job.Input(1));
  return exponent.has_value() && exponent->elem_type == ElementType::kFloat &&
         exponent->bytes.size() == sizeof(float) && exponent->As<float>()[0] == -0.5F;
}

}  // namespace

Result<void> WriteUnary(TfliteWriter& writer, const Job& job) {
  static constexpr OutOperator kRsqrt = {"Pow", RSQRT, Grid::kAny};
  const OutOperator& entry =
      job.node.op_type == "Pow" ? kRsqrt : *FindEntry(kUnaryOut, job.node.op_type);
  const std::string& x = job.Input(0);
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelOf(writer, entry.grid, {x, job.output}));
  NoteReal(writer, job, kernel);
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  const Order order = writer.Common({x});
  Call call{entry.code, {}, {}};
  QTX_ASSIGN_OR_RETURN(const int input, UseFor(writer, kernel, x, order));
  call.inputs = {input};
  if (entry.code == LEAKY_RELU) {
    schema::LeakyReluOptionsT options;
    options.alpha = format::Attributes(job.node).Float("alpha");
    call.options.Set(std::move(options));
  } else if (entry.code == GELU) {
    schema::GeluOptionsT options;
    options.approximate = format::Attributes(job.node).String("approximate") == "tanh";
    call.options.Set(std::move(options));
  } else if (entry.code == ELU && format::Attributes(job.node).Float("alpha") != 1) {
    return Unsupported("", "alpha other than 1");
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, Given(writer, job, kernel));
  return writer.Emit(std::move(call), {job.output, order, dims}, as);
}

Result<void> WriteBinary(TfliteWriter& writer, const Job& job) {
  if (IsRsqrt(writer, job)) return WriteUnary(writer, job);
  const OutOperator& entry = *FindEntry(kBinaryOut, job.node.op_type);
  if (job.node.inputs.size() != 2) return Unsupported("", "operands other than two");
  const std::vector<std::string> values = {job.Input(0), job.Input(1), job.output};
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelOf(writer, entry.grid, values));
  NoteReal(writer, job, kernel);
  QTX_ASSIGN_OR_RETURN(const Dims a, writer.Dims(values[0]));
  QTX_ASSIGN_OR_RETURN(const Dims b, writer.Dims(values[1]));
  QTX_ASSIGN_OR_RETURN(const Dims dims, Broadcast(a, b));
  const Order order = OrderOf(writer, job, dims.size());
  Call call{entry.code, {}, {}};
  for (const std::string& value : {values[0], values[1]}) {
    QTX_ASSIGN_OR_RETURN(const int input,
                         writer.UseBroadcast(value, order, dims.size(), kernel == Kernel::kReal));
    call.inputs.push_back(input);
  }
  ActivationFunctionType activation = job.fused.value_or(ActivationFunctionType::NONE);
  if (kernel == Kernel::kInteger && Fuses(entry.code)) {
    QTX_ASSIGN_OR_RETURN(activation, FusedInto(writer, job));
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, Given(writer, job, kernel));
  SetBinaryOptions(call, activation, as.elem_type == ElementType::kInt16Q);
  return writer.Emit(std::move(call), {job.output, order, dims}, as);
}

std::optional<ActivationFunctionType> ActivationOf(const TfliteWriter& writer,
                                                   const format::Node& node) {
  using enum ActivationFunctionType;
  if (!node.domain.empty()) return std::nullopt;
  if (node.op_type == "Relu") return RELU;
  if (node.op_type != "Clip" || node.inputs.size() != 3) return std::nullopt;
  std::array<float, 2> bounds{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& name = node.inputs[i + 1];
    if (name.empty() || !writer.IsConstant(name)) return std::nullopt;
    const auto bound = writer.Constant(name);
    if (!bound.has_value() || bound->elem_type != ElementType::kFloat || bound->bytes.size() != 4) {
      return std::nullopt;
    }
    bounds[i] = bound->As<float>()[0];
  }
  if (bounds == std::array{0.0F, 6.0F}) return RELU6;
  if (bounds == std::array{-1.0F, 1.0F}) return RELU_N1_TO_1;
  return std::nullopt;
}

Result<void> WriteActivation(TfliteWriter& writer, const Job& job) {
  const auto activation = ActivationOf(writer, job.node);
  const std::string& x = job.Input(0);
  if (!activation) return Unsupported("", "bounds other than those of RELU6 and RELU_N1_TO_1");
  QTX_ASSIGN_OR_RETURN(const Kernel kernel, KernelOf(writer, Grid::kAny, {x, job.output}));
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  const Order order = writer.Common({x});
  using enum ActivationFunctionType;
  Call call{*activation == RELU    ? schema::BuiltinOperator::RELU
            : *activation == RELU6 ? schema::BuiltinOperator::RELU6
                                   : schema::BuiltinOperator::RELU_N1_TO_1,
            {},
            {}};
  QTX_ASSIGN_OR_RETURN(const int input, UseFor(writer, kernel, x, order));
  call.inputs = {input};
  QTX_ASSIGN_OR_RETURN(const format::TensorType y, writer.Type(job.output));
  if (y.quantization) {  // the range that the kernel clamps to is within that of the type
    Job fused = job;
    fused.fused = activation;
    QTX_RETURN_IF_ERROR(FusedInto(writer, fused));
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType as, Given(writer, job, kernel));
  return writer.Emit(std::move(call), {job.output, order, dims}, as);
}

Result<void> WriteCast(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  QTX_RETURN_IF_ERROR(KernelFor(writer, {job.output}));
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  QTX_ASSIGN_OR_RETURN(format::TensorType from, writer.Type(x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType to, writer.Type(job.output));
  if (from.quantization && to.elem_type == ElementType::kFloat) from = Float();
  const Order order = writer.Common({x});
  QTX_ASSIGN_OR_RETURN(const int input, writer.UseAs(x, order, from));
  return writer.Convert(input, {job.output, order, dims}, from);
}

}  // namespace qtx::convert
