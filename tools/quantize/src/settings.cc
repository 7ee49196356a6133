#include "settings.h"

#include <algorithm>

#include "qtx/format/scopes.h"

namespace qtx::quantize {
namespace {

bool Matches(const Rule& rule, const format::Node& node) {
  if (!MatchesGlob(rule.op_type, node.op_type)) return false;
  return MatchesGlob(rule.name, format::BareName(node.name)) ||
         std::ranges::any_of(node.outputs, [&rule](const std::string& output) {
           return MatchesGlob(rule.name, format::BareName(output));
         });
}

void Apply(const Rule& rule, NodeSettings& node) {
  node.keep_float = rule.keep_float.value_or(false);
  node.quantize_unfit = !rule.keep_float.value_or(true);
  if (rule.activations) node.settings.activations = *rule.activations;
  if (rule.weights) node.settings.weights = *rule.weights;
  if (rule.activation_range) node.settings.activation_range = *rule.activation_range;
  if (rule.weight_range) node.settings.weight_range = *rule.weight_range;
}

}  // namespace

// On a mismatch the last star takes one more character.
bool MatchesGlob(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, after = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      after = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++after;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

Result<std::vector<NodeSettings>> SettingsOf(const format::Graph& graph, const Options& options) {
  std::vector<NodeSettings> all(graph.nodes.size(), NodeSettings{options.settings});
  for (const Rule& rule : options.rules) {
    bool matched = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!Matches(rule, graph.nodes[i])) continue;
      matched = true;
      Apply(rule, all[i]);
    }
    if (!matched) {
      return Error{ErrorCode::kInvalid, rule.place,
                   "no node matches name '" + rule.name + "' and op_type '" + rule.op_type + "'"};
    }
  }
  return all;
}

}  // namespace qtx::quantize
