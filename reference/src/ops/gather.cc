#include "ops/move.h"
#include "ops/registry.h"
#include "parameters.h"

namespace qtx::reference::ops {
namespace {

using format::AttributeType;
using format::Dims;

// Data's axis gives way to the axes of indices.  Source: gather.S1, gather.S2.
Result<format::Tensor> Gather(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, 0, from.size()));
  QTX_ASSIGN_OR_RETURN(std::vector<std::int64_t> indices, IndicesAt(call, 1));
  for (std::int64_t& index : indices) {
    const auto within = IndexWithin(index, from[axis]);
    if (!within.has_value()) return At(InputName(call, 1), within.error());
    index = *within;
  }
  const auto split = from.begin() + static_cast<std::ptrdiff_t>(axis);
  const Dims& named = call.inputs[1]->dims;
  Dims dims(from.begin(), split);
  dims.insert(dims.end(), named.begin(), named.end());
  dims.insert(dims.end(), split + 1, from.end());
  QTX_RETURN_IF_ERROR(CheckComputable(dims));
  const std::int64_t outer = Product(from, 0, axis);
  const std::int64_t inner = Product(from, axis + 1, from.size());
  std::vector<std::int64_t> sources;
  if (Product(dims, 0, dims.size()) == 0) return Selected(call, std::move(dims), sources);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : indices) {
      const std::int64_t start = (o * from[axis] + index) * inner;
      for (std::int64_t i = 0; i < inner; ++i) sources.push_back(start + i);
    }
  }
  return Selected(call, std::move(dims), sources);
}

constexpr AttributeRule kGatherAttributes[] = {{"axis", AttributeType::kInt}};

}  // namespace

const Operator kGather = {.op_type = "Gather",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .attributes = kGatherAttributes,
                          .run = Gather};

}  // namespace qtx::reference::ops
