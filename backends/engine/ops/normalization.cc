// BatchNormalization, InstanceNormalization, LayerNormalization, RMSNormalization: statistics are
// exact rationals, and the root has as many bits as the rounding needs.
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/function.h"
#include "engine/ops/indexing.h"
#include "engine/ops/operators.h"
#include "engine/ops/reals.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

// numerator / sqrt(square) + addend.
struct NormalizedValue {
  Number numerator, square, addend;
};

// By IEEE 754 where something is not finite or the root not positive; `gain` is a factor of the
// numerator that a division by zero must not see.
Number SpecialValue(const NormalizedValue& q, const Number& gain) {
  if (q.square.nan() || q.square.Sign() < 0) return Number::Nan();
  Number root = q.square;  // 0 or infinity
  if (q.square.finite() && q.square.Sign() > 0) root = Number::Of(1);
  return q.numerator / root * gain + q.addend;
}

Real RegularValue(const NormalizedValue& q) {
  if (q.numerator.Sign() == 0) return q.addend;
  if (const auto root = RationalRoot(q.square.value(), 2)) {
    return q.numerator / Number(*root) + q.addend;
  }
  return Real::Enclosed(
      [n = q.numerator.value(), s = q.square.value(), b = q.addend.value()](mpfr_prec_t bits) {
        return Interval(n, bits) / Sqrt(Interval(s, bits)) + Interval(b, bits);
      });
}

// (difference / sqrt(square)) * gain + bias, rounded once.
void PutNormalized(NumberWriter& writer, std::int64_t element, const Number& difference,
                   const Number& square, const Number& gain, const Number& bias) {
  const bool regular =
      difference.finite() && square.finite() && square.Sign() > 0 && gain.finite() && bias.finite();
  if (!regular) {
    writer.Put(element, SpecialValue({difference, square, bias}, gain));
    return;
  }
  const NormalizedValue q{difference * gain, square, bias};
  // Each conversion loses 2^-52, the root half of that again: together below 2^-49 of the quotient.
  const double quotient = q.numerator.value().get_d() / std::sqrt(q.square.value().get_d());
  const double addend = q.addend.value().get_d();
  const double error = std::ldexp(std::fabs(quotient) + std::fabs(addend), -48);
  if (std::isfinite(error) && std::fabs(quotient) > 0x1p-900) {
    const auto code = writer.EstimatedCode(element, quotient + addend, error);
    if (code.has_value()) return writer.PutCode(element, *code);
  }
  writer.Put(element, RegularValue(q));
}

// The reals of a tensor, each within 2^-53 of itself.
std::vector<double> DoublesOf(const format::Tensor& tensor) {
  std::vector<double> values;
  for (const Term& term : RealsOf(tensor)) values.push_back(term.integer * term.scale);
  return values;
}

// FLOAT, or integers of at most 16 bits, whose reals binary64 has exactly.
bool HasExactDoubles(const format::Tensor& tensor) {
  if (!CheckReals(tensor).has_value()) return false;
  if (tensor.elem_type == format::ElementType::kFloat) return true;
  const auto storage = format::StorageOf(tensor.elem_type);
  return format::IsQuantized(tensor.elem_type) && format::IsIntegerStorage(storage) &&
         format::BitWidth(storage) <= 16;
}

// What normalizes a group, in binary64 with bounds. With u = 2^-53, n elements of total magnitude A
// have a sum within n u A of itself, so that the mean errs by `mean_error` at most, and a
// difference by that and 2 u of itself, as a square by 2 |d| and once its error. The bounds are
// twice as wide, for what is of second order and for their own roundings.
struct GroupEstimate {
  double mean = 0, mean_error = 0;
  double inverse = 0;        // 1 / sqrt(square)
  double inverse_error = 0;  // relative; NaN or infinite: there is no estimate

  GroupEstimate(std::span<const double> x, bool centred, double epsilon) {
    const auto n = static_cast<double>(x.size());
    double sum = 0;
    double magnitude = 0;
    for (const double v : x) {
      sum += v;
      magnitude += std::fabs(v);
    }
    if (centred) {
      mean = sum / n;
      mean_error = (2 * n + 4) * 0x1p-53 * magnitude / n;
    }
    double squares = 0;
    double distance = 0;
    for (const double v : x) {
      const double d = v - mean;
      squares += d * d;
      distance += std::fabs(d);
    }
    const double error =
        2 * mean_error * (2 * distance + n * mean_error) + (2 * n + 16) * 0x1p-53 * squares;
    const double square = squares / n + epsilon;
    inverse = 1 / std::sqrt(square);
    // Half of the square's is that of the root, with a little beyond.
    const double relative = error / (n * square) + 0x1p-50;
    inverse_error = relative < 0x1p-10 ? relative : std::numeric_limits<double>::infinity();
  }

  // (v - mean) * inverse * gain + bias, and its error.
  std::pair<double, double> At(double v, double gain, double bias) const {
    const double d = v - mean;
    const double factor = gain * inverse;
    const double quotient = d * factor;
    const double error = 2 * (std::fabs(factor) * mean_error + std::fabs(quotient) * inverse_error);
    return {quotient + bias, error + (std::fabs(quotient) + std::fabs(bias)) * 0x1p-49};
  }
};

struct Normalization {
  const Value* x = nullptr;
  const Value* gain = nullptr;
  const Value* bias = nullptr;  // null: 0
  std::vector<std::int64_t> gain_index, bias_index;
  std::int64_t group = 1;  // elements, one after the other, that are normalized together
  bool centred = true;     // by their mean
  Number epsilon;
  Value* y = nullptr;
  Value* mean = nullptr;  // null: not asked for
  Value* inverse = nullptr;
};

class GroupNormalization : public Step {
 public:
  explicit GroupNormalization(Normalization plan)
      : plan_(std::move(plan)),
        estimated_(plan_.mean == nullptr && plan_.inverse == nullptr && plan_.epsilon.finite() &&
                   HasExactDoubles(plan_.x->tensor) && CheckReals(plan_.gain->tensor).has_value() &&
                   (plan_.bias == nullptr || CheckReals(plan_.bias->tensor).has_value())) {}

  std::string_view Path() const override { return estimated_ ? "estimates" : kGeneralPath; }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(plan_.x->tensor);
    NumberWriter y(plan_.y->tensor);
    std::vector<double> x;
    if (estimated_) {
      x = DoublesOf(plan_.x->tensor);
      gain_ = DoublesOf(plan_.gain->tensor);
      if (plan_.bias != nullptr) bias_ = DoublesOf(plan_.bias->tensor);
    }
    std::vector<std::size_t> exactly;  // of a group: those whose rounding is in doubt
    if (!estimated_) {
      exactly.resize(static_cast<std::size_t>(plan_.group));
      std::iota(exactly.begin(), exactly.end(), std::size_t{0});
    }
    for (std::int64_t first = 0; first < count; first += plan_.group) {
      if (estimated_) {
        EstimateGroup(std::span(x).subspan(static_cast<std::size_t>(first),
                                           static_cast<std::size_t>(plan_.group)),
                      first, y, exactly);
      }
      if (!exactly.empty()) RunGroup(first, exactly, y);
    }
    return {};
  }

 private:
  void EstimateGroup(std::span<const double> x, std::int64_t first, NumberWriter& y,
                     std::vector<std::size_t>& doubtful) const {
    doubtful.clear();
    const GroupEstimate group(x, plan_.centred, plan_.epsilon.value().get_d());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i);
      const auto index = static_cast<std::size_t>(at);
      const double gain = gain_[static_cast<std::size_t>(plan_.gain_index[index])];
      const double bias =
          plan_.bias == nullptr ? 0 : bias_[static_cast<std::size_t>(plan_.bias_index[index])];
      const auto [value, error] = group.At(x[i], gain, bias);
      const bool finite = std::isfinite(value) && std::isfinite(error);
      const auto code = finite ? y.EstimatedCode(at, value, error) : std::nullopt;
      if (code.has_value()) {
        y.PutCode(at, *code);
      } else {
        doubtful.push_back(i);
      }
    }
  }

  // The elements of the group that `which` lists, and what is asked for beside them.
  void RunGroup(std::int64_t first, std::span<const std::size_t> which, NumberWriter& y) {
    const NumberReader x(plan_.x->tensor);
    std::vector<Number> elements;
    for (std::int64_t i = 0; i < plan_.group; ++i) elements.push_back(x(first + i));
    const Number size = Number::Of(plan_.group);
    Number mean;
    if (plan_.centred) {
      for (const Number& element : elements) mean = mean + element;
      mean = mean / size;
    }
    Number square;
    for (Number& element : elements) {
      if (plan_.centred) element = element - mean;
      square = square + element * element;
    }
    square = square / size + plan_.epsilon;
    const NumberReader gain(plan_.gain->tensor);
    const NumberReader bias((plan_.bias != nullptr ? plan_.bias : plan_.gain)->tensor);
    for (const std::size_t i : which) {
      const std::int64_t at = first + static_cast<std::int64_t>(i);
      const auto index = static_cast<std::size_t>(at);
      PutNormalized(y, at, elements[i], square, gain(plan_.gain_index[index]),
                    plan_.bias == nullptr ? Number() : bias(plan_.bias_index[index]));
    }
    const std::int64_t group = first / plan_.group;
    if (plan_.mean != nullptr) NumberWriter(plan_.mean->tensor).Put(group, mean);
    if (plan_.inverse != nullptr) {
      NumberWriter writer(plan_.inverse->tensor);
      PutNormalized(writer, group, Number::Of(1), square, Number::Of(1), Number());
    }
  }

  Normalization plan_;
  bool estimated_;                   // by binary64 first
  std::vector<double> gain_, bias_;  // of the present run
};

class BatchNormalization : public Step {
 public:
  BatchNormalization(std::vector<const Value*> inputs, Value* y, std::int64_t plane, Number epsilon)
      : inputs_(std::move(inputs)), y_(y), plane_(plane), epsilon_(std::move(epsilon)) {}

  Result<void> Run() override {
    const NumberReader x(inputs_[0]->tensor);
    const NumberReader gain(inputs_[1]->tensor);
    const NumberReader bias(inputs_[2]->tensor);
    const NumberReader mean(inputs_[3]->tensor);
    const NumberReader variance(inputs_[4]->tensor);
    const std::int64_t channels = format::ElementCount(inputs_[1]->tensor);
    NumberWriter writer(y_->tensor);
    for (std::int64_t i = 0; i < format::ElementCount(y_->tensor); ++i) {
      const std::int64_t c = i / plane_ % channels;
      PutNormalized(writer, i, x(i) - mean(c), variance(c) + epsilon_, gain(c), bias(c));
    }
    return {};
  }

 private:
  std::vector<const Value*> inputs_;
  Value* y_;
  std::int64_t plane_;
  Number epsilon_;
};

Number EpsilonOf(const NodePlan& node) { return Number::OfDouble(node.Float("epsilon")); }

}  // namespace

StepResult PrepareLayerNormalization(const NodePlan& node) {
  const bool rms = node.node().op_type == "RMSNormalization";
  Normalization plan;
  plan.centred = !rms;
  QTX_ASSIGN_OR_RETURN(plan.x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(plan.gain, node.Input(1));
  plan.epsilon = EpsilonOf(node);
  const Dims& dims = plan.x->tensor.dims;
  const std::size_t axis = AxisOf(node.Int("axis"), dims.size());
  if (node.Int("stash_type") != 1) return node.Unsupported("stash_type");
  plan.group = Product(std::span(dims).subspan(axis));
  // For each element of x its own of a gain or bias.
  plan.gain_index = BroadcastIndex(plan.gain->tensor.dims, dims);
  std::vector<const Value*> inputs{plan.x, plan.gain};
  if (!rms && node.HasInput(2)) {
    QTX_ASSIGN_OR_RETURN(plan.bias, node.Input(2));
    plan.bias_index = BroadcastIndex(plan.bias->tensor.dims, dims);
    inputs.push_back(plan.bias);
  }
  QTX_ASSIGN_OR_RETURN(plan.y, node.OutputAt(0, dims, plan.x->tensor));
  std::vector<const Value*> outputs{plan.y};
  Dims groups = dims;
  for (std::size_t d = axis; d < dims.size(); ++d) groups[d] = 1;
  const format::Tensor fallback{.elem_type = format::ElementType::kFloat};
  for (const auto& [i, output] :
       {std::pair(std::size_t{1}, &plan.mean), std::pair(std::size_t{2}, &plan.inverse)}) {
    if (!node.HasOutput(i)) continue;
    QTX_ASSIGN_OR_RETURN(*output, node.OutputAt(i, groups, fallback));
    outputs.push_back(*output);
  }
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, outputs, Plain::kNone));
  if (plan.group == 0) return std::unique_ptr<Step>();
  return std::make_unique<GroupNormalization>(std::move(plan));
}

StepResult PrepareInstanceNormalization(const NodePlan& node) {
  Normalization plan;
  QTX_ASSIGN_OR_RETURN(plan.x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(plan.gain, node.Input(1));
  QTX_ASSIGN_OR_RETURN(plan.bias, node.Input(2));
  plan.epsilon = EpsilonOf(node);
  const Dims& dims = plan.x->tensor.dims;
  QTX_ASSIGN_OR_RETURN(plan.y, node.Output(dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::vector<const Value*>{plan.x, plan.gain, plan.bias},
                                 plan.y, Plain::kNone));
  plan.group = Product(std::span(dims).subspan(2));
  for (std::int64_t i = 0; i < format::ElementCount(plan.x->tensor); ++i) {
    plan.gain_index.push_back(i / plan.group % dims[1]);
  }
  plan.bias_index = plan.gain_index;
  if (plan.group == 0) return std::unique_ptr<Step>();
  return std::make_unique<GroupNormalization>(std::move(plan));
}

StepResult PrepareBatchNormalization(const NodePlan& node) {
  std::vector<const Value*> inputs;
  for (std::size_t i = 0; i < 5; ++i) {
    QTX_ASSIGN_OR_RETURN(const Value* input, node.Input(i));
    inputs.push_back(input);
  }
  const Dims& dims = inputs[0]->tensor.dims;
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, y, Plain::kNone));
  const std::int64_t plane = dims.size() > 2 ? Product(std::span(dims).subspan(2)) : 1;
  return std::make_unique<BatchNormalization>(std::move(inputs), y, plane, EpsilonOf(node));
}

}  // namespace qtx::backend::engine
