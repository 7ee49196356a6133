// The origin of the nodes that stand for one node of ONNX Runtime's own operators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "contrib/node_group.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Sets the origin of `nodes` to all that `former` was.  REQUIRES: nodes.
void SetGroupOrigin(const format::Node& former, const std::string& group,
                    std::vector<format::Node>& nodes);

/// What `first` says it was the first node of.
std::optional<format::Node> FormerNode(const format::Node& first);

/// The expansion of `former`; false where it has none, or is none of a runtime's operators.
bool ExpandAs(const ContribContext& context, const format::Node& former, NodeGroup& group);

/// Whether its expansion has a body: ExpandSteps.
bool IsOfSteps(const format::Node& node);

}  // namespace qtx::convert
