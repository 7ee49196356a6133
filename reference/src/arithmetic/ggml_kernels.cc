#include "arithmetic/ggml_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "arithmetic/kernel_types.h"
#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "operand.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

using format::ElementType;
using format::Tensor;
using std::int64_t;

constexpr int64_t kBlockSize = 32;
constexpr std::size_t kLanes = 8;

using Codes = std::array<std::int32_t, kBlockSize>;

struct Block {
  Codes codes = {};
  float scale = 0;
};

// The binary16 nearest to `value`.
float ToHalf(float value) {
  if (std::isnan(value)) return value;
  if (std::abs(value) >= 65520.0F) {
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 1, -14) - 10;
  return std::ldexp(RoundFloat(std::ldexp(value, -unit), TieRule::kHalfEven), unit);
}

// The second where one is NaN: C's a > b ? a : b, x86's MAXPS.
float Greater(float a, float b) { return a > b ? a : b; }

bool FitsInt32(float value) { return value >= -0x1p31F && value < 0x1p31F; }

// ggml.S2: 1 / d and half away; a code beyond 8 bits, which a NaN in the block makes, keeps the low
// ones.
Block QuantizeInOrder(std::span<const float> values) {
  float greatest = 0;
  for (const float value : values) greatest = Greater(greatest, std::abs(value));
  const float step = greatest / 127;
  const float inverse = step == 0 ? 0 : 1 / step;
  Block block{.scale = ToHalf(step)};
  for (std::size_t e = 0; e < block.codes.size(); ++e) {
    const float steps = RoundFloat(values[e] * inverse, TieRule::kHalfAway);
    block.codes[e] =
        FitsInt32(steps) ? static_cast<std::int8_t>(static_cast<std::int32_t>(steps)) : 0;
  }
  return block;
}

// ggml_avx2.S1: the greatest of eight lanes, then of their halves.
float GreatestAcross(std::span<const float> values) {
  std::array<float, kLanes> greatest = {};
  for (std::size_t l = 0; l < kLanes; ++l) {
    greatest[l] = std::abs(values[l]);
    for (std::size_t e = l + kLanes; e < kBlockSize; e += kLanes) {
      greatest[l] = Greater(greatest[l], std::abs(values[e]));
    }
  }
  for (std::size_t l = 0; l < 4; ++l) greatest[l] = Greater(greatest[l + 4], greatest[l]);
  for (std::size_t l = 0; l < 2; ++l) greatest[l] = Greater(greatest[l], greatest[l + 2]);
  return Greater(greatest[0], greatest[1]);
}

// ggml_avx2.S1: 127 / greatest and half even.
Block QuantizeAcross(std::span<const float> values) {
  const float greatest = GreatestAcross(values);
  const float inverse = greatest == 0 ? 0 : 127 / greatest;
  Block block{.scale = ToHalf(greatest / 127)};
  for (std::size_t e = 0; e < block.codes.size(); ++e) {
    const float steps = values[e] * inverse;
    block.codes[e] = FitsInt32(steps) ? static_cast<std::int32_t>(std::clamp(
                                            RoundFloat(steps, TieRule::kHalfEven), -128.0F, 127.0F))
                                      : -128;
  }
  return block;
}

// ggml.S3: block after block.
float DotInOrder(std::span<const Block> x, std::span<const Block> w, bool narrow) {
  float sum = 0;
  for (std::size_t b = 0; b < x.size(); ++b) {
    std::int32_t whole = 0;
    for (std::size_t e = 0; e < kBlockSize; ++e) whole += x[b].codes[e] * w[b].codes[e];
    const auto total = static_cast<float>(whole);
    sum += narrow ? total * w[b].scale * x[b].scale : total * (w[b].scale * x[b].scale);
  }
  return sum;
}

// ggml_avx2.S2: |w| times x with the sign of w, which 8 bits hold.
std::int32_t SignedProduct(std::int32_t x, std::int32_t w) {
  return w < 0 ? -w * static_cast<std::int8_t>(-x) : w * x;
}

// ggml_avx2.S2: lane l has elements 4 l to 4 l + 3 of each block.
float DotAcross(std::span<const Block> x, std::span<const Block> w) {
  std::array<float, kLanes> sums = {};
  for (std::size_t b = 0; b < x.size(); ++b) {
    const float scale = w[b].scale * x[b].scale;
    for (std::size_t l = 0; l < kLanes; ++l) {
      std::int32_t lane = 0;
      for (std::size_t e = 4 * l; e < 4 * l + 4; ++e) {
        lane += SignedProduct(x[b].codes[e], w[b].codes[e]);
      }
      sums[l] = std::fma(scale, static_cast<float>(lane), sums[l]);
    }
  }
  for (std::size_t l = 0; l < 4; ++l) sums[l] = sums[l + 4] + sums[l];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// The axis of w that is summed; nullopt where ggml.S1 does not take operator or types.
std::optional<std::size_t> SummedAxis(const Call& call) {
  const Tensor* x = call.Input(0);
  const Tensor* w = call.Input(1);
  const bool gemm = call.node.op_type == "Gemm";
  if ((!gemm && call.node.op_type != "MatMul") || x == nullptr || w == nullptr ||
      call.outputs.empty() || !call.IsInitializer(1)) {
    return std::nullopt;
  }
  const bool has_types =
      x->elem_type == ElementType::kFloat && call.outputs[0].elem_type == ElementType::kFloat &&
      (w->elem_type == ElementType::kInt4Q || w->elem_type == ElementType::kInt8Q);
  if (!has_types || w->dims.size() != 2 || format::ElementCount(*x) == 0 ||
      format::HasBase(*w->quantization) || HasOffset(*w) || HasHalfReals(*w)) {
    return std::nullopt;
  }
  if (!gemm) return 0;
  if (call.Input(2) != nullptr || call.Int("transA") != 0 || call.Float("alpha") != 1) {
    return std::nullopt;
  }
  return call.Int("transB") == 0 ? 0 : 1;
}

// Column after column of w; nullopt where a block has no FLOAT16 scale for all of it.
std::optional<std::vector<Block>> BlocksOf(const Operand& w, std::size_t axis) {
  const format::Dims& dims = w.tensor().dims;
  const int64_t depth = dims[axis], columns = dims[1 - axis];
  const int64_t step = axis == 0 ? columns : 1, next = axis == 0 ? 1 : depth;
  if (depth % kBlockSize != 0) return std::nullopt;
  std::vector<Block> blocks;
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t k = 0; k < depth; k += kBlockSize) {
      const int64_t first = column * next + k * step;
      Block& block = blocks.emplace_back(Block{.scale = w.scale(first)});
      if (ToHalf(block.scale) != block.scale) return std::nullopt;
      for (int64_t e = 0; e < kBlockSize; ++e) {
        const int64_t element = first + e * step;
        if (w.scale(element) != block.scale) return std::nullopt;
        block.codes[static_cast<std::size_t>(e)] = w.stored(element);
      }
    }
  }
  return blocks;
}

}  // namespace

// Source: ggml.S1 to ggml.S3, ggml_avx2.S1, ggml_avx2.S2.
Result<std::optional<Tensor>> RunGgmlProduct(const Call& call) {
  const std::optional<std::size_t> axis = SummedAxis(call);
  if (!axis) return std::optional<Tensor>();
  QTX_ASSIGN_OR_RETURN(const Operand w, Operand::Make(*call.Input(1)));
  const std::optional<std::vector<Block>> weights = BlocksOf(w, *axis);
  if (!weights) return std::optional<Tensor>();
  const bool across = call.arithmetic.kernels == Arithmetic::Kernels::kGgmlAvx2;
  const bool narrow = w.tensor().elem_type == ElementType::kInt4Q;
  const auto depth = static_cast<std::size_t>(w.tensor().dims[*axis]);
  const std::size_t count = depth / kBlockSize;
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  const std::span<const float> x = call.Input(0)->As<float>();
  int64_t element = 0;
  std::vector<Block> row(count);
  for (std::size_t begin = 0; begin < x.size(); begin += depth) {
    for (std::size_t b = 0; b < count; ++b) {
      const auto values = x.subspan(begin + b * kBlockSize, kBlockSize);
      row[b] = across ? QuantizeAcross(values) : QuantizeInOrder(values);
    }
    for (std::size_t first = 0; first < weights->size(); first += count) {
      const auto column = std::span(*weights).subspan(first, count);
      y.PutFloat(element++, across ? DotAcross(row, column) : DotInOrder(row, column, narrow));
    }
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
