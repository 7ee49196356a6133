#include "arithmetic/ggml_super_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "arithmetic/ggml_parts.h"
#include "arithmetic/output.h"
#include "arithmetic/round.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

using format::ElementType;
using format::Tensor;
using std::int64_t;

constexpr std::size_t kSuperSize = 256;  // of a super-block
constexpr std::size_t kGroupSize = 16;   // of the elements that share a factor, or half of them
constexpr std::size_t kSumLanes = 8;

// A super-block of x: codes and a scale.
struct SuperRow {
  std::array<std::int8_t, kSuperSize> codes = {};
  std::array<std::int32_t, kSuperSize / kGroupSize> sums = {};  // of 16 codes each
  float step = 0;
};

// One of w: real = scale * factors[k / 16] * codes[k] + base * bases[k / 16].
struct SuperColumn {
  std::array<std::int16_t, kSuperSize> codes = {};  // a UINT8Q may have more than its range
  std::array<std::int32_t, kSuperSize / kGroupSize> factors = {}, bases = {};
  float scale = 0, base = 0;
};

// What tells the types apart: ggml.S5.
struct SuperKind {
  enum Name { kQ2K, kQ3K, kQ4K, kQ5K, kQ6K } name;
  int64_t shared;       // elements that share a factor
  int64_t least, most;  // factors
  int64_t most_base;    // factors of the base, from 0 on
};

std::optional<SuperKind> SuperKindOf(const Tensor& w) {
  const format::IntegerRange range = format::StoredRange(w.elem_type, *w.quantization);
  const bool has_base = HasNonzeroBase(*w.quantization);
  if (format::HasCodeBook(*w.quantization)) return std::nullopt;
  if (w.elem_type == ElementType::kUint2Q) return SuperKind{SuperKind::kQ2K, 16, 0, 15, 15};
  if (w.elem_type == ElementType::kUint4Q) return SuperKind{SuperKind::kQ4K, 32, 0, 63, 63};
  if (w.elem_type == ElementType::kUint8Q && range.max <= 31)
    return SuperKind{SuperKind::kQ5K, 32, 0, 63, 63};
  if (w.elem_type != ElementType::kInt8Q || has_base) return std::nullopt;
  if (range.min >= -4 && range.max <= 3) return SuperKind{SuperKind::kQ3K, 16, -32, 31, 63};
  if (range.min >= -32 && range.max <= 31) return SuperKind{SuperKind::kQ6K, 16, -128, 127, 63};
  return std::nullopt;
}

// ggml.S6. What is no number, and a product with an infinite inverse, is 0.
SuperRow QuantizeSuperBlock(std::span<const float> values) {
  float greatest = 0;  // the first of the greatest magnitude
  for (const float value : values) {
    if (std::abs(value) > std::abs(greatest)) greatest = value;
  }
  SuperRow row;
  if (greatest == 0) return row;
  const float inverse = -127 / greatest;
  row.step = 1 / inverse;
  for (std::size_t k = 0; k < kSuperSize; ++k) {
    const float steps = inverse * values[k];
    if (!std::isfinite(steps)) continue;
    row.codes[k] = static_cast<std::int8_t>(RoundFloat(steps, TieRule::kHalfEven));
    row.sums[k / kGroupSize] += row.codes[k];
  }
  return row;
}

std::int32_t SumOfBases(const SuperRow& x, const SuperColumn& w, std::size_t begin,
                        std::size_t end) {
  std::int32_t sum = 0;
  for (std::size_t g = begin; g < end; ++g) sum += w.bases[g] * x.sums[g];
  return sum;
}

// ggml.S7: lane l has the elements l, l + 8, l + 16, ...
std::array<std::int32_t, kSumLanes> LanesInOrder(const SuperRow& x, const SuperColumn& w) {
  std::array<std::int32_t, kSumLanes> lanes = {};
  for (std::size_t k = 0; k < kSuperSize; k += kSumLanes) {
    for (std::size_t l = 0; l < kSumLanes; ++l)
      lanes[l] += w.factors[k / kGroupSize] * x.codes[k + l] * w.codes[k + l];
  }
  return lanes;
}

float DotInOrder(std::span<const SuperRow> x, std::span<const SuperColumn> w,
                 const SuperKind& kind) {
  std::array<float, kSumLanes> sums = {};
  float sum = 0;
  for (std::size_t b = 0; b < x.size(); ++b) {
    const auto lanes = LanesInOrder(x[b], w[b]);
    const float step = w[b].scale * x[b].step, base_step = w[b].base * x[b].step;
    const float bases =
        base_step * static_cast<float>(SumOfBases(x[b], w[b], 0, kSuperSize / kGroupSize));
    if (kind.name == SuperKind::kQ2K) {
      const std::int32_t whole = std::accumulate(lanes.begin(), lanes.end(), 0);
      sum += step * static_cast<float>(whole) + bases;
      continue;
    }
    for (std::size_t l = 0; l < kSumLanes; ++l) sums[l] += step * static_cast<float>(lanes[l]);
    sum += bases;
  }
  for (const float lane : sums) sum += lane;
  return sum;
}

// ggml_avx2.S4: lane l has the elements 4 l to 4 l + 3 of each 32.
std::array<std::int32_t, kSumLanes> LanesAcross(const SuperRow& x, const SuperColumn& w,
                                                std::int32_t least) {
  std::array<std::int32_t, kSumLanes> lanes = {};
  for (std::size_t k = 0; k < kSuperSize; ++k) {
    lanes[k % 32 / 4] += w.factors[k / kGroupSize] * x.codes[k] * (w.codes[k] - least);
  }
  if (least == 0) return lanes;
  // Lane l takes the elements 32 l to 32 l + 31 back.
  for (std::size_t g = 0; g < kSuperSize / kGroupSize; ++g)
    lanes[g / 2] += least * w.factors[g] * x.sums[g];
  return lanes;
}

// Four lanes, the first and third of which are added, and the second and fourth.
float SumOfFour(const std::array<float, 4>& sums) {
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

// ggml_avx2.S5: what the base of Q4_K and Q5_K gives is held beside the lanes.
struct BaseSums {
  std::array<float, 4> fours = {};
  float one = 0;

  void Add(const SuperRow& x, const SuperColumn& w) {
    const float step = w.base * x.step;
    for (std::size_t l = 0; l < fours.size(); ++l) {
      const auto whole = static_cast<float>(SumOfBases(x, w, 4 * l, 4 * l + 4));
      fours[l] = std::fma(step, whole, fours[l]);
    }
    const auto whole = static_cast<float>(SumOfBases(x, w, 0, kSuperSize / kGroupSize));
    one = std::fma(step, whole, one);
  }
};

// ggml_avx2.S4 and S5.
float DotAcross(std::span<const SuperRow> x, std::span<const SuperColumn> w,
                const SuperKind& kind) {
  std::array<float, kSumLanes> sums = {};
  BaseSums bases;
  for (std::size_t b = 0; b < x.size(); ++b) {
    const float step = w[b].scale * x[b].step, base_step = w[b].base * x[b].step;
    const auto lanes = LanesAcross(x[b], w[b], kind.name == SuperKind::kQ6K ? -32 : 0);
    for (std::size_t l = 0; l < kSumLanes; ++l) {
      const auto whole = static_cast<float>(SumOfBases(x[b], w[b], 2 * l, 2 * l + 2));
      if (kind.name == SuperKind::kQ2K) sums[l] = std::fma(base_step, whole, sums[l]);
      sums[l] = std::fma(step, static_cast<float>(lanes[l]), sums[l]);
    }
    bases.Add(x[b], w[b]);
  }
  const float sum =
      SumOfFour({sums[4] + sums[0], sums[5] + sums[1], sums[6] + sums[2], sums[7] + sums[3]});
  if (kind.name == SuperKind::kQ4K) return sum + SumOfFour(bases.fours);
  return kind.name == SuperKind::kQ5K ? sum + bases.one : sum;
}

// The columns of w, block after block; nullopt where a factor is none that the type has.
class SuperBlockReader {
 public:
  SuperBlockReader(const Tensor& w, std::size_t axis, const SuperKind& kind,
                   const format::Factors& factors)
      : codes_(format::UnpackInt32(w)),
        kind_(kind),
        factors_(factors),
        map_(*w.quantization, w.dims),
        depth_(w.dims[axis]),
        columns_(w.dims[1 - axis]),
        step_(axis == 0 ? columns_ : 1),
        next_(axis == 0 ? 1 : depth_) {}

  std::optional<std::vector<SuperColumn>> Read() const {
    std::vector<SuperColumn> columns;
    for (int64_t j = 0; j < columns_; ++j) {
      for (int64_t k = 0; k < depth_; k += static_cast<int64_t>(kSuperSize)) {
        if (!ReadBlock(j * next_ + k * step_, columns.emplace_back())) return std::nullopt;
      }
    }
    return columns;
  }

 private:
  static float At(const std::vector<float>& values, std::size_t i) {
    return values[values.size() == 1 ? 0 : i];
  }
  static bool IsInteger(float value, int64_t least, int64_t most) {
    return value >= static_cast<float>(least) && value <= static_cast<float>(most) &&
           value == std::floor(value);
  }

  bool ReadBlock(int64_t first, SuperColumn& column) const {
    const auto begin = static_cast<std::size_t>(map_(first));
    column.scale = At(factors_.coarse_scale, begin);
    column.base = At(factors_.coarse_base, begin);
    if (ToHalf(column.scale) != column.scale || ToHalf(column.base) != column.base) return false;
    for (std::size_t k = 0; k < kSuperSize; ++k) {
      const int64_t element = first + static_cast<int64_t>(k) * step_;
      const auto i = static_cast<std::size_t>(map_(element));
      const int64_t of_shared = static_cast<int64_t>(k) / kind_.shared * kind_.shared;
      const auto shared = static_cast<std::size_t>(map_(first + of_shared * step_));
      const float factor = At(factors_.fine_scale, i), base = At(factors_.fine_base, i);
      if (At(factors_.coarse_scale, i) != column.scale ||
          At(factors_.coarse_base, i) != column.base || factor != At(factors_.fine_scale, shared) ||
          base != At(factors_.fine_base, shared) || !IsInteger(factor, kind_.least, kind_.most) ||
          !IsInteger(base, 0, kind_.most_base)) {
        return false;
      }
      column.factors[k / kGroupSize] = static_cast<std::int32_t>(factor);
      column.bases[k / kGroupSize] = static_cast<std::int32_t>(base);
      column.codes[k] = static_cast<std::int16_t>(codes_[static_cast<std::size_t>(element)]);
    }
    return true;
  }

  std::vector<std::int32_t> codes_;
  const SuperKind& kind_;
  const format::Factors& factors_;
  format::ParameterMap map_;
  int64_t depth_, columns_, step_, next_;
};

}  // namespace

// Source: ggml.S5 to ggml.S7, ggml_avx2.S4, ggml_avx2.S5.
Result<std::optional<Tensor>> RunGgmlSuperBlocks(const Call& call, std::size_t axis) {
  const Tensor& tensor = *call.Input(1);
  const std::optional<SuperKind> kind = SuperKindOf(tensor);
  const format::Factors* factors = call.FactorsOf(1);
  const auto depth = static_cast<std::size_t>(tensor.dims[axis]);
  const bool has_levels = factors != nullptr && factors->scale_levels > 1;
  if (!kind || !has_levels || depth % kSuperSize != 0) return std::optional<Tensor>();
  const std::optional<std::vector<SuperColumn>> weights =
      SuperBlockReader(tensor, axis, *kind, *factors).Read();
  if (!weights) return std::optional<Tensor>();
  const bool across = call.arithmetic.kernels == Arithmetic::Kernels::kGgmlAvx2;
  const std::size_t count = depth / kSuperSize;
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  const std::span<const float> x = call.Input(0)->As<float>();
  int64_t element = 0;
  std::vector<SuperRow> row(count);
  for (std::size_t begin = 0; begin < x.size(); begin += depth) {
    for (std::size_t b = 0; b < count; ++b)
      row[b] = QuantizeSuperBlock(x.subspan(begin + b * kSuperSize, kSuperSize));
    for (std::size_t first = 0; first < weights->size(); first += count) {
      const auto column = std::span(*weights).subspan(first, count);
      y.PutFloat(element++,
                 across ? DotAcross(row, column, *kind) : DotInOrder(row, column, *kind));
    }
  }
  return std::optional(y.Take());
}

}  // namespace qtx::reference
