#include "arithmetic/ggml_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "arithmetic/ggml_parts.h"
#include "arithmetic/ggml_super_blocks.h"
#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "qtx/format/levels.h"
#include "qtx/format/quantization.h"

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
  float base = 0;  // of w; of x what multiplies it: its scale times the sum of its codes
};

// What tells the types of w apart: ggml.S1.
enum class BlockKind { kQ4_0, kQ8_0, kWithBase, kBook };

std::optional<BlockKind> BlockKindOf(const Tensor& w) {
  const format::Quantization& q = *w.quantization;
  const bool based = HasNonzeroBase(q);
  if (format::HasCodeBook(q)) {
    const bool is_book = w.elem_type == ElementType::kUint4Q && !based;
    return is_book ? std::optional(BlockKind::kBook) : std::nullopt;
  }
  if (w.elem_type == ElementType::kInt4Q && !based) return BlockKind::kQ4_0;
  if (w.elem_type == ElementType::kInt8Q && !based) return BlockKind::kQ8_0;
  const bool five_bits =
      w.elem_type == ElementType::kUint8Q && format::StoredRange(w.elem_type, q).max <= 31;
  if (w.elem_type == ElementType::kUint4Q || five_bits) return BlockKind::kWithBase;
  return std::nullopt;
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
  std::int32_t sum = 0;
  for (std::size_t e = 0; e < block.codes.size(); ++e) {
    const float steps = RoundFloat(values[e] * inverse, TieRule::kHalfAway);
    block.codes[e] =
        FitsInt32(steps) ? static_cast<std::int8_t>(static_cast<std::int32_t>(steps)) : 0;
    sum += block.codes[e];
  }
  block.base = ToHalf(static_cast<float>(sum) * step);
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
  std::uint32_t sum = 0;  // in 32 bits that wrap
  for (std::size_t e = 0; e < block.codes.size(); ++e) {
    const float steps = RoundFloat(values[e] * inverse, TieRule::kHalfEven);
    const std::int32_t code = FitsInt32(steps) ? static_cast<std::int32_t>(steps)
                                               : std::numeric_limits<std::int32_t>::min();
    block.codes[e] = std::clamp(code, -128, 127);
    sum += static_cast<std::uint32_t>(code);
  }
  const auto total = static_cast<float>(static_cast<std::int32_t>(sum));
  block.base = ToHalf(total * (greatest / 127));
  return block;
}

std::int32_t WholeOf(const Block& x, const Block& w) {
  std::int32_t whole = 0;
  for (std::size_t e = 0; e < kBlockSize; ++e) whole += x.codes[e] * w.codes[e];
  return whole;
}

// ggml.S3, S8: block after block.
float DotInOrder(std::span<const Block> x, std::span<const Block> w, BlockKind kind) {
  float sum = 0;
  for (std::size_t b = 0; b < x.size(); ++b) {
    const auto whole = static_cast<float>(WholeOf(x[b], w[b]));
    if (kind == BlockKind::kQ4_0) {
      sum += whole * w[b].scale * x[b].scale;
      continue;
    }
    const float product = whole * (w[b].scale * x[b].scale);
    sum += kind == BlockKind::kWithBase ? product + w[b].base * x[b].base : product;
  }
  return sum;
}

// ggml_avx2.S2: |w| times x with the sign of w, which 8 bits hold.
std::int32_t SignedProduct(std::int32_t x, std::int32_t w) {
  return w < 0 ? -w * static_cast<std::int8_t>(-x) : w * x;
}

using LaneSums = std::array<float, kLanes>;

// ggml_avx2.S2: lane l has elements 4 l to 4 l + 3 of a block.
void AddBlock(const Block& x, const Block& w, LaneSums& sums) {
  const float scale = w.scale * x.scale;
  for (std::size_t l = 0; l < kLanes; ++l) {
    std::int32_t lane = 0;
    for (std::size_t e = 4 * l; e < 4 * l + 4; ++e) lane += SignedProduct(x.codes[e], w.codes[e]);
    sums[l] = std::fma(scale, static_cast<float>(lane), sums[l]);
  }
}

float OfLanes(LaneSums sums) {
  for (std::size_t l = 0; l < 4; ++l) sums[l] = sums[l + 4] + sums[l];
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// ggml_avx2.S2, S6.
float DotAcross(std::span<const Block> x, std::span<const Block> w, BlockKind kind) {
  LaneSums sums = {};
  float bases = 0;
  for (std::size_t b = 0; b < x.size(); ++b) {
    AddBlock(x[b], w[b], sums);
    bases = std::fma(w[b].base, x[b].base, bases);
  }
  return kind == BlockKind::kWithBase ? OfLanes(sums) + bases : OfLanes(sums);
}

// ggml_avx2.S7: blocks of even and of odd number apart, and a last one that has no other.
float DotOfPairs(std::span<const Block> x, std::span<const Block> w) {
  LaneSums even = {}, odd = {};
  const std::size_t paired = x.size() / 2 * 2;
  for (std::size_t b = 0; b < paired; b += 2) {
    AddBlock(x[b], w[b], even);
    AddBlock(x[b + 1], w[b + 1], odd);
  }
  for (std::size_t l = 0; l < kLanes; ++l) even[l] += odd[l];
  const float sum = OfLanes(even);
  if (paired == x.size()) return sum;
  const Block &last = x.back(), &weights = w.back();
  return std::fma(last.scale * weights.scale, static_cast<float>(WholeOf(last, weights)), sum);
}

float Dot(std::span<const Block> x, std::span<const Block> w, BlockKind kind, bool across) {
  if (!across) return DotInOrder(x, w, kind);
  return kind == BlockKind::kBook ? DotOfPairs(x, w) : DotAcross(x, w, kind);
}

// What the scales of w multiply: stored values, or those of the code book; nullopt where one of
// these is no integer of -127 to 127.
std::optional<std::vector<std::int32_t>> WeightsOf(const Tensor& w) {
  std::vector<std::int32_t> weights = format::UnpackInt32(w);
  const std::vector<float>& book = w.quantization->code_book;
  if (book.empty()) return weights;
  for (const float value : book) {
    if (value != std::floor(value) || std::abs(value) > 127) return std::nullopt;
  }
  for (std::int32_t& weight : weights)
    weight = static_cast<std::int32_t>(book[static_cast<std::size_t>(weight)]);
  return weights;
}

// A block from element `first` on, `step` elements apart; nullopt where it has no FLOAT16 scale,
// and base, for all of it.
std::optional<Block> BlockAt(const format::Quantization& q, const format::ParameterMap& map,
                             std::span<const std::int32_t> weights, int64_t first, int64_t step) {
  Block block{.scale = format::ScaleAt(q, map(first)), .base = format::BaseAt(q, map(first))};
  bool fits = ToHalf(block.scale) == block.scale && ToHalf(block.base) == block.base;
  for (int64_t e = 0; e < kBlockSize && fits; ++e) {
    const int64_t element = first + e * step, parameter = map(element);
    fits =
        format::ScaleAt(q, parameter) == block.scale && format::BaseAt(q, parameter) == block.base;
    block.codes[static_cast<std::size_t>(e)] = weights[static_cast<std::size_t>(element)];
  }
  return fits ? std::optional(block) : std::nullopt;
}

// Column after column of w; nullopt where a block is none.
std::optional<std::vector<Block>> BlocksOf(const Tensor& w, std::size_t axis) {
  const int64_t depth = w.dims[axis], columns = w.dims[1 - axis];
  const int64_t step = axis == 0 ? columns : 1, next = axis == 0 ? 1 : depth;
  const auto weights = WeightsOf(w);
  if (depth % kBlockSize != 0 || !weights) return std::nullopt;
  const format::ParameterMap map(*w.quantization, w.dims);
  std::vector<Block> blocks;
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t k = 0; k < depth; k += kBlockSize) {
      const auto block = BlockAt(*w.quantization, map, *weights, column * next + k * step, step);
      if (!block) return std::nullopt;
      blocks.push_back(*block);
    }
  }
  return blocks;
}

}  // namespace

// Source: ggml.S1 to ggml.S3, ggml.S8, ggml_avx2.S1, ggml_avx2.S2, ggml_avx2.S6, ggml_avx2.S7.
Result<std::optional<Tensor>> RunGgmlProduct(const Call& call) {
  const std::optional<std::size_t> axis = GgmlSummedAxis(call);
  if (!axis) return std::optional<Tensor>();
  QTX_ASSIGN_OR_RETURN(std::optional<Tensor> product, RunGgmlSuperBlocks(call, *axis));
  const Tensor& w = *call.Input(1);
  const std::optional<BlockKind> kind = BlockKindOf(w);
  if (product || !kind) return product;
  const std::optional<std::vector<Block>> weights = BlocksOf(w, *axis);
  if (!weights) return std::optional<Tensor>();
  const bool across = call.arithmetic.kernels == Arithmetic::Kernels::kGgmlAvx2;
  const auto depth = static_cast<std::size_t>(w.dims[*axis]);
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
      y.PutFloat(element++, Dot(row, column, *kind, across));
    }
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
