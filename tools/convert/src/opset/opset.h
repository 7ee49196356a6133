// Models and nodes in another opset of ai.onnx.
#pragma once

#include <cstdint>

#include "ledger.h"
#include "qtx/convert/convert.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// `model` with every node of ai.onnx, in bodies too, in the form of `opset`, up or down; nodes of
/// other domains, and of operators that ONNX never had, stay as they are. What a node computes
/// stays the same. Inputs that `opset` has and the model's does not become initializers, which
/// makes ir_version at least 4; initializers that nothing reads any longer go.
/// Errors: kUnsupported, naming the node and what `opset` does not have: the operator, a type, an
/// attribute's value, a computed input in the place of an attribute.
/// Source: ONNX 1.23, schema histories; Changelog.md.
Result<format::Model> ToOpset(const format::Model& model, std::int64_t opset, Ledger& ledger);

/// True if `node` of opset `from` means the same in `to` as it stands, whatever its inputs are.
/// This does not look into its bodies.
bool MeansTheSame(const format::Node& node, std::int64_t from, std::int64_t to);

}  // namespace qtx::convert
