#include <algorithm>
#include <numeric>

#include "ops/move.h"
#include "ops/order.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

using format::Dims;
using format::ElementType;

// Positive when `a` comes before `b` by value; NaN is greater than every number, as numpy.sort has
// it.  Source: top_k.S2, top_k.S4.
int Precedence(const Order& order, bool largest, std::int64_t a, std::int64_t b) {
  const int nan = static_cast<int>(order.IsNan(a)) - static_cast<int>(order.IsNan(b));
  const int greater = nan != 0 || order.IsNan(a) ? nan : order.Compare(a, b);
  return largest ? greater : -greater;
}

// For each output element the position along the axis that it comes from.
// Source: top_k.S1 to top_k.S3.
std::vector<std::int64_t> Positions(const Order& order, const Dims& from, std::size_t axis,
                                    std::int64_t k, bool largest) {
  const std::int64_t size = from[axis];
  const std::int64_t inner = Product(from, axis + 1, from.size());
  const std::int64_t outer = Product(from, 0, axis);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(outer * k * inner));
  if (positions.empty()) return positions;
  std::vector<std::int64_t> line(static_cast<std::size_t>(size));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      const std::int64_t start = o * size * inner + i;
      std::iota(line.begin(), line.end(), 0);
      std::partial_sort(
          line.begin(), line.begin() + k, line.end(), [&](std::int64_t a, std::int64_t b) {
            const int before = Precedence(order, largest, start + a * inner, start + b * inner);
            return before > 0 || (before == 0 && a < b);
          });
      for (std::int64_t n = 0; n < k; ++n) {
        positions[static_cast<std::size_t>((o * k + n) * inner + i)] =
            line[static_cast<std::size_t>(n)];
      }
    }
  }
  return positions;
}

// The source in x of each output element.
std::vector<std::int64_t> SourcesOf(const std::vector<std::int64_t>& positions, const Dims& from,
                                    std::size_t axis, std::int64_t k) {
  const std::int64_t inner = Product(from, axis + 1, from.size());
  std::vector<std::int64_t> sources;
  for (std::size_t e = 0; e < positions.size(); ++e) {
    const auto element = static_cast<std::int64_t>(e);
    sources.push_back((element / (k * inner) * from[axis] + positions[e]) * inner +
                      element % inner);
  }
  return sources;
}

// Source: top_k.S1 to top_k.S5.
Result<std::vector<format::Tensor>> TopK(const Call& call) {
  const Dims& from = call.inputs[0]->dims;
  const std::size_t axis = AxisOf(call, from.size());
  const std::int64_t k = IntegersAt(call, 1)[0];
  QTX_ASSIGN_OR_RETURN(const Order order, Order::Make(call, 0));
  const std::vector<std::int64_t> positions =
      Positions(order, from, axis, k, call.Int("largest") != 0);
  Dims dims = from;
  dims[axis] = k;
  std::vector<format::Tensor> outputs(call.outputs.size());
  if (call.Wants(0)) {
    QTX_ASSIGN_OR_RETURN(outputs[0], Selected(call, dims, SourcesOf(positions, from, axis, k)));
  }
  if (call.Wants(1)) {
    QTX_ASSIGN_OR_RETURN(outputs[1], format::MakeTensor(ElementType::kInt64, dims));
    std::ranges::copy(positions, outputs[1].As<std::int64_t>().begin());
  }
  return outputs;
}

}  // namespace

const Operator kTopK = {.op_type = "TopK", .run_all = TopK};

}  // namespace qtx::reference::ops
