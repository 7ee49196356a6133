// AveragePool, GlobalAveragePool, MaxPool.
#include <algorithm>
#include <limits>

#include "values.h"
#include "window.h"

namespace qtx::backend::faulty {
namespace {

// The window of a node; the whole plane for the global one.
Result<Window> PoolWindow(const Call& call, const Dims& input) {
  if (call.node.op_type == "GlobalAveragePool") {
    const std::size_t rank = input.size();
    return Window{input,         Dims(rank, 1), input,        Dims(rank, 1),
                  Dims(rank, 1), Dims(rank, 0), Dims(rank, 0)};
  }
  const Dims kernel = call.node.IntsOr("kernel_shape", {});
  if (kernel.size() != input.size()) return Declined(call, "no kernel_shape");
  QTX_ASSIGN_OR_RETURN(Window window, WindowOf(call, input, kernel));
  for (std::size_t d = 0; d < input.size(); ++d) {
    if (std::max(window.begin[d], window.end[d]) >= kernel[d]) return Declined(call, "such pads");
  }
  return window;
}

// The elements of one result: indices of x, -1 for padding, nothing beyond the padding.
struct Taken {
  std::vector<std::int64_t> elements;
  std::int64_t inside = 0, padding = 0, beyond = 0;
};

Taken TakeTaps(const std::vector<Tap>& taps, std::int64_t plane) {
  Taken taken;
  for (const Tap& tap : taps) {
    taken.elements.push_back(tap.input < 0 ? -1 : plane + tap.input);
    ++(tap.input >= 0 ? taken.inside : tap.beyond ? taken.beyond : taken.padding);
  }
  return taken;
}

// Source: average_pool.S2.
std::int64_t DivisorOf(const Call& call, const Taken& taken) {
  bool counts = call.node.op_type == "AveragePool" && call.Int("count_include_pad") != 0;
  if (call.Is(Fault::kAverageCountsPadding)) counts = true;
  if (call.Is(Fault::kAverageExcludesPadding)) counts = false;
  std::int64_t divisor = taken.inside + (counts ? taken.padding : 0);
  if (call.Is(Fault::kAverageCountsOverhang) && counts) divisor += taken.beyond;
  return divisor;
}

template <class N>
void PutAverage(const Call& call, const Values& x, const Taken& taken, std::size_t element,
                Writer<N>& writer) {
  const std::int64_t divisor = DivisorOf(call, taken);
  N sum = FromDouble<N>(0);
  std::int64_t stored = 0;
  for (const std::int64_t i : taken.elements) {
    if (i < 0) continue;
    sum = sum + x.Real<N>(At(i));
    if (x.quantized) stored += x.stored[At(i)];
  }
  const bool narrow = x.quantized && x.per_tensor && writer.quantized();
  if (narrow && call.Is(Fault::kAverageSum16Bits)) {
    const std::int64_t lost = stored - static_cast<std::int16_t>(stored);
    sum = sum - FromInteger<N>(lost) * FromDouble<N>(static_cast<double>(x.scale[0]));
  }
  const N mean = sum / FromInteger<N>(divisor);
  if (narrow && (call.Is(Fault::kAverageTruncates) || call.Is(Fault::kAverageHalfAway))) {
    const Tie tie = call.Is(Fault::kAverageTruncates) ? Tie::kTruncate : Tie::kAway;
    const N units = mean / FromDouble<N>(static_cast<double>(writer.scale(element)));
    return writer.PutStored(element, Round(units, tie) + writer.offset(element));
  }
  writer.Put(element, mean);
}

bool Greater(const Call& call, const Values& x, std::size_t a, std::size_t b) {
  if (call.Is(Fault::kMaxPoolUnsigned) && x.quantized && format::BitWidth(x.type) == 8) {
    return static_cast<std::uint8_t>(x.stored[a]) > static_cast<std::uint8_t>(x.stored[b]);
  }
  return x.Real<Exact>(b) < x.Real<Exact>(a);
}

template <class N>
void PutMaximum(const Call& call, const Values& x, const Taken& taken, std::size_t element,
                Writer<N>& writer, const OutputType& type) {
  std::int64_t best = -1;
  for (const std::int64_t i : taken.elements) {
    if (i >= 0 && (best < 0 || Greater(call, x, At(i), At(best)))) best = i;
  }
  const bool padded = taken.padding + taken.beyond > 0;
  const bool same = x.quantized && x.per_tensor && x.has_integer_form() && type.quantization &&
                    type.quantization->axis.empty() && x.scale[0] == type.quantization->scale[0] &&
                    x.offset[0] == format::OffsetAt(*type.quantization, 0);
  if (call.Is(Fault::kMaxPoolPadsWithZero) && padded && same) {
    return writer.PutStored(element, std::max<std::int64_t>(x.stored[At(best)], 0));
  }
  if (same) return writer.PutStored(element, x.stored[At(best)]);
  writer.Put(element, x.Real<N>(At(best)));
}

template <class N>
Outputs PoolOf(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values x, RealsAt(call, 0));
  if (x.dims.size() < 3 || x.dims.size() > 5 || x.size() == 0 || call.outputs.size() != 1) {
    return Declined(call, "this rank, size or number of outputs");
  }
  const Dims input(x.dims.begin() + 2, x.dims.end());
  QTX_ASSIGN_OR_RETURN(const Window window, PoolWindow(call, input));
  Dims dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  const bool global = call.node.op_type == "GlobalAveragePool";
  if (global && call.Is(Fault::kGlobalPoolDropsAxes)) dims.resize(2);
  const bool maximum = call.node.op_type == "MaxPool";
  const auto not_a_number = [](double value) { return std::isnan(value); };
  if (maximum && std::ranges::any_of(x.real, not_a_number)) return Declined(call, "NaN");
  QTX_ASSIGN_OR_RETURN(auto writer, Writer<N>::Make(call, 0, dims));
  const std::int64_t planes = window.planes_out();
  QTX_RETURN_IF_ERROR(CheckSize(call, {x.dims[0], x.dims[1], planes, Size(window.kernel)}));
  for (std::int64_t o = 0; o < planes; ++o) {
    const std::vector<Tap> taps = window.Taps(o);
    for (std::int64_t c = 0; c < x.dims[0] * x.dims[1]; ++c) {
      const Taken taken = TakeTaps(taps, c * window.planes_in());
      const std::size_t element = At(c * planes + o);
      if (taken.inside == 0 && call.Is(Fault::kCeilModeKeepsLastWindow)) {
        writer.Put(element, FromDouble<N>(-std::numeric_limits<double>::infinity()));
        continue;
      }
      if (taken.inside == 0 && (maximum || DivisorOf(call, taken) == 0)) {
        return Declined(call, "a window wholly in padding");
      }
      if (maximum) {
        PutMaximum<N>(call, x, taken, element, writer, call.outputs[0]);
      } else {
        PutAverage<N>(call, x, taken, element, writer);
      }
    }
  }
  return One(writer.Take());
}

}  // namespace

Outputs Pool(const Call& call) { return call.exact ? PoolOf<Exact>(call) : PoolOf<float>(call); }

}  // namespace qtx::backend::faulty
