#include <cstdlib>
#include <numeric>

#include "ops/common.h"
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

Error BadPad(std::int64_t pad, std::size_t axis, std::int64_t size) {
  return Error{ErrorCode::kInvalid, "",
               "found a pad of " + std::to_string(pad) + " on axis " + std::to_string(axis) +
                   " of size " + std::to_string(size)};
}

// The axes that pads speaks of, in its order.  Source: pad.S6, pad.C7.
Result<Dims> PaddedAxes(const Call& call) {
  const std::size_t rank = call.inputs[0]->dims.size();
  Dims axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  const format::Tensor* named = call.Input(3);
  if (named == nullptr) return axes;
  const bool integers = named->elem_type == format::ElementType::kInt32 ||
                        named->elem_type == format::ElementType::kInt64;
  if (!integers || named->dims.size() > 1) {
    return Error{ErrorCode::kInvalid, InputName(call, 3),
                 "found " + std::string(format::Name(named->elem_type)) +
                     format::ToString(named->dims) + ", expected INT64 or INT32 of rank 1"};
  }
  axes = format::UnpackIntegers(*named);
  std::vector<bool> seen(rank, false);
  for (std::int64_t& axis : axes) {
    const auto normal = format::NormalizeAxis(axis, static_cast<std::int64_t>(rank));
    if (!normal.has_value()) return At(InputName(call, 3), normal.error());
    if (seen[static_cast<std::size_t>(*normal)]) {
      return Error{ErrorCode::kInvalid, InputName(call, 3),
                   "axis " + std::to_string(axis) + " twice"};
    }
    seen[static_cast<std::size_t>(*normal)] = true;
    axis = *normal;
  }
  return axes;
}

// Begins, then ends, of every axis.  Source: pad.S4, pad.S6, pad.C2.
Result<Dims> AllPads(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Dims axes, PaddedAxes(call));
  QTX_ASSIGN_OR_RETURN(const Dims given, Int64sAt(call, 1));
  if (given.size() != 2 * axes.size()) {
    return Error{ErrorCode::kInvalid, InputName(call, 1),
                 "found " + std::to_string(given.size()) + " values, expected " +
                     std::to_string(2 * axes.size())};
  }
  const std::size_t rank = call.inputs[0]->dims.size();
  Dims pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    pads[axis] = given[i];
    pads[rank + axis] = given[axes.size() + i];
  }
  return pads;
}

// Sizes of the result.  Source: pad.S3, pad.S4, pad.C5.
Result<Dims> PaddedDims(const Dims& from, const Dims& pads, Mode mode) {
  constexpr std::int64_t kFarthest = std::int64_t{1}
                                     << 40;  // keeps the sums below from overflowing
  Dims dims = from;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const std::size_t axis = i % from.size();
    const std::int64_t size = from[axis];
    const bool beyond_mirror = mode == Mode::kReflect && pads[i] >= size && pads[i] > 0;
    const bool nothing_to_repeat = mode != Mode::kConstant && size == 0 && pads[i] > 0;
    if (pads[i] < -kFarthest || pads[i] > kFarthest || beyond_mirror || nothing_to_repeat) {
      return BadPad(pads[i], axis, size);
    }
    dims[axis] += pads[i];
  }
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 0) return BadPad(pads[axis], axis, from[axis]);
  }
  return dims;
}

// Coordinate in an axis of `size` from which output coordinate `at + begin` takes its value; -1:
// none.
std::int64_t SourceCoordinate(std::int64_t at, std::int64_t size, Mode mode) {
  if (at >= 0 && at < size) return at;
  if (mode == Mode::kConstant) return -1;
  if (mode == Mode::kEdge) return at < 0 ? 0 : size - 1;
  if (mode == Mode::kWrap) return (at % size + size) % size;
  return at < 0 ? -at : 2 * (size - 1) - at;
}

// For each output element its source, or -1 for padding.
std::vector<std::int64_t> Sources(const Dims& from, const Dims& dims, const Dims& pads, Mode mode) {
  std::vector<std::int64_t> sources = {0};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    std::vector<std::int64_t> next;
    next.reserve(sources.size() * static_cast<std::size_t>(dims[axis]));
    for (const std::int64_t outer : sources) {
      for (std::int64_t i = 0; i < dims[axis]; ++i) {
        const std::int64_t at = SourceCoordinate(i - pads[axis], from[axis], mode);
        next.push_back(outer < 0 || at < 0 ? -1 : outer * from[axis] + at);
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
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const Mode mode, ModeOf(call.node));
  QTX_ASSIGN_OR_RETURN(const Dims pads, AllPads(call));
  QTX_RETURN_IF_ERROR(CheckValue(call));
  const auto dims = PaddedDims(from, pads, mode);
  if (!dims.has_value()) return At(InputName(call, 1), dims.error());
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], *dims));
  const std::vector<std::int64_t> all = Sources(from, *dims, pads, mode);
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
  QTX_RETURN_IF_ERROR(mover.Fill(call.Input(2), padding));
  return mover.Take();
}

constexpr AttributeRule kAttributes[] = {{"mode", AttributeType::kString}};

}  // namespace

const Operator kPad = {.op_type = "Pad",
                       .min_inputs = 2,
                       .max_inputs = 4,
                       .attributes = kAttributes,
                       .check = CheckMode,
                       .run = Pad};

}  // namespace qtx::reference::ops
