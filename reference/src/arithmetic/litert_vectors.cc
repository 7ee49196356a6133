#include "arithmetic/litert_vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_kernels.h"

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;
using std::int64_t;
using enum RequantizeRecipe::Rounds;

int64_t Wrapped(int64_t value) {
  return Accumulated(value, RequantizeRecipe::Accumulator::kWrap32);
}
int64_t Wrapped16(int64_t value) { return static_cast<std::int16_t>(value); }

bool IsOrHasNoOrigin(const format::Node& node, std::string_view kernel) {
  return !node.origin || node.origin->framework != "tflite" || StandsFor(node, kernel);
}

// A whole number as a processor converts it to an int32.
template <typename Float>
int64_t ToInt32(Float whole) {
  return std::abs(whole) < Float{0x1p31F} ? static_cast<int64_t>(whole)
                                          : std::numeric_limits<std::int32_t>::min();
}

using StepsOf = int64_t (*)(float value, float scale);

int64_t InVector(float value, float scale) {
  return ToInt32(RoundFloat(value * (1.0F / scale), TieRule::kHalfEven));
}
int64_t LeftOver(float value, float scale) {
  return ToInt32(std::round(static_cast<double>(value) / static_cast<double>(scale)));
}
int64_t InReference(float value, float scale) { return ToInt32(std::round(value / scale)); }

// The shape `dims` with that many dimensions, in TFLite's order.
Dims Extended(const Dims& dims, std::size_t rank, const TfliteOrder& order) {
  Dims all(rank - dims.size(), 1);
  all.insert(all.end(), dims.begin(), dims.end());
  return order.DimsOf(all);
}

// The first of the dimensions before `end` that satisfy a condition in a row.
template <typename Condition>
std::size_t FirstOf(std::size_t end, Condition condition) {
  while (end > 0 && condition(end - 1)) --end;
  return end;
}

// The innermost loop over a and b: elements of both, or (`scalar`) one of either with those of the
// other. Dimensions are taken in five groups; where some are left there is a loop without vectors.
// `whole`: over all elements.
struct Loop {
  int64_t run = 1;
  bool scalar = false, whole = false, in_groups = true;
};

Loop LoopOf(Dims a, Dims b) {
  const auto size = [&b](std::size_t from, std::size_t to) {
    int64_t product = 1;
    for (std::size_t d = from; d < to; ++d) product *= b[d];
    return product;
  };
  const auto equal = [&a, &b](std::size_t d) { return a[d] == b[d]; };
  const std::size_t inner = FirstOf(a.size(), equal);
  if (inner == 0) return {size(0, b.size()), false, true, true};
  if (a[inner - 1] != 1) std::swap(a, b);
  const std::size_t repeated = FirstOf(inner, [&a](std::size_t d) { return a[d] == 1; });
  const std::size_t shared = FirstOf(repeated, equal);
  const std::size_t other = FirstOf(shared, [&b](std::size_t d) { return b[d] == 1; });
  const bool in_groups = FirstOf(other, equal) == 0;
  const int64_t run = size(inner, b.size());
  if (run != 1) return {run, false, false, in_groups};
  return {size(repeated, inner), true, false, in_groups};
}

void QuantizeFloats(const format::Node& node, const Operand& x, bool builtin, Output* y) {
  const int64_t count = format::ElementCount(x.tensor());
  const TfliteOrder order(node, x.tensor().dims);
  const Vectors vectors{std::max<int64_t>(count, 1), 8};
  for (int64_t i = 0; i < count; ++i) {
    const StepsOf of_builtin = vectors.Has(order(i)) ? InVector : LeftOver;
    const int64_t steps = (builtin ? of_builtin : InReference)(x.binary32(i), y->scale(i));
    y->PutStored(i, Wrapped(steps + y->offset(i)));
  }
}

void QuantizeBytes(const format::Node& node, const Operand& x, Output* y) {
  const int64_t count = format::ElementCount(x.tensor());
  const TfliteOrder order(node, x.tensor().dims);
  const Vectors vectors{std::max<int64_t>(count, 1), 16};
  const FixedMultiplier factor =
      ToFixed(static_cast<double>(x.scale(0)) / static_cast<double>(y->scale(0)));
  for (int64_t i = 0; i < count; ++i) {
    const RequantizeRecipe::Rounds rounds = vectors.Has(order(i)) ? kTwiceHalfUp : kTwiceWrapped;
    const int64_t steps = MultiplyFixed(x.integer(i), factor, rounds, TieRule::kHalfUp);
    y->PutStored(i, Wrapped(steps + y->offset(i)));
  }
}

}  // namespace

TfliteOrder::TfliteOrder(const format::Node& node, const Dims& dims)
    : moved_(dims.size() == 4 && OriginInt(node, "channels_first", 0) != 0) {
  if (!moved_) return;
  channels_ = dims[1];
  pixels_ = dims[2] * dims[3];
}

int64_t TfliteOrder::operator()(int64_t element) const {
  if (!moved_) return element;
  const int64_t channel = element / pixels_ % channels_;
  const int64_t image = element / pixels_ / channels_;
  return (image * pixels_ + element % pixels_) * channels_ + channel;
}

Dims TfliteOrder::DimsOf(const Dims& dims) const {
  return moved_ ? Dims{dims[0], dims[2], dims[3], dims[1]} : dims;
}

std::optional<VectorSum> VectorSum::Make(const Arithmetic& arithmetic, const format::Node& node,
                                         const Operand& a, const Operand& b, const Output& y) {
  const std::array<ValueType, 3> types = {a.tensor(), b.tensor(), y.tensor()};
  const bool one_type =
      types[0].elem_type == types[1].elem_type && types[0].elem_type == types[2].elem_type;
  if (arithmetic.litert != Arithmetic::LiteRt::kBuiltin || node.op_type != "Add" || !one_type ||
      !IsOrHasNoOrigin(node, "ADD") || !HasBinaryKernel(arithmetic, node, types)) {
    return std::nullopt;
  }
  return VectorSum(node, a, b, y);
}

// Source: LiteRT's kernels/add.cc, kernels/internal/optimized/{integer_ops/add,optimized_ops}.h,
// kernels/internal/reference/process_broadcast_shapes.h.
VectorSum::VectorSum(const format::Node& node, const Operand& a, const Operand& b, const Output& y)
    : a_(&a),
      b_(&b),
      order_(node, y.tensor().dims),
      headroom_(Is8Bit(a.tensor()) ? 20 : 15),
      offset_(y.offset(0)),
      bytes_(Is8Bit(a.tensor())) {
  const std::size_t rank = y.tensor().dims.size();
  const Loop loop =
      LoopOf(Extended(a.tensor().dims, rank, order_), Extended(b.tensor().dims, rank, order_));
  shifts_down_ = loop.scalar || a.tensor().elem_type == ElementType::kUint8Q;
  vectors_ = {std::max<int64_t>(loop.run, 1), shifts_down_ ? 8 : 16};
  has_vectors_ = loop.in_groups && (bytes_ || loop.whole);
  const auto sa = static_cast<double>(a.scale(0));
  const auto sb = static_cast<double>(b.scale(0));
  const double twice = 2 * std::max(sa, sb);
  a_factor_ = ToFixed(sa / twice);
  b_factor_ = ToFixed(sb / twice);
  y_factor_ = ToFixed(twice / std::ldexp(static_cast<double>(y.scale(0)), headroom_));
}

int64_t VectorSum::Brought(int64_t value, const FixedMultiplier& factor, bool in_vector) const {
  const int64_t raised = value * (int64_t{1} << headroom_);
  if (!in_vector) return MultiplyTwice(raised, factor);
  if (shifts_down_) return MultiplyTwice(raised, {factor.mantissa, 0}) >> -factor.shift;
  const int left = headroom_ + factor.shift;
  const int64_t shifted = left < 0 ? value >> -left : value * (int64_t{1} << left);
  return MultiplyTwice(shifted, {factor.mantissa, 0});
}

int64_t VectorSum::StoredOf(int64_t element, int64_t ia, int64_t ib) const {
  const bool in_vector = has_vectors_ && vectors_.Has(order_(element));
  const int64_t sum = Brought(a_->integer(ia), a_factor_, in_vector) +
                      Brought(b_->integer(ib), b_factor_, in_vector);
  const int64_t steps = MultiplyTwice(sum, y_factor_);
  return in_vector && bytes_ ? Wrapped16(Wrapped16(steps) + offset_) : steps + offset_;
}

// Source: LiteRT's kernels/quantize.cc, kernels/internal/optimized/optimized_ops.h,
// kernels/internal/reference/quantize.h.
Result<std::optional<format::Tensor>> RunLiteRtQuantize(const Call& call) {
  if (call.Input(0) == nullptr || call.outputs.empty() ||
      call.arithmetic.litert == Arithmetic::LiteRt::kNone ||
      !IsOrHasNoOrigin(call.node, "QUANTIZE")) {
    return std::optional<format::Tensor>();
  }
  const bool builtin = call.arithmetic.litert == Arithmetic::LiteRt::kBuiltin;
  const ValueType from(*call.Input(0)), to(call.outputs[0]);
  const bool bytes = builtin && HasOneScale(from) && Is8Bit(from) && HasOneScale(to) && Is8Bit(to);
  const bool floats = from.elem_type == ElementType::kFloat && HasOneScale(to) &&
                      (Is8Bit(to) || to.elem_type == ElementType::kInt16Q);
  if (!bytes && !floats) return std::optional<format::Tensor>();
  QTX_ASSIGN_OR_RETURN(const Operand x, Operand::Make(*call.Input(0)));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Make(call, x.tensor().dims));
  bytes ? QuantizeBytes(call.node, x, &y) : QuantizeFloats(call.node, x, builtin, &y);
  return std::optional(y.Take());
}

}  // namespace qtx::reference
