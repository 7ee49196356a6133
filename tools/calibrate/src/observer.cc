#include "observer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "qtx/format/annotation.h"
#include "qtx/format/check.h"
#include "qtx/format/description.h"
#include "qtx/format/scopes.h"

namespace qtx::calibrate {
namespace {

// Longest axis with per-axis statistics; longer ones are per tensor.
constexpr std::int64_t kMaxAxisSize = 1 << 16;

using format::Shape;
using format::Statistics;

Result<Statistics> PerTensor(const Statistics& statistics) {
  if (statistics.moments.empty()) {  // nothing was seen
    Statistics whole = statistics;
    whole.axis.clear();
    return whole;
  }
  return WithoutAxis(statistics);
}

}  // namespace

std::optional<std::int64_t> AxisIn(const std::optional<Shape>& shape,
                                   std::optional<std::int64_t> axis) {
  if (!axis || !shape) return std::nullopt;
  const auto at = format::NormalizeAxis(*axis, std::ssize(*shape));
  if (!at.has_value()) return std::nullopt;
  const auto size = (*shape)[static_cast<std::size_t>(*at)].value;
  if (!size || *size < 1 || *size > kMaxAxisSize) return std::nullopt;
  return *at;
}

std::optional<Shape> Join(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape joined = *a;
  for (std::size_t i = 0; i < joined.size(); ++i) {
    if (joined[i] != (*b)[i]) joined[i] = {};
  }
  return joined;
}

Result<Observation> Join(const Observation& a, const Observation& b, std::int64_t bins) {
  Observation joined{.shape = Join(a.shape, b.shape)};
  // The number of bins matters only with histograms.
  const std::int64_t max_bins = bins == 0 ? format::kMaxHistogramBins : bins;
  if (a.statistics.axis == b.statistics.axis &&
      a.statistics.moments.size() == b.statistics.moments.size()) {
    QTX_ASSIGN_OR_RETURN(joined.statistics, calibrate::Merge(a.statistics, b.statistics, max_bins));
    return joined;
  }
  QTX_ASSIGN_OR_RETURN(const Statistics whole_a, PerTensor(a.statistics));
  QTX_ASSIGN_OR_RETURN(const Statistics whole_b, PerTensor(b.statistics));
  QTX_ASSIGN_OR_RETURN(joined.statistics, calibrate::Merge(whole_a, whole_b, max_bins));
  return joined;
}

Result<void> Observer::DropAxis(Entry& entry) {
  StatisticsAccumulator whole({.axis = {}, .bins = options_.bins});
  const Statistics statistics = entry.statistics.Finish();
  if (!statistics.moments.empty()) {
    QTX_ASSIGN_OR_RETURN(const Statistics joined, WithoutAxis(statistics));
    QTX_RETURN_IF_ERROR(whole.Merge(joined));
  }
  entry.axis.reset();
  entry.statistics = std::move(whole);
  return {};
}

// The entry of `value` for tensors of `shape`; drops the axis if its size differs.
Result<Observer::Entry*> Observer::Find(const std::string& value,
                                        const std::optional<Shape>& shape) {
  const auto at = entries_.find(value);
  if (at == entries_.end() || (!at->second.seen && at->second.shape != shape)) {
    const auto axis = AxisIn(shape, options_.axis);
    Entry fresh{.seen = true,
                .shape = shape,
                .axis = axis,
                .statistics = StatisticsAccumulator({.axis = axis, .bins = options_.bins})};
    return &entries_.insert_or_assign(value, std::move(fresh)).first->second;
  }
  Entry& entry = at->second;
  entry.seen = true;
  if (entry.shape == shape) return &entry;
  entry.shape = Join(entry.shape, shape);
  if (entry.axis && AxisIn(entry.shape, options_.axis) != entry.axis) {
    QTX_RETURN_IF_ERROR(DropAxis(entry));
  }
  return &entry;
}

Result<void> Observer::Add(const std::string& value, const format::Tensor& tensor) {
  if (tensor.elem_type != format::ElementType::kFloat) {
    left_out_.emplace(value, format::Name(tensor.elem_type));
    return {};
  }
  // The sums of a value's rows stand where names begin with that of the value.
  for (auto gram = grams_.lower_bound(value);
       gram != grams_.end() && gram->first.starts_with(value); ++gram) {
    if (gram->second.rows.value == value) QTX_RETURN_IF_ERROR(AddTo(gram->second, tensor));
  }
  QTX_ASSIGN_OR_RETURN(Entry * entry, Find(value, format::ToShape(tensor.dims)));
  return entry->statistics.Add(tensor);
}

Result<void> Observer::Take(Observer& other) {
  for (auto& [value, from] : other.entries_) {
    if (!from.seen) continue;
    QTX_ASSIGN_OR_RETURN(Entry * entry, Find(value, from.shape));
    if (entry->axis != from.axis) {
      QTX_RETURN_IF_ERROR(DropAxis(*entry));
      QTX_RETURN_IF_ERROR(other.DropAxis(from));
    }
    QTX_RETURN_IF_ERROR(entry->statistics.Merge(from.statistics));
  }
  QTX_RETURN_IF_ERROR(AddTo(grams_, other.grams_));
  left_out_.merge(other.left_out_);
  other.Clear();
  return {};
}

Result<void> Observer::Merge(const Observations& observations) {
  for (const auto& [value, observation] : observations) {
    QTX_ASSIGN_OR_RETURN(Entry * entry, Find(value, observation.shape));
    const bool axis = !observation.statistics.axis.empty();
    if (axis != entry->axis.has_value()) {
      return Error{ErrorCode::kInvalid, "value '" + value + "'",
                   "the axis of its statistics differs"};
    }
    if (observation.statistics.moments.empty()) continue;
    auto merged = entry->statistics.Merge(observation.statistics);
    if (!merged.has_value()) return At("value '" + value + "'", merged.error());
  }
  return {};
}

void Observer::Clear() {
  for (auto& [value, entry] : entries_) {
    if (entry.seen) entry.statistics.Clear();
    entry.seen = false;
  }
  for (auto& [value, gram] : grams_) std::ranges::fill(gram.sums, 0);
}

Observations Observer::Finish() const {
  Observations observations;
  for (const auto& [value, entry] : entries_) {
    if (entry.seen) observations[value] = {entry.shape, entry.statistics.Finish()};
  }
  return observations;
}

Observations Observer::Release() {
  Observations observations;
  for (auto at = entries_.begin(); at != entries_.end(); at = entries_.erase(at)) {
    if (at->second.seen)
      observations[at->first] = {at->second.shape, at->second.statistics.Finish()};
  }
  return observations;
}

namespace {

// Gives a declared FLOAT value what was observed of it, nullptr for nothing, in the place of older
// statistics. Copies: a value may be declared twice, as an output that is an input.
void AnnotateDeclared(const Observation* observation, format::ValueInfo& value) {
  const bool described = format::Undescribe(value);
  value.type->statistics.reset();
  if (observation != nullptr) {
    value.type->shape = observation->shape;
    value.type->statistics = observation->statistics;
  }
  if (described || value.type->statistics) format::Describe(value);
}

// `graph` is that of a flat form.
void AnnotateValues(Observations observations, format::Graph& graph) {
  std::map<std::string, std::size_t> position;  // in the graph's order
  for (const format::Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) position.emplace(output, position.size());
  }
  for (const auto& initializer : graph.initializers) {
    position.emplace(initializer.name, position.size());
  }
  std::set<std::string> declared;
  for (auto* values : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (format::ValueInfo& value : *values) {
      position.emplace(value.name, position.size());
      if (!value.type || value.type->elem_type != format::ElementType::kFloat) continue;
      const auto found = observations.find(value.name);
      const bool observed = found != observations.end();
      if (observed) declared.insert(value.name);
      AnnotateDeclared(observed ? &found->second : nullptr, value);
    }
  }
  // A declaration is large, and so may be their number: room for all at once, and no second copy.
  graph.values.reserve(graph.values.size() + observations.size() - declared.size());
  for (auto at = observations.begin(); at != observations.end(); at = observations.erase(at)) {
    if (declared.contains(at->first)) continue;
    position.emplace(at->first, position.size());
    format::ValueInfo& value = graph.values.emplace_back();
    value.name = at->first;
    value.type.emplace();
    value.type->elem_type = format::ElementType::kFloat;
    value.type->shape = std::move(at->second.shape);
    value.type->statistics = std::move(at->second.statistics);
    format::Describe(value);
  }
  std::ranges::sort(graph.values, {}, [&](const format::ValueInfo& value) {
    return position.find(value.name)->second;
  });
}

}  // namespace

Result<void> Annotate(Observations observations, format::Model& model) {
  const format::FlatModel flat(model);
  if (&flat.model() == &model) {
    AnnotateValues(std::move(observations), model.graph);
  } else {
    format::Model annotated = flat.model();
    AnnotateValues(std::move(observations), annotated.graph);
    QTX_ASSIGN_OR_RETURN(model, flat.Nest(std::move(annotated)));
  }
  return format::RecordAnnotations(model);
}

Result<Observations> ObservationsOf(const format::Model& model) {
  for (const format::Finding& finding : format::Check(model, "")) {
    if (!finding.rule.starts_with("statistics.")) continue;
    return Error{ErrorCode::kInvalid, finding.where, finding.message, finding.rule};
  }
  Observations observations;
  const format::FlatModel flat(model);
  const format::Graph& graph = flat.model().graph;
  for (const auto* values : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const format::ValueInfo& value : *values) {
      if (!value.type || value.type->elem_type != format::ElementType::kFloat ||
          !value.type->statistics) {
        continue;
      }
      observations[value.name] = {value.type->shape, *value.type->statistics};
    }
  }
  return observations;
}

}  // namespace qtx::calibrate
