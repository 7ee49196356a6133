// How Glow names the values of an ONNX model.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert::glow {

/// Letters, digits and '_' stay, the rest become '_'; 'A' before a leading digit or nothing.
/// Source: glow lib/Support/Support.cpp, legalizeName. Names of more than 500 characters, which
/// Glow truncates and hashes, are not supported.
std::string LegalName(std::string_view name);

/// ONNX values by Glow's name: result `j` of a node is its legal name, ":" and j; a node without a
/// name is called op_type_output; inputs and constants have result 0. A name may have several
/// values: Glow then appends numbers in an order that the ONNX model does not show.
/// Source: glow include/glow/Importer/ProtobufLoader.h, loadOperatorName; Graph/NodeValue.h,
/// generateNodeOutputName.
std::map<std::string, std::vector<std::string>> NamesOf(const format::Graph& graph);

}  // namespace qtx::convert::glow
