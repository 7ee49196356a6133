#include "position.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace qtx::conformance {
namespace {

using Indices = std::set<std::int64_t>;

bool Mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The name of an axis of a convolution's or a pool's output.
std::string WindowAxis(std::size_t axis, std::size_t rank) {
  if (axis == 0) return "batch";
  if (axis == 1) return "channel";
  if (axis + 1 == rank) return rank == 3 ? "element" : "column";
  return axis + 2 == rank ? "row" : "plane";
}

// The name of axis `axis` of an output, in the singular.
std::string AxisName(const std::string& op, std::size_t axis, std::size_t rank) {
  if (rank >= 3 && (Mentions(op, "Conv") || Mentions(op, "Pool"))) return WindowAxis(axis, rank);
  const bool is_product = rank >= 2 && (Mentions(op, "MatMul") || op == "Gemm");
  if (is_product && axis + 2 < rank) return "batch";
  if (is_product) return axis + 1 == rank ? "column" : "row";
  return rank == 1 ? "element" : "index of axis " + std::to_string(axis);
}

// "channel 2" becomes "index 2 of axis 0" where the axis has no name.
std::string AtIndex(const std::string& axis, const std::string& index) {
  constexpr std::string_view kUnnamed = "index of";
  if (!axis.starts_with(kUnnamed)) return axis + " " + index;
  return "index " + index + " of" + axis.substr(kUnnamed.size());
}

bool Counts(const Indices& indices, std::int64_t first, std::int64_t step, std::int64_t size) {
  const std::int64_t all = (size - first + step - 1) / step;
  return std::ssize(indices) == all && std::ranges::all_of(indices, [&](std::int64_t i) {
           return i >= first && (i - first) % step == 0;
         });
}

// Indices of 0 to size - 1; empty for all of them and for what has no short name.
std::string DescribeIndices(const std::string& axis, const Indices& indices, std::int64_t size) {
  constexpr std::int64_t kFew = 3;
  if (indices.empty() || std::ssize(indices) == size) return "";
  const std::string of = " of 0 to " + std::to_string(size - 1);
  const std::int64_t first = *indices.begin();
  if (indices.size() == 1) return "only in " + AtIndex(axis, std::to_string(first)) + of;
  if (Counts(indices, first, 1, size))
    return "from " + AtIndex(axis, std::to_string(first)) + " on" + of;
  if (Counts(indices, first, 2, size) && first < 2 && size > 3) {
    return std::string("only in every ") + (first == 0 ? "even " : "odd ") + axis + of;
  }
  if (*indices.rbegin() - first + 1 == std::ssize(indices) && first == 0) {
    return "up to " + AtIndex(axis, std::to_string(*indices.rbegin())) + of;
  }
  if (std::ssize(indices) > kFew) return "";
  std::string list;
  for (const std::int64_t index : indices) {
    list += (list.empty() ? "" : ", ") + std::to_string(index);
  }
  return "only in " + AtIndex(axis, list) + of;
}

// The one group of a convolution that has all wrong channels; nullopt if there are several.
std::optional<std::string> DescribeGroup(const format::Node& node, const Indices& channels,
                                         std::int64_t size) {
  const std::int64_t count = node.IntOr("group", 1);
  if (!Mentions(node.op_type, "Conv") || count < 2 || size % count != 0) return std::nullopt;
  Indices wrong;
  for (const std::int64_t channel : channels) wrong.insert(channel / (size / count));
  const std::string says = DescribeIndices("group", wrong, count);
  return says.empty() ? std::nullopt : std::optional(says);
}

}  // namespace

std::string DescribePositions(const format::Node& node, const format::Dims& dims,
                              const std::set<std::int64_t>& wrong) {
  const format::Dims strides = format::RowMajorStrides(dims);
  std::string says;
  std::int64_t covered = 1;  // elements of the box that the axes' indices span
  std::int64_t all = 1;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    Indices indices;
    for (const std::int64_t i : wrong) indices.insert(i / strides[axis] % dims[axis]);
    covered *= std::ssize(indices);
    all *= dims[axis];
    std::string one =
        DescribeIndices(AxisName(node.op_type, axis, dims.size()), indices, dims[axis]);
    if (axis == 1) {
      if (const auto group = DescribeGroup(node, indices, dims[axis])) {
        one.insert(0, *group + ", ");
      }
    }
    if (one.ends_with(", ")) one.resize(one.size() - 2);
    if (!one.empty()) says += (says.empty() ? "" : " and ") + one;
  }
  if (wrong.empty() || std::ssize(wrong) == all) return "";
  if (!says.empty() && covered == std::ssize(wrong)) return says;
  const std::string flat = DescribeIndices("element", wrong, all);
  return flat.empty() ? says : flat;
}

}  // namespace qtx::conformance
