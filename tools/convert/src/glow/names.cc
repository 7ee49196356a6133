#include "glow/names.h"

#include <algorithm>

namespace qtx::convert::glow {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLegal(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::string LegalName(std::string_view name) {
  std::string legal(name);
  std::ranges::replace_if(
      legal, [](char c) { return !IsLegal(c); }, '_');
  return legal.empty() || IsDigit(legal[0]) ? "A" + legal : legal;
}

std::map<std::string, std::vector<std::string>> NamesOf(const format::Graph& graph) {
  std::map<std::string, std::vector<std::string>> names;
  const auto add = [&names](const std::string& glow, const std::string& value) {
    std::vector<std::string>& values = names[glow];
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  };
  for (const format::ValueInfo& input : graph.inputs) add(LegalName(input.name) + ":0", input.name);
  for (const format::TensorData& data : graph.initializers)
    add(LegalName(data.name) + ":0", data.name);
  for (const format::Node& node : graph.nodes) {
    if (node.outputs.empty()) continue;
    const std::string name =
        LegalName(node.name.empty() ? node.op_type + "_" + node.outputs[0] : node.name);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty()) add(name + ":" + std::to_string(i), node.outputs[i]);
    }
  }
  return names;
}

}  // namespace qtx::convert::glow
