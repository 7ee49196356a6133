#include <algorithm>

#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;

enum class Mode { kConstant, kEdge, kReflect, kWrap };

Mode ModeOf(const Call& call) {
  const std::string mode = call.String("mode");
  if (mode == "edge") return Mode::kEdge;
  if (mode == "reflect") return Mode::kReflect;
  return mode == "wrap" ? Mode::kWrap : Mode::kConstant;
}

// One axis: `kept` elements from `first` on are what a negative pad leaves.
struct AxisPad {
  std::int64_t size, begin, kept, padded;
  std::int64_t first = 0;
};

// All axes; those that the input `axes` does not name have no padding.
// Source: pad.S3, pad.S4, pad.S6.
std::vector<AxisPad> AxisPads(const Call& call, const Dims& dims) {
  const Dims& from = call.inputs[0]->dims;
  std::vector<AxisPad> axes;
  for (const std::int64_t size : from) axes.push_back({size, 0, size, size});
  const std::vector<std::int64_t> pads = IntegersAt(call, 1);
  const std::size_t count = pads.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis =
        call.Input(3) != nullptr ? FromFirst(IntegersAt(call, 3)[i], from.size()) : i;
    AxisPad& pad = axes[axis];
    pad.begin = pads[i];
    pad.first = std::max<std::int64_t>(-pads[i], 0);
    pad.kept = pad.size - pad.first - std::max<std::int64_t>(-pads[count + i], 0);
    pad.padded = dims[axis];
  }
  return axes;
}

// Where on its axis output coordinate `at` takes its value; -1: nowhere.
// Source: pad.S1, pad.S2.
std::int64_t SourceCoordinate(const AxisPad& axis, std::int64_t at, Mode mode) {
  at -= std::max<std::int64_t>(axis.begin, 0);
  const std::int64_t last = axis.kept - 1;
  if (at >= 0 && at <= last) return axis.first + at;
  switch (mode) {
    case Mode::kConstant:
      return -1;
    case Mode::kEdge:
      return axis.first + (at < 0 ? 0 : last);
    case Mode::kReflect:
      return axis.first + (at < 0 ? -at : 2 * last - at);
    case Mode::kWrap:
      break;
  }
  return axis.first + (at % axis.kept + axis.kept) % axis.kept;
}

// For each output element its source, or -1 for padding.
std::vector<std::int64_t> Sources(const std::vector<AxisPad>& axes, Mode mode) {
  std::vector<std::int64_t> sources = {0};
  for (const AxisPad& axis : axes) {
    std::vector<std::int64_t> next;
    next.reserve(sources.size() * static_cast<std::size_t>(axis.padded));
    for (const std::int64_t outer : sources) {
      for (std::int64_t i = 0; i < axis.padded; ++i) {
        const std::int64_t at = SourceCoordinate(axis, i, mode);
        next.push_back(outer < 0 || at < 0 ? -1 : outer * axis.size + at);
      }
    }
    sources.swap(next);
  }
  return sources;
}

// Source: pad.S1 to pad.S6.
Result<format::Tensor> Pad(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], dims));
  std::vector<std::int64_t> all;
  if (Product(dims, 0, dims.size()) > 0) {  // else an axis may be long
    all = Sources(AxisPads(call, dims), ModeOf(call));
  }
  std::vector<std::int64_t> elements;
  std::vector<std::int64_t> sources;
  std::vector<std::int64_t> padding;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    if (all[i] < 0) {
      padding.push_back(element);
    } else {
      elements.push_back(element);
      sources.push_back(all[i]);
    }
  }
  QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0], elements, sources));
  auto filled = mover.Fill(call.Input(2), padding);
  if (!filled.has_value()) return At(InputName(call, 2), std::move(filled).error());
  return mover.Take();
}

}  // namespace

const Operator kPad = {.op_type = "Pad", .run = Pad};

}  // namespace qtx::reference::ops
