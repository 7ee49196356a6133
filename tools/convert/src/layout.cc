#include "layout.h"

#include <algorithm>
#include <cstring>

namespace qtx::convert {
namespace {

// Calls move(to, from) for every element: `to` counts up, `from` is its place in the source.
template <typename Move>
void ForEachMoved(const format::Dims& from_dims, const Permutation& perm, Move move) {
  const format::Dims strides = format::RowMajorStrides(from_dims);
  const format::Dims to_dims = Permute(from_dims, perm);
  format::Dims position(to_dims.size(), 0);
  std::int64_t count = 1;
  for (const std::int64_t dim : to_dims) count *= dim;
  std::int64_t from = 0;
  for (std::int64_t to = 0; to < count; ++to) {
    move(static_cast<std::size_t>(to), static_cast<std::size_t>(from));
    for (std::size_t axis = to_dims.size(); axis-- > 0;) {
      const std::int64_t stride = strides[static_cast<std::size_t>(perm[axis])];
      from += stride;
      if (++position[axis] < to_dims[axis]) break;
      from -= stride * to_dims[axis];
      position[axis] = 0;
    }
  }
}

}  // namespace

format::Dims Permute(std::span<const std::int64_t> dims, const Permutation& perm) {
  format::Dims result;
  for (const std::int64_t from : perm) result.push_back(dims[static_cast<std::size_t>(from)]);
  return result;
}

std::int64_t PermuteAxis(std::int64_t axis, const Permutation& perm) {
  return std::find(perm.begin(), perm.end(), axis) - perm.begin();
}

format::TensorType Permute(format::TensorType type, const Permutation& perm) {
  if (type.shape) {
    format::Shape moved;
    for (const std::int64_t from : perm)
      moved.push_back((*type.shape)[static_cast<std::size_t>(from)]);
    type.shape = std::move(moved);
  }
  if (type.quantization) {
    for (std::int64_t& axis : type.quantization->axis) axis = PermuteAxis(axis, perm);
  }
  if (type.statistics) {
    for (std::int64_t& axis : type.statistics->axis) axis = PermuteAxis(axis, perm);
  }
  return type;
}

format::TensorType InLayout(graph::Layout layout, format::TensorType own) {
  return layout == graph::Layout::kFirst ? Permute(std::move(own), NhwcToNchw()) : own;
}

const std::string& UseForm(graph::GraphBuilder& builder, graph::Forms& forms, graph::Layout layout,
                           const format::TensorType& own, const std::string& stem, bool edge) {
  std::string& name = forms.In(layout);
  if (!name.empty()) return name;
  const bool first = layout == graph::Layout::kFirst;
  name = edge ? stem : builder.Inner(stem + (first ? "/nchw" : "/nhwc"), InLayout(layout, own));
  const Permutation& perm = first ? NhwcToNchw() : NchwToNhwc();
  builder.Add(
      name,
      {"Transpose", {first ? forms.own : forms.first}, {format::Attribute::Ints("perm", perm)}},
      {name});
  return name;
}

format::Tensor Permute(const format::Tensor& tensor, const Permutation& perm) {
  format::Tensor result{tensor.elem_type, Permute(tensor.dims, perm), tensor.quantization, {}};
  if (result.quantization) {
    for (std::int64_t& axis : result.quantization->axis) axis = PermuteAxis(axis, perm);
  }
  result.bytes.resize(tensor.bytes.size());
  const auto width = static_cast<std::size_t>(format::BitWidth(tensor.elem_type)) / 8;
  if (width == 0) {  // several elements in a byte
    const std::vector<std::int64_t> source = format::UnpackIntegers(tensor);
    std::vector<std::int64_t> moved(source.size());
    ForEachMoved(tensor.dims, perm,
                 [&](std::size_t to, std::size_t from) { moved[to] = source[from]; });
    format::PackIntegers(moved, result);
    return result;
  }
  ForEachMoved(tensor.dims, perm, [&](std::size_t to, std::size_t from) {
    std::memcpy(result.bytes.data() + to * width, tensor.bytes.data() + from * width, width);
  });
  return result;
}

}  // namespace qtx::convert
