// Nodes of com.microsoft that language models have, as nodes of ai.onnx and back; those of
// quantlib's integer networks and of Brevitas, as nodes of ai.onnx.
#pragma once

#include <cstdint>
#include <optional>

#include "ledger.h"
#include "qtx/convert/convert.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The opset of ai.onnx that has every operator of the expansions: Attention, RotaryEmbedding,
/// RMSNormalization.
inline constexpr std::int64_t kExpandedOpset = 23;

/// Whether an expansion is known for the node's operator.
bool IsContribNode(const format::Node& node);

/// Whether a node of `flat` has an expansion.
bool HasExpansion(const format::Model& flat);

/// Whether it is quantlib's, in ONNX's domain, where nothing but its expansion gives it a meaning.
bool MustExpand(const format::Node& node);

/// Errors: kUnsupported for such a node that has no expansion.
Result<void> CheckMustExpand(const format::Model& flat);

/// `flat` with each such node replaced by nodes of ai.onnx that compute the same over the reals;
/// the origin of the first says what it was. The ledger names the nodes that stay, and why.
/// REQUIRES: opset kExpandedOpset or later.
format::Model ExpandContrib(const format::Model& flat, Ledger& ledger);

/// `model` with each node of its graph that goes by steps (DynamicQuantizeLSTM, QuantLSTMCell)
/// replaced by nodes of ai.onnx of which one, a Scan, has a body; nullopt where it has none. In any
/// opset from 13 on.  Errors: kUnsupported for a QuantLSTMCell that stays.
Result<std::optional<format::Model>> ExpandSteps(const format::Model& model, Ledger& ledger);

/// `flat` with the former node in the place of each group that is still what ExpandContrib makes of
/// it, and of which nothing else reads, and no type names, a value between its nodes.
format::Model CollapseContrib(const format::Model& flat, Ledger& ledger);

/// The same of ExpandSteps and `model`, whose nodes have bodies; nullopt where there is none.
std::optional<format::Model> CollapseSteps(const format::Model& model, Ledger& ledger);

}  // namespace qtx::convert
