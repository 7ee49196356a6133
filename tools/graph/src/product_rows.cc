#include "qtx/graph/product_rows.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "qtx/format/attributes.h"
#include "qtx/format/window.h"

namespace qtx::graph {
namespace {

using format::Dims;
using format::Node;

std::string Listed(std::string_view what, const std::vector<std::int64_t>& values) {
  std::string text = " " + std::string(what);
  for (const std::int64_t value : values)
    text += (text.back() >= '0' && text.back() <= '9' ? "," : " ") + std::to_string(value);
  return text;
}

// The attributes with their defaults, so that a node that spells them out has the same name.
std::string PatchesName(const Node& node, const Dims& kernel, std::int64_t groups) {
  const std::vector<std::int64_t> ones(kernel.size(), 1);
  const std::string auto_pad = node.StringOr("auto_pad", "NOTSET");
  return node.inputs[0] + "/patches" + Listed("kernel", kernel) +
         Listed("strides", node.IntsOr("strides", ones)) +
         Listed("dilations", node.IntsOr("dilations", ones)) +
         (auto_pad == "NOTSET"
              ? Listed("pads", node.IntsOr("pads", std::vector<std::int64_t>(2 * kernel.size())))
              : " auto_pad " + auto_pad) +
         " group " + std::to_string(groups);
}

std::optional<ProductRows> PatchesOf(const Node& node, const Dims& weights) {
  const std::int64_t groups = format::Attributes(node).Int("group");
  const Dims kernel(weights.begin() + std::min<std::ptrdiff_t>(2, std::ssize(weights)),
                    weights.end());
  if (kernel.empty() || groups < 1 || weights[0] % groups != 0 ||
      !format::CheckWindowAttributes(node, kernel.size()).has_value() ||
      !format::CheckAutoPad(node).has_value())
    return std::nullopt;
  std::int64_t size = 1;
  for (std::size_t i = 1; i < weights.size(); ++i) {
    if (weights[i] < 1 || size > std::numeric_limits<std::int32_t>::max() / weights[i])
      return std::nullopt;
    size *= weights[i];
  }
  return ProductRows{PatchesName(node, kernel, groups), size, groups};
}

}  // namespace

std::optional<ProductRows> RowsOf(const Node& node, const Dims& weights) {
  if (!format::IsOnnxDomain(node.domain) || node.inputs.size() < 2) return std::nullopt;
  if (node.op_type == "Conv") return PatchesOf(node, weights);
  const bool gemm = node.op_type == "Gemm";
  const format::Attributes attributes(node);
  if ((!gemm && node.op_type != "MatMul") || weights.size() != 2 ||
      (gemm && attributes.Int("transA") != 0))
    return std::nullopt;
  return ProductRows{node.inputs[0], weights[gemm && attributes.Int("transB") != 0 ? 1 : 0]};
}

}  // namespace qtx::graph
