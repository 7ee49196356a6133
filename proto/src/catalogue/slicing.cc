// Operators that cut tensors along their axes: Split and Slice.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>
#include <numeric>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using SlicedShapes = std::vector<std::optional<Dims>>;

// Split -------------------------------------------------------------------------------------------

constexpr std::int64_t kSplitNumOutputsSince = 18;

std::int64_t SplitParts(const Application& a) {
  return static_cast<std::int64_t>(a.outputs.size());
}

// The size of the axis that is split; kUnknownSize where it is not known.
std::int64_t SplitAxisSize(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  return data == nullptr ? kUnknownSize : (*data)[AxisOf(a.Int("axis"), data->size())];
}

// split.C5.
Result<void> SplitForm(const Application& a) {
  const bool counted = a.Find("num_outputs") != nullptr;
  if (counted && a.Input(1).given) {
    return Refuse("attribute 'num_outputs'", "found input split too, expected one of the two");
  }
  if (counted || a.Input(1).given || a.opset < kSplitNumOutputsSince) return {};
  return Refuse("attribute 'num_outputs'", "is required without input split");
}

// split.C3.
Result<void> SplitSizes(const Application& a) {
  QTX_RETURN_IF_ERROR(IsList(1, {ElementType::kInt64})(a));
  const ListArgument split = ListOf(a, 1);
  if (Differ(split.length, SplitParts(a))) {
    return Refuse(split.place, "found " + std::to_string(split.length) + " sizes, expected " +
                                   std::to_string(SplitParts(a)) + ", one for each output");
  }
  if (!split.values) return {};
  const auto negative = std::ranges::find_if_not(*split.values, Known);
  if (negative != split.values->end()) {
    return Refuse(split.place, "found " + std::to_string(*negative) + ", expected at least 0");
  }
  const std::int64_t size = SplitAxisSize(a);
  const std::int64_t sum =
      std::accumulate(split.values->begin(), split.values->end(), std::int64_t{0}, SumOf);
  if (!Known(size) || sum == size) return {};  // a sum that overflows is no size, either
  return Refuse(split.place, "found sizes " + ToString(*split.values) + ", expected a sum of " +
                                 std::to_string(size) + ", the size of the axis");
}

// split.C4: `parts` before the last of ceil(size / parts) elements leave it 0 or more.
Result<void> SplitCount(const Application& a) {
  const std::int64_t parts = SplitParts(a);
  if (a.Find("num_outputs") == nullptr) return {};
  if (a.Int("num_outputs") != parts) {
    return BadAttribute("num_outputs", std::to_string(a.Int("num_outputs")),
                        std::to_string(parts) + ", the number of outputs");
  }
  const std::int64_t size = SplitAxisSize(a);
  if (!Known(size) || size % parts == 0 || size / parts + size % parts >= parts - 1) return {};
  return BadAttribute("num_outputs",
                      std::to_string(parts) + " for an axis of size " + std::to_string(size),
                      "parts of which all but the last one have equal sizes");
}

// split.C6.
Result<void> SplitDivides(const Application& a) {
  const std::int64_t size = SplitAxisSize(a);
  if (a.opset >= kSplitNumOutputsSince || a.Input(1).given || !Known(size)) return {};
  if (size % SplitParts(a) == 0) return {};
  return BadInput(a, 0, "an axis of size " + std::to_string(size),
                  "a multiple of " + std::to_string(SplitParts(a)) + ", the number of outputs");
}

// The size of part `i`. split.S2, split.S3.
std::int64_t SplitPart(const Application& a, const ListArgument& split, std::size_t i) {
  if (split.values) return (*split.values)[i];
  const std::int64_t size = SplitAxisSize(a);
  const std::int64_t parts = SplitParts(a);
  if (parts == 1) return size;
  if (!Known(size) || split.given) return kUnknownSize;
  const std::int64_t rest = size % parts;
  if (rest == 0) return size / parts;
  const bool last = i + 1 == a.outputs.size();
  return last ? size / parts + rest - (parts - 1) : size / parts + 1;
}

Result<SlicedShapes> SplitShape(const Application& a) {
  SlicedShapes shapes(a.outputs.size());
  const Dims* data = DimsOf(a.Input(0));
  if (data == nullptr) return shapes;
  const ListArgument split = ListOf(a, 1);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    shapes[i] = *data;
    (*shapes[i])[AxisOf(a.Int("axis"), data->size())] = SplitPart(a, split, i);
  }
  return shapes;
}

// Slice -------------------------------------------------------------------------------------------

constexpr std::size_t kSliceStarts = 1, kSliceEnds = 2, kSliceAxes = 3, kSliceSteps = 4;

// The number of axes that are sliced; kUnknownSize where it is not known.
std::int64_t SliceCount(const Application& a) {
  std::int64_t count = kUnknownSize;
  for (std::size_t i = kSliceStarts; i <= kSliceSteps; ++i) {
    count = EitherOf(count, LengthOf(a.Input(i)));
  }
  return count;
}

// slice.C2.
Result<void> SliceLists(const Application& a) {
  const std::int64_t count = SliceCount(a);
  for (std::size_t i = kSliceStarts; i <= kSliceSteps; ++i) {
    QTX_RETURN_IF_ERROR(IsList(i, {ElementType::kInt64, ElementType::kInt32})(a));
    const std::int64_t length = LengthOf(a.Input(i));
    if (!Differ(length, count)) continue;
    return BadInput(a, i, std::to_string(length) + " values",
                    std::to_string(count) + ", as the lists before");
  }
  return {};
}

// slice.C3.
Result<void> SliceNamesAxes(const Application& a) {
  ListArgument axes = ListOf(a, a.Input(kSliceAxes).given ? kSliceAxes : kSliceStarts);
  if (!a.Input(kSliceAxes).given) axes.values.reset();  // those of starts are no axes
  axes.length = SliceCount(a);
  return CheckAxes(axes, RankOf(a.Input(0)));
}

// slice.C4.
Result<void> SliceSteps(const Application& a) {
  const auto steps = IntegersOf(a.Input(kSliceSteps));
  if (!steps || std::ranges::find(*steps, 0) == steps->end()) return {};
  return BadInput(a, kSliceSteps, "a step of 0", "another");
}

struct SliceRange {
  std::int64_t start, end, step;
};

// slice.S2, slice.S3. Of a size that is not known, only a slice of all is.
std::int64_t SliceSize(std::int64_t size, SliceRange range) {
  auto [start, end, step] = range;
  if (!Known(size)) {
    const bool whole = (step == 1 && start == 0 && end == INT64_MAX) ||
                       (step == -1 && start == -1 && end == INT64_MIN);
    return whole ? size : kUnknownSize;
  }
  if (size == 0) return 0;
  if (start < 0) start += size;
  if (end < 0) end += size;
  step = std::clamp(step, -size, size);
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, size);
    end = std::clamp<std::int64_t>(end, 0, size);
    return end <= start ? 0 : 1 + (end - start - 1) / step;
  }
  start = std::clamp<std::int64_t>(start, 0, size - 1);
  end = std::clamp<std::int64_t>(end, -1, size - 1);
  return end >= start ? 0 : 1 + (start - end - 1) / -step;
}

// The axes that are sliced, in their order; nullopt where they are not known.
std::optional<std::vector<std::int64_t>> SlicedAxes(const Application& a) {
  if (a.Input(kSliceAxes).given) return ListOf(a, kSliceAxes).values;
  const std::int64_t count = SliceCount(a);
  if (!Known(count)) return std::nullopt;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(count));  // at most the rank
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// slice.S1.
Result<SlicedShapes> SliceShape(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  if (data == nullptr) return SlicedShapes{std::nullopt};
  Dims y = *data;
  const auto axes = SlicedAxes(a);
  if (!axes) {
    std::ranges::replace_if(
        y, [](std::int64_t size) { return size != 0; }, kUnknownSize);
    return SlicedShapes{std::move(y)};
  }
  const auto starts = IntegersOf(a.Input(kSliceStarts));
  const auto ends = IntegersOf(a.Input(kSliceEnds));
  const auto steps = a.Input(kSliceSteps).given ? IntegersOf(a.Input(kSliceSteps))
                                                : std::vector<std::int64_t>(axes->size(), 1);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    std::int64_t& size = y[AxisOf((*axes)[i], y.size())];
    if (size == 0) continue;
    size = starts && ends && steps ? SliceSize(size, {(*starts)[i], (*ends)[i], (*steps)[i]})
                                   : kUnknownSize;
  }
  return SlicedShapes{std::move(y)};
}

// Rows --------------------------------------------------------------------------------------------

OpSchema SplitRow() {
  return {.op_type = "Split",
          .inputs = {{"data"}, {"split", true}},
          .outputs = {{"parts", false, true}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{0}},
                         {.name = "num_outputs",
                          .type = AttributeType::kInt,
                          .since = kSplitNumOutputsSince}},
          .checks = {{"split.C1", OutputsFollowInput()},
                     {"split.C2", AxisInRange("axis", 0)},
                     {"split.C5", SplitForm},
                     {"split.C3", SplitSizes},
                     {"split.C4", SplitCount},
                     {"split.C6", SplitDivides}},
          .shape = SplitShape,
          .shape_clause = "split.C7",
          .copies_elements = true};
}

OpSchema SliceRow() {
  return {.op_type = "Slice",
          .inputs = {{"data"}, {"starts"}, {"ends"}, {"axes", true}, {"steps", true}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {{"slice.C1", OutputsFollowInput()},
                     {"slice.C2", SliceLists},
                     {"slice.C3", SliceNamesAxes},
                     {"slice.C4", SliceSteps}},
          .shape = SliceShape,
          .shape_clause = "slice.C5",
          .copies_elements = true};
}

}  // namespace

void AddSlicing(std::vector<OpSchema>& rows) {
  rows.push_back(SplitRow());
  rows.push_back(SliceRow());
}

}  // namespace qtx::format::catalogue
