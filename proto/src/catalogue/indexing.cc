// Operators that take or replace the elements of a tensor that indices name.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>
#include <cmath>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using IndexedShapes = std::vector<std::optional<Dims>>;

constexpr TypeSet kIndexInt64 = {ElementType::kInt64};

// `index` lies in [-size, size) of `axis`, as far as that is known.
Result<void> IndexInRange(const Application& a, std::int64_t index, const Dims& data,
                          std::size_t axis) {
  const std::int64_t size = data[axis];
  if (!Known(size) || (index >= -size && index < size)) return {};
  return BadInput(a, 1, "index " + std::to_string(index),
                  "a value in [-" + std::to_string(size) + ", " + std::to_string(size) +
                      ") of axis " + std::to_string(axis));
}

// Gather ------------------------------------------------------------------------------------------

// gather.C4, gather_elements.C4, scatter_elements.C5, of a constant.
Result<void> GatherIndices(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  if (data == nullptr) return {};
  const std::size_t axis = AxisOf(a.Int("axis"), data->size());
  const std::int64_t size = (*data)[axis];
  if (!Known(size)) return {};
  const auto index = FindInteger(
      a.Input(1), [size](std::int64_t value) { return value < -size || value >= size; });
  return index ? IndexInRange(a, *index, *data, axis) : Result<void>();
}

// gather.S1.
Result<IndexedShapes> GatherShape(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const Dims* indices = DimsOf(a.Input(1));
  if (data == nullptr || indices == nullptr) return IndexedShapes{std::nullopt};
  const auto axis = static_cast<std::ptrdiff_t>(AxisOf(a.Int("axis"), data->size()));
  Dims y(data->begin(), data->begin() + axis);
  y.insert(y.end(), indices->begin(), indices->end());
  y.insert(y.end(), data->begin() + axis + 1, data->end());
  return IndexedShapes{std::move(y)};
}

// GatherElements and ScatterElements: indices along an axis ---------------------------------------

// gather_elements.C3: an index for each element of a part of data.
Result<void> IndicesFitAlongAxis(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(1, {ElementType::kInt64, ElementType::kInt32})(a));
  const Dims* data = DimsOf(a.Input(0));
  const Dims* indices = DimsOf(a.Input(1));
  if (data == nullptr || indices == nullptr) return {};
  QTX_RETURN_IF_ERROR(RankIs(1, data->size())(a));
  const std::size_t axis = AxisOf(a.Int("axis"), data->size());
  for (std::size_t i = 0; i < data->size(); ++i) {
    const bool known = Known((*data)[i]) && Known((*indices)[i]);
    if (i == axis || !known || (*indices)[i] <= (*data)[i]) continue;
    return BadInput(
        a, 1, "shape " + ShapeText(*indices),
        "at most that of data, " + ShapeText(*data) + ", but for axis " + std::to_string(axis));
  }
  return {};
}

// gather_elements.S1.
Result<IndexedShapes> ShapeOfIndices(const Application& a) {
  return IndexedShapes{a.Input(1).dims};
}

// scatter_elements.C4.
Result<void> UpdatesLikeIndices(const Application& a) {
  const Dims* indices = DimsOf(a.Input(1));
  const Dims* updates = DimsOf(a.Input(2));
  if (indices == nullptr || updates == nullptr || !Differ(*indices, *updates)) return {};
  return BadInput(a, 2, "shape " + ShapeText(*updates), ShapeText(*indices));
}

// GatherND and ScatterND: tuples in the last axis of input 1 --------------------------------------

// ScatterND has no batch.
std::int64_t TupleBatch(const Application& a) { return a.Int("batch_dims"); }

// gather_nd.C4: the values of a tuple name axes of data after the batch.
Result<void> TupleSizeFits(const Application& a) {
  const Dims* indices = DimsOf(a.Input(1));
  const std::int64_t rank = RankOf(a.Input(0));
  const std::int64_t size = indices != nullptr ? indices->back() : kUnknownSize;
  const std::int64_t most = Known(rank) ? rank - TupleBatch(a) : kUnknownSize;
  if (size != 0 && most != 0 && (!Known(size) || !Known(most) || size <= most)) return {};
  return BadInput(a, 1, "tuples of " + (Known(size) ? std::to_string(size) : "?") + " values",
                  Known(most) ? "1 to " + std::to_string(most) : "1 or more");
}

// How many axes of data a tuple names; kUnknownSize where that is not known.
std::int64_t TupleSize(const Application& a) {
  const Dims* indices = DimsOf(a.Input(1));
  const bool is_known = indices != nullptr && Known(indices->back());
  const bool is_one = RankOf(a.Input(0)) - TupleBatch(a) == 1;
  return is_known ? indices->back() : is_one ? 1 : kUnknownSize;
}

// gather_nd.C3.
Result<void> TupleBatchFits(const Application& a) {
  const std::int64_t batch = TupleBatch(a);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const std::int64_t rank = RankOf(a.Input(i));
    if (batch >= 0 && (!Known(rank) || batch < rank)) continue;
    return BadAttribute("batch_dims", std::to_string(batch),
                        Known(rank) ? "0 to " + std::to_string(rank - 1) : "at least 0");
  }
  const Dims* data = DimsOf(a.Input(0));
  const Dims* indices = DimsOf(a.Input(1));
  if (data == nullptr || indices == nullptr) return {};
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i) {
    if (!Differ((*data)[i], (*indices)[i])) continue;
    return BadInput(a, 1, "shape " + ShapeText(*indices),
                    "the batch of data of shape " + ShapeText(*data));
  }
  return {};
}

// gather_nd.C5, of a constant.
Result<void> TuplesInRange(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const auto indices = IntegersOf(a.Input(1));
  const std::int64_t size = TupleSize(a);
  if (data == nullptr || !indices || !Known(size)) return {};
  const auto batch = static_cast<std::size_t>(TupleBatch(a));
  for (std::size_t i = 0; i < indices->size(); ++i) {
    const std::size_t axis = batch + i % static_cast<std::size_t>(size);
    QTX_RETURN_IF_ERROR(IndexInRange(a, (*indices)[i], *data, axis));
  }
  return {};
}

// A slice of data for each tuple: y of gather_nd.S1 and gather_nd.S3, updates of scatter_nd.C3.
std::optional<Dims> TupleSlices(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const Dims* indices = DimsOf(a.Input(1));
  const std::int64_t size = TupleSize(a);
  if (data == nullptr || indices == nullptr || !Known(size)) return std::nullopt;
  const auto batch = static_cast<std::size_t>(TupleBatch(a));
  Dims slices(indices->begin(), indices->end() - 1);
  for (std::size_t i = 0; i < batch; ++i) slices[i] = EitherOf(slices[i], (*data)[i]);
  slices.insert(slices.end(), data->begin() + static_cast<std::ptrdiff_t>(batch) + size,
                data->end());
  return slices;
}

Result<IndexedShapes> GatherNdShape(const Application& a) { return IndexedShapes{TupleSlices(a)}; }

// scatter_nd.C3.
Result<void> ScatterUpdates(const Application& a) {
  const Dims* updates = DimsOf(a.Input(2));
  const std::optional<Dims> expected = TupleSlices(a);
  if (updates == nullptr || !expected || !Differ(*updates, *expected)) return {};
  return BadInput(a, 2, "shape " + ShapeText(*updates), ShapeText(*expected));
}

// scatter_nd.C6, scatter_elements.C7.
Result<void> ScatterNumbers(const Application& a) {
  if (a.String("reduction") == "none") return {};
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    if (a.Input(i).type != ElementType::kBool) continue;
    return BadInput(a, i, "type BOOL", "numbers, for reduction is " + a.String("reduction"));
  }
  return {};
}

// ReverseSequence ---------------------------------------------------------------------------------

// reverse_sequence.C2.
Result<void> ReverseAxes(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 2)(a));
  QTX_RETURN_IF_ERROR(IntWithin("batch_axis", 0, 1)(a));
  const std::int64_t time = 1 - a.Int("batch_axis");
  return IntWithin("time_axis", time, time)(a);
}

// reverse_sequence.C3.
Result<void> ReverseLengths(const Application& a) {
  QTX_RETURN_IF_ERROR(IsList(1, kIndexInt64)(a));
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return {};
  const std::int64_t batch = (*x)[static_cast<std::size_t>(a.Int("batch_axis"))];
  if (!Differ(LengthOf(a.Input(1)), batch)) return {};
  return BadInput(a, 1, std::to_string(LengthOf(a.Input(1))) + " values", std::to_string(batch));
}

// reverse_sequence.C4, of a constant.
Result<void> ReverseLengthsFit(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return {};
  const std::int64_t size = (*x)[static_cast<std::size_t>(a.Int("time_axis"))];
  const auto length = FindInteger(a.Input(1), [size](std::int64_t value) {
    return value < 0 || (Known(size) && value > size);
  });
  if (!length) return {};
  return BadInput(a, 1, "length " + std::to_string(*length),
                  "0 to " + (Known(size) ? std::to_string(size) : "the size of the axis"));
}

// Rows --------------------------------------------------------------------------------------------

OpSchema GatherNdRow() {
  return {.op_type = "GatherND",
          .inputs = {{"data"}, {"indices"}},
          .outputs = {{"y"}},
          .attributes = {{"batch_dims", AttributeType::kInt, std::int64_t{0}, false, 12}},
          .checks = {{"gather_nd.C1", OutputsFollowInput()},
                     {"gather_nd.C2",
                      Both({InputTypes(1, kIndexInt64), RankAtLeast(0, 1), RankAtLeast(1, 1)})},
                     {"gather_nd.C3", TupleBatchFits},
                     {"gather_nd.C4", TupleSizeFits},
                     {"gather_nd.C5", TuplesInRange}},
          .shape = GatherNdShape,
          .shape_clause = "gather_nd.C6",
          .copies_elements = true};
}

// scatter_nd.C5, scatter_elements.C6.
ClauseRule IsReduction() { return StringOneOf("reduction", {"none", "add", "mul", "max", "min"}); }

OpSchema GatherElementsRow() {
  return {.op_type = "GatherElements",
          .inputs = {{"data"}, {"indices"}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{0}}},
          .checks = {{"gather_elements.C1", OutputsFollowInput()},
                     {"gather_elements.C2", Both({RankAtLeast(0, 1), AxisInRange("axis", 0)})},
                     {"gather_elements.C3", IndicesFitAlongAxis},
                     {"gather_elements.C4", GatherIndices}},
          .shape = ShapeOfIndices,
          .shape_clause = "gather_elements.C5",
          .copies_elements = true};
}

OpSchema ScatterElementsRow() {
  return {.op_type = "ScatterElements",
          .inputs = {{"data"}, {"indices"}, {"updates"}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{0}},
                         {"reduction", AttributeType::kString, "none", false, 16}},
          .checks = {{"scatter_elements.C1", RealOrOne({0, 2}, {0}, kAnyType)},
                     {"scatter_elements.C2", Both({RankAtLeast(0, 1), AxisInRange("axis", 0)})},
                     {"scatter_elements.C3", IndicesFitAlongAxis},
                     {"scatter_elements.C4", UpdatesLikeIndices},
                     {"scatter_elements.C5", GatherIndices},
                     {"scatter_elements.C6", IsReduction()},
                     {"scatter_elements.C7", ScatterNumbers}},
          .shape = ShapeOfFirst,
          .shape_clause = "scatter_elements.C8"};
}

OpSchema ScatterNdRow() {
  return {.op_type = "ScatterND",
          .inputs = {{"data"}, {"indices"}, {"updates"}},
          .outputs = {{"y"}},
          .attributes = {{"reduction", AttributeType::kString, "none", false, 16}},
          .checks = {{"scatter_nd.C1", RealOrOne({0, 2}, {0}, kAnyType)},
                     {"scatter_nd.C2",
                      Both({InputTypes(1, kIndexInt64), RankAtLeast(1, 1), TupleSizeFits})},
                     {"scatter_nd.C3", ScatterUpdates},
                     {"scatter_nd.C4", TuplesInRange},
                     {"scatter_nd.C5", IsReduction()},
                     {"scatter_nd.C6", ScatterNumbers}},
          .shape = ShapeOfFirst,
          .shape_clause = "scatter_nd.C7"};
}

OpSchema ReverseSequenceRow() {
  return {.op_type = "ReverseSequence",
          .inputs = {{"x"}, {"sequence_lens"}},
          .outputs = {{"y"}},
          .attributes = {{"batch_axis", AttributeType::kInt, std::int64_t{1}},
                         {"time_axis", AttributeType::kInt, std::int64_t{0}}},
          .checks = {{"reverse_sequence.C1", OutputsFollowInput()},
                     {"reverse_sequence.C2", ReverseAxes},
                     {"reverse_sequence.C3", ReverseLengths},
                     {"reverse_sequence.C4", ReverseLengthsFit}},
          .shape = ShapeOfFirst,
          .shape_clause = "reverse_sequence.C5",
          .copies_elements = true};
}

// OneHot ------------------------------------------------------------------------------------------

constexpr TypeSet kOneHotNumbers =
    kPlainTypes | TypeSet{ElementType::kFloat, ElementType::kFloat16, ElementType::kBfloat16};

// The depth without its fraction, where it is known.
std::optional<std::int64_t> DepthOf(const Application& a) {
  if (const auto integers = IntegersOf(a.Input(1))) return integers->front();
  const auto floats = FloatsOf(a.Input(1));
  const bool fits = floats && std::abs(floats->front()) < 0x1p62;
  return fits ? std::optional(static_cast<std::int64_t>(floats->front())) : std::nullopt;
}

// one_hot.C3.
Result<void> HasDepth(const Application& a) {
  QTX_RETURN_IF_ERROR(IsScalar(1)(a));
  if (FloatsOf(a.Input(1)) && !DepthOf(a)) {
    return BadInput(a, 1, std::to_string(FloatsOf(a.Input(1))->front()),
                    "a value of at least 0 and below 2^62");
  }
  const std::int64_t depth = DepthOf(a).value_or(0);
  if (depth >= 0 && depth < std::int64_t{1} << 62) return {};
  return BadInput(a, 1, std::to_string(depth), "a value of at least 0 and below 2^62");
}

// one_hot.C4: the axis is one of y.
Result<void> OneHotAxis(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 1)(a));
  const Dims* indices = DimsOf(a.Input(0));
  if (indices == nullptr) return {};
  const auto rank = static_cast<std::int64_t>(indices->size()) + 1;
  const std::int64_t axis = a.Int("axis");
  if (axis >= -rank && axis < rank) return {};
  return BadAttribute("axis", std::to_string(axis), "an axis of rank " + std::to_string(rank));
}

// one_hot.C5.
Result<void> HasOffAndOn(const Application& a) {
  QTX_RETURN_IF_ERROR(RankIs(2, 1)(a));
  const Dims* dims = DimsOf(a.Input(2));
  if (dims == nullptr || !Differ(dims->front(), 2)) return {};
  return BadInput(a, 2, "shape " + ShapeText(*dims), "[2]");
}

// one_hot.S1.
Result<IndexedShapes> OneHotShape(const Application& a) {
  const Dims* indices = DimsOf(a.Input(0));
  if (indices == nullptr) return IndexedShapes{std::nullopt};
  Dims dims = *indices;
  const auto at = static_cast<std::ptrdiff_t>(AxisOf(a.Int("axis"), dims.size() + 1));
  dims.insert(dims.begin() + at, DepthOf(a).value_or(kUnknownSize));
  return IndexedShapes{std::move(dims)};
}

ElementType TypeOfThird(const Application& a, std::size_t) { return a.Input(2).type; }

OpSchema OneHotRow() {
  return {.op_type = "OneHot",
          .inputs = {{"indices"}, {"depth"}, {"off_on"}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{-1}}},
          .checks = {{"one_hot.C1",
                      Both({InputTypes(0, kOneHotNumbers), InputTypes(1, kOneHotNumbers)})},
                     {"one_hot.C2", OutputsFollowInput(2)},
                     {"one_hot.C3", HasDepth},
                     {"one_hot.C4", OneHotAxis},
                     {"one_hot.C5", HasOffAndOn}},
          .shape = OneHotShape,
          .shape_clause = "one_hot.C6",
          .type = TypeOfThird};
}

// NonZero -----------------------------------------------------------------------------------------

OpSchema NonZeroRow() {
  return {.op_type = "NonZero",
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {{"non_zero.C1",
                      InputTypes(0, kRealTypes | kPlainTypes | TypeSet{ElementType::kBool})},
                     {"non_zero.C2", OutputTypes(0, kIndexInt64)}},
          .shape = [](const Application& a) -> Result<IndexedShapes> {
            return IndexedShapes{Dims{RankOf(a.Input(0)), kUnknownSize}};
          },
          .shape_clause = "non_zero.C3",
          .type = Int64Type};
}

// Compress ----------------------------------------------------------------------------------------

// compress.C2. Without an axis all elements are one.
Result<void> CompressAxis(const Application& a) {
  QTX_RETURN_IF_ERROR(RankAtLeast(0, 1)(a));
  return a.Find("axis") == nullptr ? Result<void>() : AxisInRange("axis", 0)(a);
}

// compress.C3.
Result<void> CompressCondition(const Application& a) {
  QTX_RETURN_IF_ERROR(IsList(1, {ElementType::kBool})(a));
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return {};
  const bool is_list = a.Find("axis") == nullptr;
  const std::int64_t size = is_list ? CountOf(*x) : (*x)[AxisOf(a.Int("axis"), x->size())];
  const std::int64_t length = LengthOf(a.Input(1));
  if (!Known(length) || !Known(size) || length <= size) return {};
  return BadInput(a, 1, std::to_string(length) + " values", "at most " + std::to_string(size));
}

// compress.S1.
Result<IndexedShapes> CompressShape(const Application& a) {
  std::int64_t kept = kUnknownSize;
  if (const Tensor* condition = a.Input(1).constant) {
    const std::vector<std::int64_t> values = UnpackIntegers(*condition);
    kept = std::ssize(values) - std::ranges::count(values, 0);
  }
  if (a.Find("axis") == nullptr) return IndexedShapes{Dims{kept}};
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return IndexedShapes{std::nullopt};
  Dims dims = *x;
  dims[AxisOf(a.Int("axis"), dims.size())] = kept;
  return IndexedShapes{std::move(dims)};
}

OpSchema CompressRow() {
  return {.op_type = "Compress",
          .inputs = {{"x"}, {"condition"}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt}},
          .checks = {{"compress.C1", OutputsFollowInput()},
                     {"compress.C2", CompressAxis},
                     {"compress.C3", CompressCondition}},
          .shape = CompressShape,
          .shape_clause = "compress.C4",
          .copies_elements = true};
}

// NonMaxSuppression -------------------------------------------------------------------------------

// non_max_suppression.C1.
Result<void> SuppressionTypes(const Application& a) {
  for (const std::size_t i : Indices{0, 1, 3, 4}) QTX_RETURN_IF_ERROR(InputTypes(i, kRealTypes)(a));
  return InputTypes(2, kIndexInt64)(a);
}

// non_max_suppression.C2.
Result<void> BoxesFitScores(const Application& a) {
  QTX_RETURN_IF_ERROR(Both({RankIs(0, 3), RankIs(1, 3)})(a));
  const Dims* boxes = DimsOf(a.Input(0));
  const Dims* scores = DimsOf(a.Input(1));
  if (boxes != nullptr && Differ(boxes->back(), 4)) {
    return BadInput(a, 0, "shape " + ShapeText(*boxes), "4 coordinates");
  }
  if (boxes == nullptr || scores == nullptr) return {};
  const Dims expected = {(*boxes)[0], (*scores)[1], (*boxes)[1]};
  if (!Differ(*scores, expected)) return {};
  return BadInput(a, 1, "shape " + ShapeText(*scores), ShapeText(expected));
}

OpSchema NonMaxSuppressionRow() {
  return {.op_type = "NonMaxSuppression",
          .inputs = {{"boxes"},
                     {"scores"},
                     {"max_output", true},
                     {"iou_threshold", true},
                     {"score_threshold", true}},
          .outputs = {{"y"}},
          .attributes = {{"center_point_box", AttributeType::kInt, std::int64_t{0}}},
          .checks = {{"non_max_suppression.C1", SuppressionTypes},
                     {"non_max_suppression.C2", BoxesFitScores},
                     {"non_max_suppression.C3", Both({IsScalar(2), IsScalar(3), IsScalar(4)})},
                     {"non_max_suppression.C4", IntWithin("center_point_box", 0, 1)},
                     {"non_max_suppression.C5", OutputTypes(0, kIndexInt64)}},
          .shape = [](const Application&) -> Result<IndexedShapes> {
            return IndexedShapes{Dims{kUnknownSize, 3}};
          },
          .shape_clause = "non_max_suppression.C6",
          .type = Int64Type};
}

}  // namespace

void AddIndexing(std::vector<OpSchema>& rows) {
  rows.push_back(
      {.op_type = "Gather",
       .inputs = {{"data"}, {"indices"}},
       .outputs = {{"y"}},
       .attributes = {{"axis", AttributeType::kInt, std::int64_t{0}}},
       .checks = {{"gather.C1", OutputsFollowInput()},
                  {"gather.C2", Both({RankAtLeast(0, 1), AxisInRange("axis", 0)})},
                  {"gather.C3", InputTypes(1, {ElementType::kInt64, ElementType::kInt32})},
                  {"gather.C4", GatherIndices}},
       .shape = GatherShape,
       .shape_clause = "gather.C5",
       .copies_elements = true});
  rows.push_back(GatherElementsRow());
  rows.push_back(GatherNdRow());
  rows.push_back(ReverseSequenceRow());
  rows.push_back(ScatterElementsRow());
  rows.push_back(ScatterNdRow());
  rows.push_back(OneHotRow());
  rows.push_back(NonZeroRow());
  rows.push_back(CompressRow());
  rows.push_back(NonMaxSuppressionRow());
}

}  // namespace qtx::format::catalogue
