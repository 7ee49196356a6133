// AveragePool, GlobalAveragePool, MaxPool.
#include <algorithm>
#include <array>
#include <utility>

#include "engine/exact.h"
#include "engine/ops/conversion.h"
#include "engine/ops/reals.h"
#include "engine/ops/reduction.h"
#include "engine/window.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

struct Pool {
  const Value* x = nullptr;
  Value* y = nullptr;
  std::vector<WindowAxis> axes;
  Window window;  // the same, for one or two axes
  std::int64_t planes = 0;
};

// Calls visit(position in y, taps along y, taps along x) for each output position of a plane.
template <typename Visit>
void ForEachPosition(const Window& window, Visit visit) {
  std::int64_t position = 0;
  for (std::int64_t oy = 0; oy < window.y.out; ++oy) {
    const Taps rows = TapsAt(window.y, oy);
    for (std::int64_t ox = 0; ox < window.x.out; ++ox)
      visit(position++, rows, TapsAt(window.x, ox));
  }
}

class AveragePool : public Step {
 public:
  AveragePool(Pool pool, PerTensor input, PerTensor output, bool count_padding)
      : pool_(std::move(pool)), input_(input), output_(output), count_padding_(count_padding) {}

  Result<void> Run() override {
    const bool is_signed = pool_.x->tensor.elem_type == ElementType::kInt8Q;
    const WindowAxis& x = pool_.window.x;
    const std::int64_t in = pool_.window.y.in * x.in;
    const std::int64_t out = pool_.window.y.out * x.out;
    for (std::int64_t plane = 0; plane < pool_.planes; ++plane) {
      const std::uint8_t* stored = Bytes(pool_.x->tensor) + plane * in;
      ForEachPosition(
          pool_.window, [&](std::int64_t position, const Taps& rows, const Taps& columns) {
            std::int64_t sum = 0;
            std::int64_t inside = 0;
            for (std::int64_t r = rows.first; r < rows.end; r += rows.step) {
              for (std::int64_t c = columns.first; c < columns.end; c += columns.step, ++inside) {
                const std::uint8_t byte = stored[r * x.in + c];
                sum += is_signed ? static_cast<std::int8_t>(byte) : byte;
              }
            }
            const std::int64_t count = count_padding_ ? rows.counted * columns.counted : inside;
            Store(sum - inside * input_.offset, std::max<std::int64_t>(count, 1),
                  plane * out + position);
          });
    }
    return {};
  }

 private:
  // The mean over the reals: padding that counts is real zero.
  void Store(std::int64_t sum, std::int64_t count, std::int64_t element) {
    const std::array<Term, 1> terms{Term{static_cast<double>(sum), input_.scale}};
    const Quotient mean{terms, output_.scale, count};
    StoreInteger(pool_.y->tensor.elem_type, RoundHalfEven(mean, output_.Rounded()) + output_.offset,
                 element, pool_.y->tensor.bytes.data());
  }

  Pool pool_;
  PerTensor input_, output_;
  bool count_padding_;
};

class MaxPool : public Step {
 public:
  MaxPool(Pool pool, ByteTable table) : pool_(std::move(pool)), table_(table) {}

  Result<void> Run() override {
    // Flipping the top bit orders int8 as bytes; the conversion is monotonic, so the largest goes
    // last.
    const std::uint8_t flip = pool_.x->tensor.elem_type == ElementType::kInt8Q ? 0x80 : 0;
    const WindowAxis& x = pool_.window.x;
    const std::int64_t in = pool_.window.y.in * x.in;
    const std::int64_t out = pool_.window.y.out * x.out;
    for (std::int64_t plane = 0; plane < pool_.planes; ++plane) {
      const std::uint8_t* stored = Bytes(pool_.x->tensor) + plane * in;
      std::uint8_t* target = Bytes(pool_.y->tensor) + plane * out;
      ForEachPosition(pool_.window,
                      [&](std::int64_t position, const Taps& rows, const Taps& columns) {
                        std::uint8_t largest = 0;
                        for (std::int64_t r = rows.first; r < rows.end; r += rows.step) {
                          for (std::int64_t c = columns.first; c < columns.end; c += columns.step) {
                            largest = std::max<std::uint8_t>(largest, stored[r * x.in + c] ^ flip);
                          }
                        }
                        target[position] = table_[largest ^ flip];
                      });
    }
    return {};
  }

 private:
  Pool pool_;
  ByteTable table_;
};

bool CountsPadding(const NodePlan& node, bool global) {
  return !global && node.node().IntOr("count_include_pad", 0) != 0;
}

// Every window must reach the input: neither a maximum nor a mean of nothing has a value.
bool EveryWindowReachesInput(const WindowAxis& axis) {
  for (std::int64_t out = 0; out < axis.out; ++out) {
    if (TapsAt(axis, out).count == 0) return false;
  }
  return true;
}

Result<Pool> ReadPool(const NodePlan& node, bool global) {
  Pool pool;
  QTX_ASSIGN_OR_RETURN(pool.x, node.Input(0));
  const format::Dims& dims = pool.x->tensor.dims;
  if (dims.size() < 3) return node.Invalid("x is " + format::ToString(dims));
  const std::int64_t order = node.node().IntOr("storage_order", 0);
  if (order != 0 && order != 1) return node.Invalid("storage_order: expected 0 or 1");
  const std::vector<std::int64_t> spatial(dims.begin() + 2, dims.end());
  const auto kernel = global ? spatial : node.node().IntsOr("kernel_shape", {});
  if (kernel.size() != spatial.size()) return node.Invalid("kernel_shape does not fit x");
  QTX_ASSIGN_OR_RETURN(pool.axes, WindowAxesOf(node, spatial, kernel));
  // Only those written: what auto_pad comes to with dilations may well be more.
  const auto pads = node.node().IntsOr("pads", {});
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] >= kernel[i % kernel.size()]) {
      return node.Invalid("pads: expected less than the kernel");
    }
  }
  if (!CountsPadding(node, global) && !std::ranges::all_of(pool.axes, EveryWindowReachesInput)) {
    return node.Invalid("a window that lies wholly in the padding");
  }
  pool.planes = dims[0] * dims[1];
  QTX_ASSIGN_OR_RETURN(pool.y, node.Output(OutputDims(pool.axes, dims[0], dims[1])));
  return pool;
}

// A pool of 8-bit elements, per tensor, in one or two axes.
Result<Pool> ReadEightBitPool(const NodePlan& node, bool global) {
  QTX_ASSIGN_OR_RETURN([[maybe_unused]] const Operand x, EightBitOperand(node, 0));
  QTX_ASSIGN_OR_RETURN(Pool pool, ReadPool(node, global));
  QTX_ASSIGN_OR_RETURN(pool.window, WindowOf(node, pool.axes));
  return pool;
}

StepResult MakeAveragePool(const NodePlan& node, bool global) {
  QTX_ASSIGN_OR_RETURN(Pool pool, ReadEightBitPool(node, global));
  const auto input = PerTensorOf(pool.x->tensor);
  const auto output = PerTensorOf(pool.y->tensor);
  if (!input.has_value()) return node.Because(input.error());
  if (!output.has_value()) return node.Because(output.error());
  const int bits = format::BitWidth(pool.y->tensor.elem_type);
  if (bits != 8 && bits != 16) return node.Unsupported("an output of other than 8 or 16 bits");
  // Rounding needs (2k + 1) * count below 2^53 for 17-bit k.
  if (pool.window.y.kernel * pool.window.x.kernel > (std::int64_t{1} << 32)) {
    return node.Unsupported("a window this large");
  }
  return std::make_unique<AveragePool>(std::move(pool), *input, *output,
                                       CountsPadding(node, global));
}

// The walk over all planes of a pool for the general path.
Result<Walk> WalkOf(const NodePlan& node, const Pool& pool, bool count_padding) {
  QTX_RETURN_IF_ERROR(CheckReals(node, *pool.y));
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool.axes, count_padding));
  std::int64_t size = 1;
  for (const WindowAxis& axis : pool.axes) size *= axis.in;
  for (std::int64_t plane = 0; plane < pool.planes; ++plane) {
    walk.planes.push_back({plane * size, 0});
  }
  walk.terms *= static_cast<double>(pool.planes);
  return walk;
}

StepResult MakeGeneralAveragePool(const NodePlan& node, bool global) {
  QTX_ASSIGN_OR_RETURN(const Pool pool, ReadPool(node, global));
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool, CountsPadding(node, global)));
  Sum sum;
  sum.a = pool.x;
  return MakeSum(node, std::move(sum), std::move(walk), pool.y);
}

}  // namespace

StepResult PrepareAveragePool(const NodePlan& node) { return MakeAveragePool(node, false); }
StepResult PrepareGlobalAveragePool(const NodePlan& node) { return MakeAveragePool(node, true); }
StepResult PrepareGeneralAveragePool(const NodePlan& node) {
  return MakeGeneralAveragePool(node, false);
}
StepResult PrepareGeneralGlobalAveragePool(const NodePlan& node) {
  return MakeGeneralAveragePool(node, true);
}

StepResult PrepareMaxPool(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(Pool pool, ReadEightBitPool(node, false));
  auto table = MakeByteTable(pool.x->tensor, pool.y->tensor);
  if (!table.has_value()) return node.Because(table.error());
  return std::make_unique<MaxPool>(std::move(pool), *table);
}

StepResult PrepareGeneralMaxPool(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Pool pool, ReadPool(node, false));
  QTX_ASSIGN_OR_RETURN(Walk walk, WalkOf(node, pool, false));
  return MakeGreatest(node, pool.x, std::move(walk), pool.y);
}

}  // namespace qtx::backend::engine
