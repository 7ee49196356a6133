#include "ops/bits.h"

namespace qtx::reference {
namespace {

// UINT64 as its two's complement, other values extended to 64 bits by their sign.
std::vector<std::uint64_t> BitsOf(const format::Tensor& tensor) {
  if (tensor.elem_type == format::ElementType::kUint64) {
    const std::span<const std::uint64_t> values = tensor.As<std::uint64_t>();
    return {values.begin(), values.end()};
  }
  const std::vector<std::int64_t> stored = format::UnpackIntegers(tensor);
  return {stored.begin(), stored.end()};
}

}  // namespace

Result<format::Tensor> RunOnBits(
    const Call& call, const std::function<std::uint64_t(std::uint64_t, std::uint64_t)>& f) {
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  const format::Dims& dims = output.tensor().dims;
  const format::Tensor& second = *call.inputs[call.inputs.size() > 1 ? 1 : 0];
  const std::vector<std::uint64_t> a = BitsOf(*call.inputs[0]);
  const std::vector<std::uint64_t> b = BitsOf(second);
  const std::vector<std::int64_t> ia = BroadcastIndices(call.inputs[0]->dims, dims);
  const std::vector<std::int64_t> ib = BroadcastIndices(second.dims, dims);
  for (std::size_t i = 0; i < ia.size(); ++i) {
    const std::uint64_t bits =
        f(a[static_cast<std::size_t>(ia[i])], b[static_cast<std::size_t>(ib[i])]);
    output.PutInteger(static_cast<std::int64_t>(i), static_cast<std::int64_t>(bits));
  }
  return output.Take();
}

}  // namespace qtx::reference
