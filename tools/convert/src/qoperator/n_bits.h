// com.microsoft.MatMulNBits: y = A * W with W of 2 to 8 bits in blocks along K.
//
//   B[n][block][byte]: K codes of column n, the first in the lowest bits of the first byte, one
//   after the other; each block begins at a byte, the last one has codes past K that mean nothing.
//   W[k, n] = scales[n][k / block_size] * (code - zero_points[n][k / block_size])
//
// zero_points: absent is 2^(bits - 1); UINT8 is packed as B is, each column from a byte on; a float
// type is one real a block. In the extended form W is [K, N], UINT8Q, UINT4Q or UINT2Q, the
// narrowest that has the codes. ONNX Runtime 1.32 documents 3, 5, 6 and 7 bits and has kernels of
// 2, 4 and 8 alone: codes of the others lie as the document has it, which no kernel confirms. Zero
// points z that are no integers are bases scale * -z, rounded to binary32: ONNX Runtime computes
// scale * code, and adds that, in binary32, whatever the type of A and scales (float_product.h).
// g_idx[k], if there, is the block of row k, and block_size rows have each: W has its rows by
// blocks then, and a Gather brings the columns of A into that order. It has K values, or one for
// each code: ONNX Runtime ignores those past K.
// Source: ONNX Runtime docs/ContribOperators.md; contrib_ops/cpu/quantization/matmul_nbits.cc.
#pragma once

#include "qoperator/lift.h"

namespace qtx::convert {

struct NBitsShape {
  std::int64_t k = 0, n = 0, bits = 0, block = 0;
  std::int64_t blocks() const { return (k + block - 1) / block; }
  std::int64_t block_bytes() const { return block * bits / 8; }
  std::int64_t zero_point_bytes() const { return (blocks() * bits + 7) / 8; }  // of a column
  std::int64_t max_code() const { return (std::int64_t{1} << bits) - 1; }
  std::int64_t default_offset() const { return std::int64_t{1} << (bits - 1); }
};

/// The first bit in B of code `k` of column `n`, and in zero points of that of block `b`.
inline std::int64_t BitOfCode(const NBitsShape& shape, std::int64_t n, std::int64_t k) {
  const std::int64_t b = k / shape.block, bit = k % shape.block * shape.bits;
  return (n * shape.blocks() + b) * shape.block_bytes() * 8 + bit;
}
inline std::int64_t BitOfZeroPoint(const NBitsShape& shape, std::int64_t n, std::int64_t b) {
  return n * shape.zero_point_bytes() * 8 + b * shape.bits;
}

/// `bits` bits, at most 8, from `bit` on, from the lowest of each byte; they may lie in two.
inline unsigned BitsAt(const std::vector<std::byte>& bytes, std::int64_t bit, std::int64_t bits) {
  const auto at = static_cast<std::size_t>(bit / 8);
  auto word = std::to_integer<unsigned>(bytes[at]);
  if (bit % 8 + bits > 8) word |= std::to_integer<unsigned>(bytes[at + 1]) << 8U;
  return word >> (bit % 8) & ((1U << bits) - 1);
}
/// Sets bits of `code` there, which are 0 before.
inline void PutBits(std::vector<std::byte>& bytes, std::int64_t bit, std::int64_t bits,
                    unsigned code) {
  const auto at = static_cast<std::size_t>(bit / 8);
  const unsigned word = (code & ((1U << bits) - 1)) << (bit % 8);
  bytes[at] |= static_cast<std::byte>(word & 0xFFU);
  if (bit % 8 + bits > 8) bytes[at + 1] |= static_cast<std::byte>(word >> 8U);
}

/// Attributes in the origin of a lifted node, for properties of its inputs that types lack.
inline constexpr const char* kZeroPoints = "zero_points";  // the tensor, if present
inline constexpr const char* kScalesType = "scales_type";  // if not FLOAT
inline constexpr const char* kScalesDims = "scales_dims";  // of scales
inline constexpr const char* kTail = "tail";               // codes past K, a byte each, if not 0
inline constexpr const char* kGIdx = "g_idx";              // the tensor, if present
inline constexpr const char* kCodesDims = "codes_dims";    // of B, where it is no list

/// Keeps type and sizes of scales among the attributes of an origin.
void KeepScales(const format::Tensor& scales, std::vector<format::Attribute>& attributes);

/// Attribute in the origin of a written node: W is signed in the extended form.
inline constexpr const char* kSigned = "signed";

/// Adds half the range modulo 2^bits to codes of 2, 4 or 8 bits, which converts between signed and
/// unsigned.  REQUIRES: `stored` has codes of `bits` bits.
void AddHalfRange(std::int64_t bits, format::Tensor& stored);

Result<std::optional<Lift>> LiftNBits(const LiftContext& context, const format::Node& node);

/// Zero points by column, then block: offset - zero point = rest, all 0 for integers.
struct NBitsZeroPoints {
  std::vector<std::int32_t> offsets;
  std::vector<float> rest;
};
/// Errors: kInvalid for a wrong size or type; kUnsupported for one that is not finite, or so small
/// or great that reals would take more than a binary64.
Result<NBitsZeroPoints> ReadZeroPoints(const NBitsShape& shape,
                                       const std::optional<format::Tensor>& zero_points);

/// The base of a block: binary32, as its type has it.
inline float NBitsBase(float scale, float rest) { return scale * rest; }

/// The order of rows by their blocks.  nullopt where blocks have other numbers of rows than those
/// of neighbours have.
std::optional<std::vector<std::int64_t>> RowOrder(const NBitsShape& shape,
                                                  const format::Tensor& g_idx);

}  // namespace qtx::convert
