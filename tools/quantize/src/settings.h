// Which settings a node has, by the rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "initializers.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// `*` any characters, `?` one; the whole of `text`.
bool MatchesGlob(std::string_view glob, std::string_view text);

struct NodeSettings {
  Settings settings;
  bool keep_float = false;
  bool quantize_unfit = false;  // a rule says 'float: false'
};

/// One for each node of the graph.  Errors: kInvalid for a rule that matches none.
Result<std::vector<NodeSettings>> SettingsOf(const format::Graph& graph, const Options& options);

}  // namespace qtx::quantize
