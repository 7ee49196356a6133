// QuantizeLinear and DequantizeLinear: scale and zero point are inputs, constant or computed, per
// tensor, per axis or in blocks. As a Quantization they make plain integers reals.
#include <cmath>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/cast.h"
#include "engine/ops/conversion.h"
#include "engine/ops/real_conversion.h"
#include "engine/ops/reals.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

struct Parameters {
  const Value* scale = nullptr;
  const Value* zero_point = nullptr;  // null: 0
  ElementType type = ElementType::kUndefined;
  Quantization granularity;         // axis and block_shape alone
  bool divides = false;             // by the scales
  bool is_initializer = false;      // the scale
  Error bad_scale, bad_zero_point;  // what is found at run time
};

// A scale that no quotient or product of reals takes stands beside 1 in `parameters`.
struct RunParameters {
  Quantization parameters;
  std::vector<float> scales;  // 0, infinities and NaN included; empty where there is none of them
};

// The parameters of the present run. Each scale is a binary32 (quantize_linear.C2,
// dequantize_linear.C2), or an infinity or NaN that the graph computes.
Result<RunParameters> Read(const Parameters& p) {
  RunParameters run{p.granularity, {}};
  Quantization& q = run.parameters;
  bool special = false;
  for (const double value : format::StoredValues(p.scale->tensor)) {
    const auto scale = static_cast<float>(value);
    const bool ordinary = std::isfinite(value) && (value > 0 || !p.divides);
    const bool allowed = ordinary ? static_cast<double>(scale) == value
                                  : !p.is_initializer && !(p.divides && value < 0);
    if (!allowed) return p.bad_scale;
    special = special || !ordinary;
    run.scales.push_back(scale);
    q.scale.push_back(ordinary ? scale : 1.0F);
  }
  if (!special) run.scales.clear();
  if (p.zero_point == nullptr) return run;
  if (format::IsIntegerStorage(p.zero_point->tensor.elem_type)) {
    q.offset = format::UnpackInt32(p.zero_point->tensor);
    return run;
  }
  const NumberReader zeros(p.zero_point->tensor);
  for (std::int64_t i = 0; i < format::ElementCount(p.zero_point->tensor); ++i) {
    if (!zeros(i).finite() || zeros(i).Sign() != 0) return p.bad_zero_point;
  }
  return run;
}

Number NumberOf(float value) { return Number::OfDouble(static_cast<double>(value)); }

std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

// A type of floats with all values of `type`, which QuantizeLinear takes.
ElementType WideType(ElementType type) {
  return type == ElementType::kInt32 ? ElementType::kDouble : ElementType::kFloat;
}

class Linear : public Step {
 public:
  Linear(const Value* x, Value* y, Parameters parameters, bool quantizes, SmallFloatRules rules,
         const NodePlan& node)
      : x_(x),
        y_(y),
        parameters_(std::move(parameters)),
        quantizes_(quantizes),
        rules_(std::move(rules)),
        arithmetic_(node.arithmetic()),
        kernels_(node.kernels()) {}

  bool HasConstantParameters() const {
    return parameters_.scale->constant &&
           (parameters_.zero_point == nullptr || parameters_.zero_point->constant);
  }
  std::string_view Path() const override { return "linear"; }
  Result<void> Run() override {
    QTX_ASSIGN_OR_RETURN(const RunParameters run, Read(parameters_));
    if (quantizes_ && !run.scales.empty()) {
      const Tensor quotients = Quotients(run);
      Compute(quotients, run.parameters);
    } else {
      Compute(x_->tensor, run.parameters);
      if (!run.scales.empty()) PutProducts(run);
    }
    return {};
  }

 private:
  // `x`, with the given parameters beside it, to y.
  void Compute(const Tensor& x, const Quantization& q) {
    Tensor integers{.elem_type = parameters_.type,
                    .dims = x.dims,
                    .quantization = q,
                    .bytes = (quantizes_ ? y_->tensor : x).bytes};
    if (arithmetic_ != Arithmetic::kExact) {
      Change(x, integers);
    } else if (!quantizes_) {
      Copy(integers, y_->tensor);
    } else if (format::IsSmallFloat(parameters_.type)) {
      QuantizeToFloats(x, q);
    } else {
      Copy(x, integers);
      y_->tensor.bytes = std::move(integers.bytes);
    }
  }

  // x as FLOAT, with what IEEE 754 makes of an element over 0, an infinity or NaN in its place:
  // 0, an infinity or NaN, whose scale is 1.  Source: quantize_linear.S1.
  Tensor Quotients(const RunParameters& run) const {
    const Tensor& x = x_->tensor;
    const NumberReader reader(x);
    const format::ParameterMap parameter(run.parameters, x.dims);
    Tensor quotients = *format::MakeTensor(WideType(x.elem_type), x.dims);
    NumberWriter writer(quotients);
    for (std::int64_t i = 0; i < format::ElementCount(x); ++i) {
      const float scale = run.scales[run.scales.size() == 1 ? 0 : Index(parameter(i))];
      const bool ordinary = std::isfinite(scale) && scale > 0;
      writer.Put(i, ordinary ? reader(i) : reader(i) / NumberOf(std::abs(scale)));
    }
    return quotients;
  }

  // What IEEE 754 makes of an element times an infinity or NaN.  Source: dequantize_linear.S1.
  void PutProducts(const RunParameters& run) {
    const Tensor integers{.elem_type = parameters_.type,
                          .dims = x_->tensor.dims,
                          .quantization = run.parameters,
                          .bytes = x_->tensor.bytes};
    const NumberReader reader(integers);
    NumberWriter writer(y_->tensor);
    const format::ParameterMap parameter(run.parameters, integers.dims);
    for (std::int64_t i = 0; i < format::ElementCount(integers); ++i) {
      const float scale = run.scales[run.scales.size() == 1 ? 0 : Index(parameter(i))];
      if (!std::isfinite(scale)) writer.Put(i, reader(i) * NumberOf(scale));
    }
  }

  void Copy(const Tensor& from, Tensor& to) const {
    if (ConvertReals(from, from.bytes, to, to.bytes, {}, kernels_)) return;
    if (IsRealOutput(from.elem_type) && IsRealOutput(to.elem_type) &&
        !format::IsSmallFloat(from.elem_type)) {
      StoreReals(RealsOf(from), to);
      return;
    }
    const NumberReader reader(from);
    NumberWriter writer(to);
    for (std::int64_t i = 0; i < format::ElementCount(to); ++i) writer.Put(i, reader(i));
  }

  // By the rule of the arithmetic.
  void Change(const Tensor& x, Tensor& integers) {
    const Tensor& from = quantizes_ ? x : integers;
    Tensor& to = quantizes_ ? integers : y_->tensor;
    const Purpose purpose = quantizes_ ? Purpose::kQuantize : Purpose::kMove;
    StoreChanged(RuleFor(arithmetic_, purpose, from, to), RealsOf(from), to);
    if (quantizes_) y_->tensor.bytes = std::move(integers.bytes);
  }

  // Codes of plain floats: NaN stays NaN, and saturate is an attribute.
  void QuantizeToFloats(const Tensor& x, const Quantization& q) {
    const NumberReader reader(x);
    NumberWriter writer(y_->tensor);
    const format::ParameterMap parameter(q, x.dims);
    for (std::int64_t i = 0; i < format::ElementCount(y_->tensor); ++i) {
      const Number scale = Number::OfDouble(format::ScaleAt(q, parameter(i)));
      writer.PutCode(i, SmallFloatCode(reader(i) / scale, y_->tensor.elem_type, rules_));
    }
  }

  const Value* x_;
  Value* y_;
  Parameters parameters_;
  bool quantizes_;
  SmallFloatRules rules_;
  Arithmetic arithmetic_;
  const Kernels& kernels_;
};

// The axis, or the blocks, that parameters of shape `own` have in a tensor of shape `dims`.
// Source: ONNX QuantizeLinear-21.
Result<void> SetGranularity(const NodePlan& node, const Dims& own, const Dims& dims,
                            Quantization& q) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const std::int64_t block = node.Int("block_size");
  if (block == 0 && own.size() <= 1 && format::ElementCount(own) == 1) return {};
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis, format::NormalizeAxis(node.Int("axis"), rank));
  q.axis = {axis};
  if (block == 0) return {};
  q.axis.clear();
  for (std::int64_t d = 0; d < rank; ++d) q.axis.push_back(d);
  q.block_shape.assign(dims.size(), 1);
  q.block_shape[static_cast<std::size_t>(axis)] = block;
  return {};
}

Result<Parameters> ParametersOf(const NodePlan& node, const Dims& dims, ElementType storage) {
  Parameters p;
  p.divides = node.node().op_type == "QuantizeLinear";
  p.is_initializer = node.IsInitializer(1);
  p.bad_scale = node.Breaks("C2", p.divides ? "a scale is no binary32 that is greater than 0"
                                            : "a scale is no finite binary32");
  p.bad_zero_point = node.Breaks("C3", "a zero point of floats is not 0");
  p.type = *format::QuantizedOf(storage);
  QTX_ASSIGN_OR_RETURN(p.scale, node.Input(1));
  if (node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(p.zero_point, node.Input(2));
  }
  QTX_RETURN_IF_ERROR(SetGranularity(node, p.scale->tensor.dims, dims, p.granularity));
  return p;
}

// Other arithmetics than exact have rules for integers and FLOAT here.
Result<void> CheckArithmetic(const NodePlan& node, const Value& real, ElementType storage) {
  const bool known = real.tensor.elem_type == ElementType::kFloat &&
                     format::IsIntegerStorage(storage) && storage != ElementType::kInt32;
  if (known || node.arithmetic() == Arithmetic::kExact) return {};
  return node.Unsupported("elements of type " + std::string(format::Name(storage)) + " beside " +
                          std::string(format::Name(real.tensor.elem_type)) +
                          " in another arithmetic than exact");
}

// The step, or, of constants, nothing: y is constant, too. What breaks a clause does so in each
// run.
StepResult OnceIfConstant(const Value* x, Value* y, std::unique_ptr<Linear> step) {
  if (!x->constant || !step->HasConstantParameters() || !step->Run().has_value()) return step;
  y->constant = true;
  return nullptr;
}

}  // namespace

StepResult PrepareQuantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(x->tensor.dims));
  const ElementType storage = y->tensor.elem_type;
  QTX_ASSIGN_OR_RETURN(Parameters p, ParametersOf(node, x->tensor.dims, storage));
  QTX_RETURN_IF_ERROR(CheckArithmetic(node, *x, storage));
  return OnceIfConstant(
      x, y,
      std::make_unique<Linear>(x, y, std::move(p), true,
                               SmallFloatRules{.saturates = node.Int("saturate") == 1}, node));
}

StepResult PrepareDequantizeLinear(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Parameters p, ParametersOf(node, x->tensor.dims, x->tensor.elem_type));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(x->tensor.dims));
  QTX_RETURN_IF_ERROR(CheckArithmetic(node, *y, x->tensor.elem_type));
  return OnceIfConstant(
      x, y, std::make_unique<Linear>(x, y, std::move(p), false, SmallFloatRules(), node));
}

}  // namespace qtx::backend::engine
