// Operators that join, pad, repeat or permute tensors along their axes.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>
#include <numeric>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using MovedShapes = std::vector<std::optional<Dims>>;

constexpr TypeSet kMovedInt64 = {ElementType::kInt64};
constexpr TypeSet kMovedIndex = {ElementType::kInt64, ElementType::kInt32};

// Concat ------------------------------------------------------------------------------------------

// The first input of known rank; nullptr where there is none.
const Dims* ConcatFirst(const Application& a) {
  for (const ValueFacts& input : a.inputs) {
    if (const Dims* dims = DimsOf(input)) return dims;
  }
  return nullptr;
}

// concat.C2.
Result<void> ConcatAxis(const Application& a) {
  if (a.Find("axis") == nullptr) return Refuse("attribute 'axis'", "is required");
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (DimsOf(a.Input(i)) != nullptr) return AxisInRange("axis", i)(a);
  }
  return {};
}

// concat.C3. Other dimensions than the axis: each has met those of all inputs before.
Result<void> ConcatDimensions(const Application& a) {
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (!a.Input(i).given) return Refuse(InputPlace(a, i), "is required");
  }
  const Dims* first = ConcatFirst(a);
  if (first == nullptr) return {};
  const std::size_t axis = AxisOf(a.Int("axis"), first->size());
  Dims common = *first;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr) continue;
    common[axis] = kUnknownSize;
    if (Differ(*dims, common)) {
      return BadInput(a, i, "shape " + ShapeText(*dims),
                      ShapeText(common) + ", with any size along axis " + std::to_string(axis));
    }
    for (std::size_t k = 0; k < common.size(); ++k) common[k] = EitherOf(common[k], (*dims)[k]);
  }
  return {};
}

// concat.S1.
Result<MovedShapes> ConcatShape(const Application& a) {
  const Dims* first = ConcatFirst(a);
  if (first == nullptr) return MovedShapes{std::nullopt};
  const std::size_t axis = AxisOf(a.Int("axis"), first->size());
  Dims y = *first;
  std::int64_t sum = 0;
  for (const ValueFacts& input : a.inputs) {
    const Dims* dims = DimsOf(input);
    sum = SumOf(sum, dims != nullptr ? (*dims)[axis] : kUnknownSize);
    for (std::size_t k = 0; dims != nullptr && k < y.size(); ++k) y[k] = EitherOf(y[k], (*dims)[k]);
  }
  y[axis] = sum;
  return MovedShapes{std::move(y)};
}

// Pad ---------------------------------------------------------------------------------------------

constexpr std::size_t kPadPads = 1, kPadValue = 2, kPadAxes = 3;

// pad.C1, and the type of constant_value.
Result<void> PadTypes(const Application& a) {
  QTX_RETURN_IF_ERROR(OutputsFollowInput()(a));
  return RealOrOne({0, kPadValue}, {}, kAnyType)(a);
}

// pad.C3.
Result<void> PadMode(const Application& a) {
  QTX_RETURN_IF_ERROR(StringOneOf("mode", {"constant", "edge", "reflect", "wrap"})(a));
  if (a.String("mode") != "wrap" || a.opset >= 19) return {};
  return BadAttribute("mode", "'wrap' in opset " + std::to_string(a.opset),
                      "one of constant, edge, reflect; it is of 19 and later");
}

// pad.C4.
Result<void> PadValue(const Application& a) {
  const Dims* dims = DimsOf(a.Input(kPadValue));
  if (dims == nullptr || !Differ(CountOf(*dims), 1)) return {};
  return BadInput(a, kPadValue, "shape " + ShapeText(*dims), "one element");
}

// pad.C7.
Result<void> PadNamesAxes(const Application& a) {
  QTX_RETURN_IF_ERROR(InputSince(kPadAxes, 18)(a));
  QTX_RETURN_IF_ERROR(IsList(kPadAxes, kMovedIndex)(a));
  return CheckAxes(ListOf(a, kPadAxes), RankOf(a.Input(0)));
}

// pad.C2.
Result<void> PadCount(const Application& a) {
  QTX_RETURN_IF_ERROR(IsList(kPadPads, kMovedInt64)(a));
  const std::int64_t length = LengthOf(a.Input(kPadPads));
  const std::int64_t axes =
      a.Input(kPadAxes).given ? ListOf(a, kPadAxes).length : RankOf(a.Input(0));
  if (!Known(length) || (length % 2 == 0 && !Differ(length / 2, axes))) return {};
  return BadInput(a, kPadPads, std::to_string(length) + " values",
                  "two for each of " + (Known(axes) ? std::to_string(axes) + " " : "") + "axes");
}

// The axes that are padded, in their order; nullopt where they are not known.
std::optional<std::vector<std::int64_t>> PaddedAxes(const Application& a, std::size_t rank) {
  if (a.Input(kPadAxes).given) return ListOf(a, kPadAxes).values;
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// What negative pads leave of an axis of known size; negative where they remove more than it has.
std::int64_t PadKept(std::int64_t size, std::int64_t begin, std::int64_t end) {
  if (begin < -size) return -1;
  const std::int64_t kept = size + std::min<std::int64_t>(begin, 0);
  return end < -kept ? -1 : kept + std::min<std::int64_t>(end, 0);
}

// pad.C5, of constants.
Result<void> PadFits(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const auto pads = IntegersOf(a.Input(kPadPads));
  const auto axes = data == nullptr ? std::nullopt : PaddedAxes(a, data->size());
  if (!pads || !axes) return {};
  const std::string mode = a.String("mode");
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::size_t axis = AxisOf((*axes)[i], data->size());
    const std::int64_t size = (*data)[axis];
    const std::int64_t begin = (*pads)[i];
    const std::int64_t end = (*pads)[axes->size() + i];
    if (!Known(size)) continue;
    const std::int64_t kept = PadKept(size, begin, end);
    const std::int64_t farther = std::max(begin, end);
    const bool has_source =
        mode == "constant" || farther <= 0 || (mode == "reflect" ? farther < kept : kept > 0);
    if (kept >= 0 && has_source) continue;
    return BadInput(a, kPadPads,
                    std::to_string(begin) + " and " + std::to_string(end) + " for axis " +
                        std::to_string(axis) + " of size " + std::to_string(size),
                    kept < 0 ? "no more to be removed than there is"
                             : "an element for each that mode " + mode + " adds");
  }
  return {};
}

// pad.S4, pad.S6.
Result<MovedShapes> PadShape(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const auto pads = IntegersOf(a.Input(kPadPads));
  if (data == nullptr) {
    const std::int64_t length = LengthOf(a.Input(kPadPads));
    return MovedShapes{a.Input(kPadAxes).given || !Known(length) ? std::nullopt
                                                                 : DimsOfRank(length / 2)};
  }
  const auto axes = PaddedAxes(a, data->size());
  if (!axes) return MovedShapes{Dims(data->size(), kUnknownSize)};
  Dims y = *data;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    std::int64_t& size = y[AxisOf((*axes)[i], y.size())];
    const std::int64_t begin = pads ? (*pads)[i] : kUnknownSize;
    const std::int64_t end = pads ? (*pads)[axes->size() + i] : kUnknownSize;
    if (pads && end != INT64_MIN && begin == -end) continue;  // as many removed as added
    const std::int64_t kept = pads && Known(size) ? PadKept(size, begin, end) : kUnknownSize;
    const std::int64_t grown = SumOf(kept, std::max<std::int64_t>(begin, 0));
    size = SumOf(grown, std::max<std::int64_t>(end, 0));
  }
  return MovedShapes{std::move(y)};
}

// Expand and Tile ---------------------------------------------------------------------------------

// expand.C2.
Result<void> ExpandValues(const Application& a) {
  QTX_RETURN_IF_ERROR(IsList(1, kMovedInt64)(a));
  for (const std::int64_t value : IntegersOf(a.Input(1)).value_or(Dims())) {
    if (value < 0) return BadInput(a, 1, std::to_string(value), "at least 0");
  }
  return {};
}

// The values of shape, which may be negative for sizes that are not known.
std::optional<Dims> ExpandSizes(const Application& a) {
  const ListArgument shape = ListOf(a, 1);
  return shape.values ? shape.values : DimsOfRank(shape.length);
}

// expand.C3.
Result<void> ExpandBroadcasts(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const auto shape = ExpandSizes(a);
  if (data == nullptr || !shape) return {};
  auto both = BroadcastOf(*data, *shape);
  if (!both.has_value()) return At(InputPlace(a, 1), std::move(both).error());
  return {};
}

// expand.S1.
Result<MovedShapes> ExpandShape(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const auto shape = ExpandSizes(a);
  if (data == nullptr || !shape) return MovedShapes{std::nullopt};
  QTX_ASSIGN_OR_RETURN(Dims y, BroadcastOf(*data, *shape));
  return MovedShapes{std::move(y)};
}

// tile.C2.
Result<void> TileRepeats(const Application& a) {
  QTX_RETURN_IF_ERROR(ExpandValues(a));
  const std::int64_t length = LengthOf(a.Input(1));
  const std::int64_t rank = RankOf(a.Input(0));
  if (!Differ(length, rank)) return {};
  return BadInput(a, 1, std::to_string(length) + " values",
                  std::to_string(rank) + ", one for each axis of data");
}

// tile.S1.
Result<MovedShapes> TileShape(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const auto repeats = ExpandSizes(a);
  if (data == nullptr && !repeats) return MovedShapes{std::nullopt};
  const std::size_t rank = data != nullptr ? data->size() : repeats->size();
  Dims y(rank, kUnknownSize);
  for (std::size_t i = 0; i < rank; ++i) {
    y[i] = ProductOf(data != nullptr ? (*data)[i] : kUnknownSize,
                     repeats ? (*repeats)[i] : kUnknownSize);
  }
  return MovedShapes{std::move(y)};
}

// Transpose ---------------------------------------------------------------------------------------

// perm, or the axes in reverse; nullopt where that is not known.
std::optional<std::vector<std::int64_t>> TransposePerm(const Application& a) {
  if (const Attribute* perm = a.Find("perm")) return perm->ints;
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return std::nullopt;
  std::vector<std::int64_t> reversed(x->size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return reversed;
}

// transpose.C2.
Result<void> TransposePermutes(const Application& a) {
  const auto perm = TransposePerm(a);
  if (!perm) return {};
  const Dims* x = DimsOf(a.Input(0));
  std::vector<std::int64_t> sorted = *perm;
  std::ranges::sort(sorted);
  std::vector<std::int64_t> all(x != nullptr ? x->size() : sorted.size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted == all) return {};
  return BadAttribute("perm", ToString(*perm),
                      "a permutation of the " + std::to_string(all.size()) + " axes");
}

// transpose.S1.
Result<MovedShapes> TransposeShape(const Application& a) {
  const auto perm = TransposePerm(a);
  const Dims* x = DimsOf(a.Input(0));
  if (!perm) return MovedShapes{std::nullopt};
  Dims y(perm->size(), kUnknownSize);
  for (std::size_t i = 0; x != nullptr && i < y.size(); ++i) {
    y[i] = (*x)[static_cast<std::size_t>((*perm)[i])];
  }
  return MovedShapes{std::move(y)};
}

// Rows --------------------------------------------------------------------------------------------

OpSchema PadRow() {
  return {.op_type = "Pad",
          .inputs = {{"data"}, {"pads"}, {"constant_value", true}, {"axes", true}},
          .outputs = {{"y"}},
          .attributes = {{"mode", AttributeType::kString, "constant"}},
          .checks = {{"pad.C1", PadTypes},
                     {"pad.C3", PadMode},
                     {"pad.C4", PadValue},
                     {"pad.C7", PadNamesAxes},
                     {"pad.C2", PadCount},
                     {"pad.C5", PadFits}},
          .shape = PadShape,
          .shape_clause = "pad.C6"};
}

}  // namespace

void AddMovement(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "Concat",
                  .inputs = {{"inputs", false, true}},
                  .outputs = {{"y"}},
                  .attributes = {{"axis", AttributeType::kInt}},
                  .checks = {{"concat.C1", AllRealOrOne(kAnyType)},
                             {"concat.C2", ConcatAxis},
                             {"concat.C3", ConcatDimensions}},
                  .shape = ConcatShape,
                  .shape_clause = "concat.C4"});
  rows.push_back({.op_type = "Expand",
                  .inputs = {{"data"}, {"shape"}},
                  .outputs = {{"y"}},
                  .attributes = {},
                  .checks = {{"expand.C1", OutputsFollowInput()},
                             {"expand.C2", ExpandValues},
                             {"expand.C3", ExpandBroadcasts}},
                  .shape = ExpandShape,
                  .shape_clause = "expand.C4",
                  .copies_elements = true});
  rows.push_back(PadRow());
  rows.push_back({.op_type = "Tile",
                  .inputs = {{"data"}, {"repeats"}},
                  .outputs = {{"y"}},
                  .attributes = {},
                  .checks = {{"tile.C1", OutputsFollowInput()}, {"tile.C2", TileRepeats}},
                  .shape = TileShape,
                  .shape_clause = "tile.C3",
                  .copies_elements = true});
  rows.push_back(
      {.op_type = "Transpose",
       .inputs = {{"x"}},
       .outputs = {{"y"}},
       .attributes = {{"perm", AttributeType::kInts}},
       .checks = {{"transpose.C1", OutputsFollowInput()}, {"transpose.C2", TransposePermutes}},
       .shape = TransposeShape,
       .shape_clause = "transpose.C3",
       .copies_elements = true});
}

}  // namespace qtx::format::catalogue
