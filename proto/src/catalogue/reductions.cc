// Operators over axes: the Reduce family, ArgMax and ArgMin, TopK.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>
#include <utility>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using ReduceShapes = std::vector<std::optional<Dims>>;

constexpr TypeSet kReduceIndex = {ElementType::kInt64};

// Whether a tensor of these sizes has an element, as far as they are known.
enum class ReduceElements { kNone, kSome, kUnknown };

ReduceElements ReduceElementsOf(const Dims& dims) {
  if (std::ranges::find(dims, 0) != dims.end()) return ReduceElements::kNone;
  return AllKnown(dims) ? ReduceElements::kSome : ReduceElements::kUnknown;
}

// The Reduce family -----------------------------------------------------------------------------

// reduce_sum.S3: from opset `kSince` on the axes are an input.
template <std::int64_t kSince>
Result<void> ReduceForm(const Application& a) {
  const bool as_input = a.opset >= kSince;
  const std::string form =
      "opset " + std::to_string(a.opset) + " has axes as an " + (as_input ? "input" : "attribute");
  if (as_input && a.Find("axes") != nullptr) return Refuse("attribute 'axes'", form);
  if (!as_input && a.Find("noop_with_empty_axes") != nullptr) {
    return Refuse("attribute 'noop_with_empty_axes'", form + " and not this one");
  }
  if (!as_input && a.Input(1).given) return Refuse(InputPlace(a, 1), form);
  QTX_RETURN_IF_ERROR(InputTypes(1, kReduceIndex)(a));
  const Dims* dims = DimsOf(a.Input(1));
  if (dims == nullptr || dims->size() <= 1) return {};
  return BadInput(a, 1, "shape " + ShapeText(*dims), "rank 1");
}

// The axes that the node names; none where it leaves them out.
ListArgument ReduceNamed(const Application& a) {
  ListArgument axes = ListOf(a, 1, "axes");
  if (!axes.given) axes.values.emplace();
  if (axes.values) axes.length = static_cast<std::int64_t>(axes.values->size());
  return axes;
}

// reduce_sum.C2.
Result<void> ReduceAxes(const Application& a) {
  return CheckAxes(ReduceNamed(a), RankOf(a.Input(0)));
}

// Which axes of a shape of `rank` are reduced, one flag each; nullopt where they are not known.
// REQUIRES: reduce_sum.C2.
std::optional<std::vector<bool>> ReducedAxes(const Application& a, std::size_t rank) {
  const ListArgument axes = ReduceNamed(a);
  if (axes.length == 0) return std::vector<bool>(rank, a.Int("noop_with_empty_axes") == 0);
  if (axes.length == static_cast<std::int64_t>(rank)) return std::vector<bool>(rank, true);
  if (!axes.values) return std::nullopt;
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : *axes.values) reduced[AxisOf(axis, rank)] = true;
  return reduced;
}

// y where the reduced axes are not known; its rank may not be, either.
std::optional<Dims> ReduceUnknownAxes(const Application& a, const Dims& x) {
  if (a.Int("keepdims") != 0 || x.empty()) {
    Dims y(x.size(), kUnknownSize);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == 1) y[i] = 1;
    }
    return y;
  }
  const std::int64_t count = ReduceNamed(a).length;
  if (!Known(count)) return std::nullopt;
  return Dims(x.size() - static_cast<std::size_t>(count), kUnknownSize);
}

// reduce_sum.S4.
Result<ReduceShapes> ShapeOfReduce(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  const bool keeps = a.Int("keepdims") != 0;
  if (x == nullptr) {
    const bool all = ReduceNamed(a).length == 0 && a.Int("noop_with_empty_axes") == 0;
    return ReduceShapes{all && !keeps ? std::optional(Dims()) : std::nullopt};
  }
  const auto reduced = ReducedAxes(a, x->size());
  if (!reduced) return ReduceShapes{ReduceUnknownAxes(a, *x)};
  Dims y;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!(*reduced)[i] || keeps) y.push_back((*reduced)[i] ? 1 : (*x)[i]);
  }
  return ReduceShapes{std::move(y)};
}

// reduce_mean.C5: where there is a mean, it has an element.
Result<void> ReduceMeanOfSome(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return {};
  const auto reduced = ReducedAxes(a, x->size());
  if (!reduced) return {};
  Dims of, results;
  for (std::size_t i = 0; i < x->size(); ++i) ((*reduced)[i] ? of : results).push_back((*x)[i]);
  if (ReduceElementsOf(of) != ReduceElements::kNone ||
      ReduceElementsOf(results) != ReduceElements::kSome) {
    return {};
  }
  return BadInput(a, 0, "shape " + ShapeText(*x), "at least one element for each mean");
}

struct ReduceClauses {
  std::string_view types, axes, form, shape;
};

// C3 before C2: where the axes are depends on the opset.
template <std::int64_t kSince = 18>
OpSchema Reduction(std::string_view op_type, const ReduceClauses& clauses, TypeSet one) {
  return {.op_type = op_type,
          .inputs = {{"x"}, {"axes", true}},
          .outputs = {{"y"}},
          .attributes = {{"axes", AttributeType::kInts},
                         {"keepdims", AttributeType::kInt, std::int64_t{1}},
                         {"noop_with_empty_axes", AttributeType::kInt, std::int64_t{0}}},
          .checks = {{clauses.types, RealOrOne({0}, {0}, one)},
                     {clauses.form, Both({ReduceForm<kSince>, IntWithin("keepdims", 0, 1)})},
                     {clauses.axes, ReduceAxes}},
          .shape = ShapeOfReduce,
          .shape_clause = clauses.shape};
}

// ArgMax and ArgMin ------------------------------------------------------------------------------

// arg_max.C4.
Result<void> ReduceHasPosition(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return {};
  Dims results = *x;
  std::int64_t& size = results[AxisOf(a.Int("axis"), x->size())];
  if (std::exchange(size, 1) != 0 || ReduceElementsOf(results) != ReduceElements::kSome) return {};
  return BadInput(a, 0, "shape " + ShapeText(*x), "at least one element along the axis");
}

// arg_max.S1.
Result<ReduceShapes> ShapeOfArg(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return ReduceShapes{std::nullopt};
  Dims y = *x;
  const auto axis = y.begin() + static_cast<std::ptrdiff_t>(AxisOf(a.Int("axis"), y.size()));
  if (a.Int("keepdims") != 0) {
    *axis = 1;
  } else {
    y.erase(axis);
  }
  return ReduceShapes{std::move(y)};
}

struct ArgClauses {
  std::string_view result, numbers, axis, elements, shape;
};

OpSchema ReduceToPosition(std::string_view op_type, const ArgClauses& clauses) {
  return {.op_type = op_type,
          .inputs = {{"x"}},
          .outputs = {{"y"}},
          .attributes = {{"axis", AttributeType::kInt, std::int64_t{0}},
                         {"keepdims", AttributeType::kInt, std::int64_t{1}},
                         {"select_last_index", AttributeType::kInt, std::int64_t{0}, false, 12}},
          .checks = {{clauses.result, OutputTypes(0, kReduceIndex)},
                     {clauses.numbers, InputTypes(0, kRealTypes | kPlainTypes)},
                     {clauses.axis, Both({AxisInRange("axis", 0), IntWithin("keepdims", 0, 1)})},
                     {clauses.elements, ReduceHasPosition}},
          .shape = ShapeOfArg,
          .shape_clause = clauses.shape,
          .type = Int64Type};
}

// CumSum and CumProd -----------------------------------------------------------------------------

// cum_sum.C2.
Result<void> RunningAxis(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(1, {ElementType::kInt32, ElementType::kInt64})(a));
  QTX_RETURN_IF_ERROR(IsScalar(1)(a));
  const std::int64_t rank = RankOf(a.Input(0));
  if (!Known(rank)) return {};
  const auto outside =
      FindInteger(a.Input(1), [rank](std::int64_t axis) { return axis < -rank || axis >= rank; });
  if (!outside) return {};
  return BadInput(a, 1, std::to_string(*outside), "an axis of rank " + std::to_string(rank));
}

struct RunningClauses {
  std::string_view types, axis, flags, shape;
};

OpSchema RunningRow(std::string_view op_type, const RunningClauses& clauses) {
  return {
      .op_type = op_type,
      .inputs = {{"x"}, {"axis"}},
      .outputs = {{"y"}},
      .attributes = {{"exclusive", AttributeType::kInt, std::int64_t{0}},
                     {"reverse", AttributeType::kInt, std::int64_t{0}}},
      .checks = {{clauses.types, RealOrOne({0}, {0}, kPlainTypes)},
                 {clauses.axis, RunningAxis},
                 {clauses.flags, Both({IntWithin("exclusive", 0, 1), IntWithin("reverse", 0, 1)})}},
      .shape = ShapeOfFirst,
      .shape_clause = clauses.shape};
}

// TopK -------------------------------------------------------------------------------------------

// The size of the axis of x; kUnknownSize where it is not known.  REQUIRES: top_k.C3.
std::int64_t TopKAxisSize(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  return x == nullptr ? kUnknownSize : (*x)[AxisOf(a.Int("axis"), x->size())];
}

// top_k.C4. An axis without elements has no k.
Result<void> TopKCount(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(1, kReduceIndex)(a));
  QTX_RETURN_IF_ERROR(IsScalar(1)(a));
  const std::int64_t size = TopKAxisSize(a);
  if (size == 0) return Refuse(InputPlace(a, 1), "the axis of x has size 0, expected at least 1");
  const auto k = IntegersOf(a.Input(1));
  if (!k || k->size() != 1) return {};
  const std::int64_t count = (*k)[0];
  if (count >= 1 && (!Known(size) || count <= size)) return {};
  return BadInput(
      a, 1, std::to_string(count),
      Known(size) ? "1 to " + std::to_string(size) + ", the size of the axis" : "at least 1");
}

Result<ReduceShapes> ShapeOfTopK(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return ReduceShapes{std::nullopt, std::nullopt};
  const auto k = IntegersOf(a.Input(1));
  Dims dims = *x;
  std::int64_t& size = dims[AxisOf(a.Int("axis"), x->size())];
  if (k && k->size() == 1) {
    size = (*k)[0];
  } else if (size != 1) {
    size = kUnknownSize;
  }
  return ReduceShapes{dims, dims};
}

ElementType TopKType(const Application& a, std::size_t output) {
  return output == 0 ? a.Input(0).type : ElementType::kInt64;
}

OpSchema TopKRow() {
  return {
      .op_type = "TopK",
      .inputs = {{"x"}, {"k"}},
      .outputs = {{"values", true}, {"indices", true}},
      .attributes = {{"axis", AttributeType::kInt, std::int64_t{-1}},
                     {"largest", AttributeType::kInt, std::int64_t{1}, false, 11},
                     {"sorted", AttributeType::kInt, std::int64_t{1}, false, 11}},
      .checks = {{"top_k.C1", Both({RealOrOne({0}, {0}, kAnyType), OutputTypes(1, kReduceIndex)})},
                 {"top_k.C2", InputTypes(0, kRealTypes | kPlainTypes)},
                 {"top_k.C3", AxisInRange("axis", 0)},
                 {"top_k.C4", TopKCount}},
      .shape = ShapeOfTopK,
      .shape_clause = "top_k.C5",
      .type = TopKType,
      .copies_elements = true};
}

}  // namespace

void AddReductions(std::vector<OpSchema>& rows) {
  rows.push_back(
      RunningRow("CumProd", {"cum_prod.C1", "cum_prod.C2", "cum_prod.C3", "cum_prod.C4"}));
  rows.push_back(RunningRow("CumSum", {"cum_sum.C1", "cum_sum.C2", "cum_sum.C3", "cum_sum.C4"}));
  constexpr TypeSet kOrBool = kPlainTypes | TypeSet{ElementType::kBool};
  rows.push_back(Reduction(
      "ReduceL1", {"reduce_l1.C1", "reduce_l1.C2", "reduce_l1.C3", "reduce_l1.C4"}, kPlainTypes));
  rows.push_back(Reduction(
      "ReduceL2", {"reduce_l2.C1", "reduce_l2.C2", "reduce_l2.C3", "reduce_l2.C4"}, kPlainTypes));
  rows.push_back(Reduction(
      "ReduceLogSum",
      {"reduce_log_sum.C1", "reduce_log_sum.C2", "reduce_log_sum.C3", "reduce_log_sum.C4"},
      {ElementType::kDouble}));
  rows.push_back(Reduction("ReduceLogSumExp",
                           {"reduce_log_sum_exp.C1", "reduce_log_sum_exp.C2",
                            "reduce_log_sum_exp.C3", "reduce_log_sum_exp.C4"},
                           {ElementType::kDouble}));
  rows.push_back(Reduction(
      "ReduceMax", {"reduce_max.C1", "reduce_max.C2", "reduce_max.C3", "reduce_max.C4"}, kOrBool));
  rows.back().copies_elements = true;
  rows.push_back(Reduction("ReduceMean",
                           {"reduce_mean.C1", "reduce_mean.C2", "reduce_mean.C3", "reduce_mean.C4"},
                           kPlainTypes));
  rows.back().checks.push_back({"reduce_mean.C5", ReduceMeanOfSome});
  rows.push_back(Reduction(
      "ReduceMin", {"reduce_min.C1", "reduce_min.C2", "reduce_min.C3", "reduce_min.C4"}, kOrBool));
  rows.back().copies_elements = true;
  rows.push_back(Reduction("ReduceProd",
                           {"reduce_prod.C1", "reduce_prod.C2", "reduce_prod.C3", "reduce_prod.C4"},
                           kPlainTypes));
  rows.push_back(Reduction<13>("ReduceSum",
                               {"reduce_sum.C1", "reduce_sum.C2", "reduce_sum.C3", "reduce_sum.C4"},
                               kPlainTypes));
  rows.push_back(Reduction("ReduceSumSquare",
                           {"reduce_sum_square.C1", "reduce_sum_square.C2", "reduce_sum_square.C3",
                            "reduce_sum_square.C4"},
                           kPlainTypes));
  rows.push_back(ReduceToPosition(
      "ArgMax", {"arg_max.C1", "arg_max.C2", "arg_max.C3", "arg_max.C4", "arg_max.C5"}));
  rows.push_back(ReduceToPosition(
      "ArgMin", {"arg_min.C1", "arg_min.C2", "arg_min.C3", "arg_min.C4", "arg_min.C5"}));
  rows.push_back(TopKRow());
}

}  // namespace qtx::format::catalogue
