#include <algorithm>

#include "ops/move.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

enum class Mode { kConstant, kEdge, kReflect, kWrap };

Result<Mode> ModeOf(const format::Node& node) {
  const std::string mode = node.StringOr("mode", "constant");
  if (mode == "constant") return Mode::kConstant;
  if (mode == "edge") return Mode::kEdge;
  if (mode == "reflect") return Mode::kReflect;
  if (mode == "wrap") return Mode::kWrap;
  return Error{ErrorCode::kInvalid, "attribute 'mode'",
               "found '" + mode + "', expected constant, edge, reflect or wrap"};
}

Result<void> CheckMode(const format::Node& node) {
  QTX_RETURN_IF_ERROR(ModeOf(node));
  return {};
}

// One axis: `kept` elements from `first` on are what a negative pad leaves.
struct AxisPad {
  std::int64_t size, begin, end;
  std::int64_t first = 0;
  std::int64_t kept = 0;
  std::int64_t padded = 0;
};

// Source: pad.S3, pad.S4, pad.C5.
Result<AxisPad> Place(std::int64_t size, std::int64_t begin, std::int64_t end, Mode mode) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 40;  // keeps the sums from overflowing
  AxisPad pad{size, begin, end};
  const auto far = [](std::int64_t value) { return value < -kFarthest || value > kFarthest; };
  if (!far(begin) && !far(end)) {
    pad.first = std::max<std::int64_t>(-begin, 0);
    pad.kept = size - pad.first - std::max<std::int64_t>(-end, 0);
    pad.padded = size + begin + end;
    const std::int64_t farther = std::max(begin, end);
    const bool mirrored = mode != Mode::kReflect || farther <= 0 || farther < pad.kept;
    const bool repeated = mode == Mode::kConstant || farther <= 0 || pad.kept > 0;
    if (pad.kept >= 0 && mirrored && repeated) return pad;
  }
  return Error{ErrorCode::kInvalid, "",
               "found pads of " + std::to_string(begin) + " and " + std::to_string(end) +
                   " on an axis of size " + std::to_string(size)};
}

// All axes; those that the input `axes` does not name have no padding.  Source: pad.S6.
Result<std::vector<AxisPad>> AxisPads(const Call& call, Mode mode) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const Dims pads, Int64sAt(call, 1));
  std::vector<std::size_t> axes;
  if (call.Input(3) != nullptr) {
    QTX_ASSIGN_OR_RETURN(axes, AxesAt(call, 3, from.size()));
  } else {
    for (std::size_t i = 0; i < from.size(); ++i) axes.push_back(i);
  }
  if (pads.size() != 2 * axes.size()) {
    return Error{ErrorCode::kInvalid, InputName(call, 1),
                 "found " + std::to_string(pads.size()) + " values, expected " +
                     std::to_string(2 * axes.size())};
  }
  std::vector<AxisPad> placed;
  for (const std::int64_t size : from) placed.push_back({size, 0, 0, 0, size, size});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto pad = Place(from[axes[i]], pads[i], pads[axes.size() + i], mode);
    if (!pad.has_value()) {
      return At(InputName(call, 1), At("axis " + std::to_string(axes[i]), pad.error()));
    }
    placed[axes[i]] = *pad;
  }
  return placed;
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

Result<void> CheckValue(const Call& call) {
  const format::Tensor* value = call.Input(2);
  if (value == nullptr || format::ElementCount(*value) == 1) return {};
  return Error{ErrorCode::kInvalid, InputName(call, 2), "expected one element"};
}

// Source: pad.S1 to pad.S6.
Result<format::Tensor> Pad(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Mode mode, ModeOf(call.node));
  QTX_RETURN_IF_ERROR(CheckValue(call));
  QTX_ASSIGN_OR_RETURN(const std::vector<AxisPad> axes, AxisPads(call, mode));
  Dims dims;
  for (const AxisPad& axis : axes) dims.push_back(axis.padded);
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], dims));
  if (Product(dims, 0, dims.size()) == 0) return mover.Take();  // of which an axis may be long
  const std::vector<std::int64_t> all = Sources(axes, mode);
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
  if (!elements.empty()) QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0], elements, sources));
  auto filled = mover.Fill(call.Input(2), padding);
  if (!filled.has_value()) return At(InputName(call, 2), std::move(filled).error());
  return mover.Take();
}

constexpr AttributeRule kPadAttributes[] = {{"mode", AttributeType::kString}};

}  // namespace

const Operator kPad = {.op_type = "Pad",
                       .min_inputs = 2,
                       .max_inputs = 4,
                       .attributes = kPadAttributes,
                       .check = CheckMode,
                       .run = Pad};

}  // namespace qtx::reference::ops
