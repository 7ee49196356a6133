// Add, Sub, Mul, Div; Softmax; ReduceMean and ReduceSum.
#include <algorithm>
#include <cmath>
#include <utility>

#include "values.h"

namespace qtx::backend::faulty {
namespace {

template <class N>
N Combine(const std::string& op, const N& a, const N& b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  return op == "Mul" ? a * b : a / b;
}

// Faults of kernels that add stored values.
void DistortOperands(const Call& call, Values& a, Values& b) {
  const std::string& op = call.node.op_type;
  const bool sums = op == "Add" || op == "Sub";
  if (call.Is(Fault::kAddScaleOfFirst) && sums && a.per_tensor && !b.scale.empty() &&
      !a.scale.empty()) {
    std::ranges::fill(b.scale, a.scale[0]);
  }
  // The smaller operand goes first to be broadcast, its parameters stay where they were.
  const bool swapped = a.size() > b.size() && a.per_tensor && b.per_tensor && b.size() > 0;
  if (call.Is(Fault::kParametersNotSwapped) && swapped) {
    const float scale = b.scale[0];
    const std::int64_t offset = b.offset[0];
    std::ranges::fill(b.scale, std::exchange(a.scale[0], scale));
    std::ranges::fill(a.scale, scale);
    std::ranges::fill(b.offset, std::exchange(a.offset[0], offset));
    std::ranges::fill(a.offset, offset);
  }
}

template <class N>
N Rounded(const N& real, float scale) {
  const N unit = FromDouble<N>(static_cast<double>(scale));
  return FromInteger<N>(Round(real / unit, Tie::kEven)) * unit;
}

template <class N>
Outputs ElementwiseOf(const Call& call) {
  QTX_ASSIGN_OR_RETURN(Values a, RealsAt(call, 0));
  QTX_ASSIGN_OR_RETURN(Values b, RealsAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Dims dims, Broadcast(call, a.dims, b.dims));
  QTX_ASSIGN_OR_RETURN(auto writer, Writer<N>::Make(call, 0, dims));
  DistortOperands(call, a, b);
  const std::string& op = call.node.op_type;
  const auto a_index = BroadcastIndex(a.dims, dims);
  const auto b_index = BroadcastIndex(b.dims, dims);
  for (std::size_t i = 0; i < writer.size(); ++i) {
    std::size_t j = At(b_index[i]);
    if (call.Is(Fault::kBroadcastRepeats)) j = i % b.size();
    N x = a.Real<N>(At(a_index[i]));
    N y = b.Real<N>(j);
    const bool finite = !IsNan(x - x) && !IsNan(y - y);
    if (call.Is(Fault::kAddRoundsOperands) && op == "Add" && writer.quantized() && finite) {
      x = Rounded(x, writer.scale(i));
      y = Rounded(y, writer.scale(i));
    }
    writer.Put(i, Combine<N>(op, x, y));
  }
  return One(writer.Take());
}

// One vector of a Softmax: its elements lie `step` apart from `first` on.
struct Lane {
  std::size_t first, count, step;
};

void SoftmaxLane(const Call&, const Values& x, const Lane& lane, Writer<Exact>& writer) {
  std::vector<Exact> reals;
  for (std::size_t i = 0; i < lane.count; ++i) {
    reals.push_back(x.Real<Exact>(lane.first + i * lane.step));
  }
  const std::vector<Exact> shares = Softmax(reals);
  for (std::size_t i = 0; i < lane.count; ++i) {
    writer.Put(lane.first + i * lane.step, shares[i]);
  }
}

float NearestExp(float x) {
  if (!(x <= 1000)) return x > 0 ? std::numeric_limits<float>::infinity() : x;
  return ToFloat(Evaluate(Function::kExp, Exact(static_cast<double>(x))));
}

// Source: float32.S3.
void SoftmaxLane(const Call& call, const Values& x, const Lane& lane, Writer<float>& writer) {
  std::vector<float> shares;
  for (std::size_t i = 0; i < lane.count; ++i) {
    shares.push_back(x.Real<float>(lane.first + i * lane.step));
  }
  const float greatest = call.Is(Fault::kSoftmaxNotShifted) ? 0 : *std::ranges::max_element(shares);
  float sum = 0;
  for (float& share : shares) {
    share = NearestExp(share - greatest);
    sum += share;
  }
  for (std::size_t i = 0; i < lane.count; ++i) {
    writer.Put(lane.first + i * lane.step, shares[i] / sum);
  }
}

// Source: softmax.S1 to .S4.
template <class N>
Outputs SoftmaxWith(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values x, RealsAt(call, 0));
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(x.real, finite) || x.dims.empty()) {
    return Declined(call, "x that is a scalar or not finite");
  }
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, call.Int("axis"), x.dims.size()));
  QTX_ASSIGN_OR_RETURN(auto writer, Writer<N>::Make(call, 0, x.dims));
  const auto cut = static_cast<std::ptrdiff_t>(axis);
  const std::size_t count =
      At(call.opset < 13 ? Size(Dims(x.dims.begin() + cut, x.dims.end())) : x.dims[axis]);
  const std::size_t step =
      call.opset < 13 ? 1 : At(Size(Dims(x.dims.begin() + cut + 1, x.dims.end())));
  for (std::size_t first = 0; count > 0 && first < x.size(); first += count * step) {
    for (std::size_t i = 0; i < step; ++i) SoftmaxLane(call, x, {first + i, count, step}, writer);
  }
  return One(writer.Take());
}

// The axes to reduce, by name or by the lists of either opset.  Source: reduce_mean.S3.
Result<std::vector<bool>> ReducedAxes(const Call& call, std::size_t rank) {
  const std::int64_t since = call.node.op_type == "ReduceMean" ? 18 : 13;
  const bool attribute = call.node.Find("axes") != nullptr;
  const bool noop = call.node.Find("noop_with_empty_axes") != nullptr;
  if ((call.opset >= since ? attribute : call.Has(1) || noop)) {
    return Declined(call, "axes in the form of another opset");
  }
  Dims axes = call.node.IntsOr("axes", {});
  if (call.Has(1)) {
    QTX_ASSIGN_OR_RETURN(axes, IntegersAt(call, 1));
  }
  const bool all = axes.empty() && call.Int("noop_with_empty_axes") == 0;
  std::vector<bool> reduced(rank, all);
  for (const std::int64_t one : axes) {
    QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, one, rank));
    if (reduced[axis]) return Declined(call, "an axis twice");
    reduced[axis] = true;
  }
  return reduced;
}

template <class N>
Outputs ReduceWith(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values x, RealsAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedAxes(call, x.dims.size()));
  const bool keep = call.Int("keepdims") != 0 && !call.Is(Fault::kKeepdimsIgnored);
  Dims dims;       // of the result
  Dims one_sized;  // the same with every axis
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    one_sized.push_back(reduced[d] ? 1 : x.dims[d]);
    if (!reduced[d] || keep) dims.push_back(one_sized.back());
  }
  std::vector<N> sums(At(Size(one_sized)), FromDouble<N>(0));
  const auto to = BroadcastIndex(one_sized, x.dims);
  for (std::size_t i = 0; i < x.size(); ++i) {
    N& sum = sums[At(to[i])];
    sum = sum + x.Real<N>(i);
  }
  const bool mean = call.node.op_type == "ReduceMean";
  if (mean && x.size() == 0) return Declined(call, "a mean of nothing");
  const std::int64_t count = sums.empty() ? 1 : Size(x.dims) / Size(one_sized);
  QTX_ASSIGN_OR_RETURN(auto writer, Writer<N>::Make(call, 0, dims));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    writer.Put(i, mean ? sums[i] / FromInteger<N>(count) : sums[i]);
  }
  return One(writer.Take());
}

}  // namespace

Outputs Elementwise(const Call& call) {
  return call.exact ? ElementwiseOf<Exact>(call) : ElementwiseOf<float>(call);
}
Outputs SoftmaxOf(const Call& call) {
  return call.exact ? SoftmaxWith<Exact>(call) : SoftmaxWith<float>(call);
}
Outputs Reduce(const Call& call) {
  return call.exact ? ReduceWith<Exact>(call) : ReduceWith<float>(call);
}

}  // namespace qtx::backend::faulty
