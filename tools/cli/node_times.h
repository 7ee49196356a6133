// What the nodes of a prepared model take, and by which path: `--node-times` of run and bench.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::cli {

struct NodeTimes {
  int repetitions = 1;
  std::vector<backend::NodeTime> times;  // of all repetitions together
};

/// Computes for some 0.2 s, at least once.  Errors: those of PreparedModel::Profile.
Result<NodeTimes> MeasureNodes(backend::PreparedModel& prepared,
                               std::span<const format::Tensor> inputs);

/// One line for each node and path, the slowest first: time of one computation, share, path,
/// operator, types of inputs and outputs, name.
std::string ToText(const format::Model& model, const NodeTimes& measured);

}  // namespace qtx::cli
