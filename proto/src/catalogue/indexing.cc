// Operators that take or replace the elements of a tensor that indices name.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>

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

// gather.C4, of a constant.
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

// scatter_nd.C6.
Result<void> ScatterNumbers(const Application& a) {
  if (a.String("reduction") == "none") return {};
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    if (a.Input(i).type != ElementType::kBool) continue;
    return BadInput(a, i, "type BOOL", "numbers, for reduction is " + a.String("reduction"));
  }
  return {};
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

OpSchema ScatterNdRow() {
  return {
      .op_type = "ScatterND",
      .inputs = {{"data"}, {"indices"}, {"updates"}},
      .outputs = {{"y"}},
      .attributes = {{"reduction", AttributeType::kString, "none", false, 16}},
      .checks = {{"scatter_nd.C1", RealOrOne({0, 2}, {0}, kAnyType)},
                 {"scatter_nd.C2",
                  Both({InputTypes(1, kIndexInt64), RankAtLeast(1, 1), TupleSizeFits})},
                 {"scatter_nd.C3", ScatterUpdates},
                 {"scatter_nd.C4", TuplesInRange},
                 {"scatter_nd.C5", StringOneOf("reduction", {"none", "add", "mul", "max", "min"})},
                 {"scatter_nd.C6", ScatterNumbers}},
      .shape = ShapeOfFirst,
      .shape_clause = "scatter_nd.C7"};
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
  rows.push_back(GatherNdRow());
  rows.push_back(ScatterNdRow());
}

}  // namespace qtx::format::catalogue
