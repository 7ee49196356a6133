#include "node_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "qtx/format/element_type.h"

namespace qtx::cli {
namespace {

constexpr double kSeconds = 0.2;
constexpr int kMostRepetitions = 1000;

double Total(const std::vector<backend::NodeTime>& times) {
  double total = 0;
  for (const backend::NodeTime& time : times) total += time.seconds;
  return total;
}

std::string TypeNames(const format::ModelView& view, std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    const format::ValueInfo* value = view.FindValue(name);
    std::string type = view.FindInitializer(name) != nullptr ? "constant" : "?";
    if (value != nullptr && value->type) {
      type = (type == "?" ? "" : type + " ") + std::string(format::Name(value->type->elem_type));
      if (value->type->shape) type += format::ToString(*value->type->shape);
    }
    text += (text.empty() ? "" : " ") + type;
  }
  return text;
}

std::string NameOf(const format::Node& node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

}  // namespace

Result<NodeTimes> MeasureNodes(backend::PreparedModel& prepared,
                               std::span<const format::Tensor> inputs) {
  NodeTimes measured;
  const auto start = std::chrono::steady_clock::now();
  QTX_ASSIGN_OR_RETURN(measured.times, prepared.Profile(inputs, 1));
  const std::chrono::duration<double> first = std::chrono::steady_clock::now() - start;
  if (first.count() > kSeconds) return measured;
  measured.repetitions =
      static_cast<int>(std::clamp(kSeconds / first.count(), 1.0, double{kMostRepetitions}));
  QTX_ASSIGN_OR_RETURN(measured.times, prepared.Profile(inputs, measured.repetitions));
  return measured;
}

std::string ToText(const format::Model& model, const NodeTimes& measured) {
  const format::ModelView view = format::ModelView::Indexed(model);
  std::map<std::pair<std::size_t, std::string>, double> merged;
  for (const backend::NodeTime& time : measured.times) {
    merged[{time.node, time.path}] += time.seconds;
  }
  std::vector<backend::NodeTime> rows;
  for (const auto& [key, seconds] : merged) rows.push_back({key.first, key.second, seconds});
  std::ranges::stable_sort(rows, std::ranges::greater(), &backend::NodeTime::seconds);
  const double total = Total(rows);
  std::string text = fmt::format("{:>12} {:>6}  {:<14} {}\n", "microseconds", "%", "path", "node");
  for (const backend::NodeTime& row : rows) {
    const format::Node& node = model.graph.nodes[row.node];
    text += fmt::format("{:12.2f} {:6.2f}  {:<14} {} '{}': {} -> {}\n",
                        row.seconds * 1e6 / measured.repetitions,
                        total > 0 ? 100 * row.seconds / total : 0, row.path, node.op_type,
                        NameOf(node), TypeNames(view, node.inputs), TypeNames(view, node.outputs));
  }
  return text + fmt::format("{:12.2f} {:6}  all\n", total * 1e6 / measured.repetitions, "");
}

}  // namespace qtx::cli
