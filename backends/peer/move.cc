#include "peer/move.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace qtx::backend::peer {
namespace {

std::int64_t Product(std::span<const std::int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

Result<format::Dims> Reshaped(const Reader& node, const format::Dims& from) {
  QTX_ASSIGN_OR_RETURN(format::Dims to, node.Integers(1));
  const bool keeps_zero = node.node().IntOr("allowzero", 0) == 0;
  auto open = to.end();
  std::int64_t known = 1;
  for (auto d = to.begin(); d != to.end(); ++d) {
    const auto i = static_cast<std::size_t>(d - to.begin());
    if (*d == 0 && keeps_zero && i < from.size()) *d = from[i];
    if (*d == -1 && open == to.end()) {
      open = d;
    } else if (*d < 1 || known > Product(from)) {
      return node.Invalid("shape does not fit");
    } else {
      known *= *d;
    }
  }
  if (open != to.end()) *open = Product(from) / known;
  if (Product(to) != Product(from)) return node.Invalid("shape does not fit");
  return to;
}

Result<format::Dims> Flattened(const Reader& node, const format::Dims& from) {
  std::int64_t axis = node.node().IntOr("axis", 1);
  const auto rank = static_cast<std::int64_t>(from.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return node.Invalid("axis is out of range");
  const std::span<const std::int64_t> dims(from);
  const auto split = static_cast<std::size_t>(axis);
  return format::Dims{Product(dims.first(split)), Product(dims.subspan(split))};
}

// `axes` as attribute before opset 13, as input since, counted in `rank` dimensions.
Result<std::set<std::int64_t>> AxesOf(const Reader& node, std::int64_t rank) {
  std::vector<std::int64_t> axes = node.node().IntsOr("axes", {});
  if (node.Has(1)) {
    QTX_ASSIGN_OR_RETURN(axes, node.Integers(1));
  }
  std::set<std::int64_t> result;
  for (const std::int64_t axis : axes) {
    auto normal = format::NormalizeAxis(axis, rank);
    if (!normal.has_value()) return node.Invalid(normal.error().message);
    if (!result.insert(*normal).second) return node.Invalid("an axis twice");
  }
  return result;
}

Result<format::Dims> Squeezed(const Reader& node, const format::Dims& from) {
  const bool all = !node.Has(1) && node.node().Find("axes") == nullptr;
  QTX_ASSIGN_OR_RETURN(const auto axes, AxesOf(node, static_cast<std::int64_t>(from.size())));
  format::Dims to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool drop = all ? from[i] == 1 : axes.contains(static_cast<std::int64_t>(i));
    if (drop && from[i] != 1) return node.Invalid("a squeezed axis is not 1");
    if (!drop) to.push_back(from[i]);
  }
  return to;
}

Result<format::Dims> Unsqueezed(const Reader& node, const format::Dims& from) {
  const std::size_t count = node.Has(1)
                                ? node.Integers(1).value_or(std::vector<std::int64_t>()).size()
                                : node.node().IntsOr("axes", {}).size();
  const auto rank = static_cast<std::int64_t>(from.size() + count);
  QTX_ASSIGN_OR_RETURN(const auto axes, AxesOf(node, rank));
  format::Dims to;
  auto next = from.begin();
  for (std::int64_t i = 0; i < rank; ++i) to.push_back(axes.contains(i) ? 1 : *next++);
  return to;
}

}  // namespace

Result<std::optional<format::Dims>> ReshapedDims(const Reader& node) {
  using Compute = Result<format::Dims> (*)(const Reader&, const format::Dims&);
  static const std::map<std::string_view, Compute> kOps = {
      {"Cast", [](const Reader&, const format::Dims& d) { return Result<format::Dims>(d); }},
      {"Flatten", Flattened},
      {"Identity", [](const Reader&, const format::Dims& d) { return Result<format::Dims>(d); }},
      {"Reshape", Reshaped},
      {"Squeeze", Squeezed},
      {"Unsqueeze", Unsqueezed}};
  const auto found = kOps.find(node.op());
  if (found == kOps.end()) return std::optional<format::Dims>();
  if (node.node().IntOr("saturate", 1) != 1) return node.Unsupported("saturate 0");
  QTX_RETURN_IF_ERROR(node.Understands({"allowzero", "axes", "axis", "saturate", "to"}));
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(format::Dims dims, found->second(node, x->dims()));
  return std::optional(std::move(dims));
}

Result<std::vector<std::int64_t>> PermutationOf(const Reader& node, std::int64_t rank) {
  QTX_RETURN_IF_ERROR(node.Understands({"perm"}));
  std::vector<std::int64_t> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::int64_t> perm = node.node().IntsOr("perm", {order.rbegin(), order.rend()});
  if (!std::ranges::is_permutation(perm, order)) return node.Invalid("perm is no permutation");
  return perm;
}

Result<format::Dims> Broadcast(const Reader& node, format::Dims a, format::Dims b) {
  const std::size_t rank = std::max(a.size(), b.size());
  a = Promoted(std::move(a), rank);
  b = Promoted(std::move(b), rank);
  for (std::size_t i = 0; i < rank; ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return node.Invalid("shapes do not broadcast");
    a[i] = std::max(a[i], b[i]);
  }
  return a;
}

format::Dims Promoted(format::Dims dims, std::size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

}  // namespace qtx::backend::peer
