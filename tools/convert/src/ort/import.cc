#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "annotate.h"
#include "errors.h"
#include "ort/entries.h"
#include "ort/ort.h"

namespace qtx::convert {
namespace {

using ort::Entry;

// numpy.histogram's edges are linspace in binary32: equal but for the rounding of each.
Result<format::Histogram> HistogramOf(const Entry& entry) {
  format::Histogram histogram;
  histogram.lower = entry.edges.front();
  histogram.upper = entry.edges.back();
  histogram.counts = entry.counts;
  const double width =
      (histogram.upper - histogram.lower) / static_cast<double>(entry.counts.size());
  const double slack = std::max(std::abs(histogram.lower), std::abs(histogram.upper)) * 0x1p-22;
  for (std::size_t i = 0; i < entry.edges.size(); ++i) {
    const double ideal = histogram.lower + width * static_cast<double>(i);
    if (!(std::abs(entry.edges[i] - ideal) <= slack))
      return Unsupported("hist_edges", "bins of different widths");
  }
  return histogram;
}

// per_channel collects along axis 1: MinMaxCalibrater.augment_graph.
Result<std::vector<std::int64_t>> AxisOf(const Entry& entry, InferredSizes& sizes,
                                         format::TensorType& type) {
  if (entry.lowest.size() < 2) return std::vector<std::int64_t>();
  if (!CheckAxes({1}, type, "").has_value()) sizes.Fill(entry.name, type);
  if (!type.shape) {
    return Invalid("lowest",
                   "found a value for each channel, but the value's shape does not follow from "
                   "the model");
  }
  const bool fits = type.shape->size() >= 2 &&
                    (*type.shape)[1].value == static_cast<std::int64_t>(entry.lowest.size());
  if (!fits) {
    return Invalid("lowest", "found " + std::to_string(entry.lowest.size()) +
                                 " values, expected one, or one for each element of axis 1");
  }
  return std::vector<std::int64_t>{1};
}

// Distribution has the ends of its histogram there, which are no extremes.
Result<void> TakeRange(const Entry& entry, const std::string& method, Ledger& ledger,
                       format::Statistics& statistics) {
  if (method == "Distribution") return {};
  if (method != "MinMax") {
    QTX_RETURN_IF_ERROR(ledger.Lose("range", entry.name, "min and max",
                                    "the range that " + method + " chose, not the extremes seen"));
  }
  statistics.min = entry.lowest;
  statistics.max = entry.highest;
  return {};
}

Result<void> Annotate(const Entry& entry, const std::string& method, InferredSizes& sizes,
                      format::Model& model, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(format::TensorType * type, DeclareFloat(model, entry.name));
  format::Statistics statistics;
  statistics.source = "onnxruntime " + method;
  QTX_ASSIGN_OR_RETURN(statistics.axis, AxisOf(entry, sizes, *type));
  QTX_RETURN_IF_ERROR(TakeRange(entry, method, ledger, statistics));
  if (entry.mean) statistics.mean = {*entry.mean};
  if (entry.std) statistics.std = {*entry.std};
  if (!entry.counts.empty()) {
    QTX_ASSIGN_OR_RETURN(statistics.histogram, HistogramOf(entry));
    statistics.count = std::accumulate(entry.counts.begin(), entry.counts.end(), std::uint64_t{0});
  }
  if (entry.histogram_is_void)
    ledger.Dropped(entry.name, "hist", "a number instead of counts, as onnxruntime 1.31 writes it");
  type->statistics = std::move(statistics);
  ledger.Kept(entry.name, "statistics");
  return {};
}

Result<void> AnnotateAll(const ort::Calibration& calibration, format::Model& model,
                         Ledger& ledger) {
  InferredSizes sizes(model);
  const std::set<std::string> names = ValueNames(model.graph);
  std::set<std::string> seen;
  for (const Entry& entry : calibration.entries) {
    const std::string place = "value '" + entry.name + "'";
    if (!seen.insert(entry.name).second) return Invalid(place, "is described twice");
    if (!names.contains(entry.name)) {
      QTX_RETURN_IF_ERROR(
          ledger.Lose("unmatched", entry.name, "entry", "is not a value of the model"));
      continue;
    }
    const auto annotated = Annotate(entry, calibration.method, sizes, model, ledger);
    if (!annotated.has_value()) return At(place, annotated.error());
  }
  return {};
}

}  // namespace

bool LooksLikeOrtCalibration(const Source& source) {
  const std::string_view head = source.bytes().substr(0, 4096);
  return !source.onnx && head.starts_with("{") &&
         (head.find("\"TensorsData\"") != head.npos || head.find("\"TensorData\"") != head.npos);
}

Result<Conversion> ReadOrtCalibration(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const ort::Calibration calibration, ort::ParseCalibration(source.bytes()));
  return OntoModelBeside(source, options, [&calibration](format::Model& model, Ledger& ledger) {
    return AnnotateAll(calibration, model, ledger);
  });
}

}  // namespace qtx::convert
