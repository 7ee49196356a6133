// Where ONNX node tests lie, which of them the reference should run, and their tensors.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::reference::golden {

struct NodeCase {
  std::string name;                   // "onnx-node/test_add": its collection and folder
  std::string folder;                 // holds model.onnx
  std::vector<std::string> op_types;  // of its nodes, sorted, each once
};
/// For GoogleTest's messages.
inline void PrintTo(const NodeCase& node_case, std::ostream* out) { *out << node_case.name; }

/// The cases whose every node is an operator of the registry, sorted by name. A collection that is
/// not on this machine has none.
const std::vector<NodeCase>& NodeCases();

/// Folders test_data_set_N of a case.
std::vector<std::string> DataSets(const NodeCase& node_case);

/// input_0.pb, input_1.pb, ... or output_0.pb, ... of a data set.
/// Errors: kUnsupported for a sequence or an optional, and those of Decode.
Result<std::vector<format::Tensor>> LoadTensors(const std::string& data_set,
                                                const std::string& prefix);

}  // namespace qtx::reference::golden
