// What a node on plain integers is in the extended form.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "onnx/graph_index.h"
#include "onnx/quantized_types.h"
#include "qdq/parameters.h"

namespace qtx::convert {

/// A quantized initializer made of a node's inputs.
struct NewWeight {
  std::string name;
  format::Tensor stored;
  QdqParameters parameters;
};

struct Lift {
  format::Node node;                             // on the names of the integers
  std::map<std::size_t, QdqParameters> inputs;   // how each integer input is read
  std::map<std::size_t, QdqParameters> outputs;  // how each integer output is written
  std::vector<format::Node> after;               // nodes on reals that follow it
  std::set<std::size_t> absorbed;                // further nodes that it stands for
  std::optional<NewWeight> weight;
};

/// What Lift functions read and write beside the node.
struct LiftContext {
  const GraphIndex& index;
  NameSource& names;
  std::string& why;  // where the answer is nullopt: why the node stays as it is
};

/// Origin `framework` of a node that was one of stock ONNX, and of one that stock ONNX stands for
/// for want of its own form: the latter's origin says what it was in the extended form, with its
/// attributes where the form has not all of them.
inline constexpr const char* kOnnxFramework = "onnx";
inline constexpr const char* kOwnFramework = "qtx";

/// A node `op_type` in place of `from`, with the name, the metadata and the origin it has.
format::Node PlainNode(const format::Node& from, std::string_view op_type);

/// The node in the extended form, nullopt where it stays what it is.
/// Errors: kInvalid for a node that breaks its own rules, kUnsupported for one that is refused.
Result<std::optional<Lift>> LiftNode(const LiftContext& context, std::size_t node);

}  // namespace qtx::convert
