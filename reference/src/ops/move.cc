#include "ops/move.h"

namespace qtx::reference {

using format::Dims;

Result<format::Tensor> Selected(const Call& call, Dims dims,
                                const std::vector<std::int64_t>& sources) {
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], std::move(dims)));
  QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0], {}, sources));
  return mover.Take();
}

std::vector<std::int64_t> StridedSources(Dims dims, Dims strides, std::int64_t start) {
  const std::int64_t count = Product(dims, 0, dims.size());
  std::vector<std::int64_t> sources;
  sources.reserve(static_cast<std::size_t>(count));
  StridedIndex index(std::move(dims), std::move(strides), start);
  for (std::int64_t i = 0; i < count; ++i, index.Next()) sources.push_back(*index);
  return sources;
}

Result<format::Tensor> Permuted(const Call& call, const Dims& view,
                                const std::vector<std::int64_t>& perm) {
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims());
  const Dims strides = format::RowMajorStrides(view);
  Dims permuted;
  Dims permuted_strides;
  for (const std::int64_t axis : perm) {
    permuted.push_back(view[static_cast<std::size_t>(axis)]);
    permuted_strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return Selected(call, std::move(dims),
                  StridedSources(std::move(permuted), std::move(permuted_strides)));
}

std::int64_t Product(const Dims& dims, std::size_t first, std::size_t last) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < last; ++i) product *= dims[i];
  return product;
}

}  // namespace qtx::reference
