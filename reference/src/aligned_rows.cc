#include "aligned_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>

namespace qtx::reference {
namespace {

int BitsOf(std::int64_t mantissa) {
  const auto bits = static_cast<std::uint64_t>(mantissa);
  return static_cast<int>(std::bit_width(mantissa < 0 ? std::uint64_t{0} - bits : bits));
}

}  // namespace

AlignedRows::AlignedRows(const Operand& operand, const RowsView& view)
    : operand_(&operand), view_(view) {
  integers_.resize(static_cast<std::size_t>(view.rows * view.length));
  blocks_.reserve(static_cast<std::size_t>(view.rows * blocks()));
  for (std::int64_t row = 0; row < view.rows; ++row) {
    for (std::int64_t k = 0; k < view.length; k += kBlock) {
      Align(row, k, std::min(k + kBlock, view.length));
    }
  }
}

void AlignedRows::Align(std::int64_t row, std::int64_t begin, std::int64_t end) {
  std::array<Dyadic, kBlock> values;
  Block block{std::numeric_limits<std::int32_t>::max(), 0};
  for (std::int64_t k = begin; k < end; ++k) {
    Dyadic& value = values[static_cast<std::size_t>(k - begin)];
    value = operand_->exact(view_.At(row, k));
    if (value.kind != Dyadic::Kind::kFinite) block.bits = kBits + 1;
    if (value.mantissa != 0) block.exponent = std::min(block.exponent, value.exponent);
  }
  for (const Dyadic& value : std::span(values).first(static_cast<std::size_t>(end - begin))) {
    if (value.mantissa == 0) continue;
    block.bits = std::max(block.bits, BitsOf(value.mantissa) + value.exponent - block.exponent);
  }
  blocks_.push_back(block);
  if (block.bits > kBits) return;
  std::int64_t* integers = integers_.data() + row * view_.length;
  for (std::int64_t k = begin; k < end; ++k) {
    const Dyadic& value = values[static_cast<std::size_t>(k - begin)];
    // A zero may have any exponent.
    const int shift = value.mantissa == 0 ? 0 : value.exponent - block.exponent;
    integers[k] = value.mantissa * (std::int64_t{1} << shift);
  }
}

ExactSum AlignedRows::Product(const AlignedRows& a, std::int64_t i, const AlignedRows& b,
                              std::int64_t j) {
  ExactSum sum;
  const std::int64_t length = a.view_.length;
  const std::int64_t* x = a.integers_.data() + i * length;
  const std::int64_t* w = b.integers_.data() + j * length;
  const Block* a_block = a.blocks_.data() + i * a.blocks();
  const Block* b_block = b.blocks_.data() + j * b.blocks();
  for (std::int64_t k = 0; k < length; k += kBlock, ++a_block, ++b_block) {
    const std::int64_t end = std::min(k + kBlock, length);
    if (std::max(a_block->bits, b_block->bits) > kBits ||
        a_block->bits + b_block->bits + BitsOf(kBlock) > 127) {
      for (std::int64_t l = k; l < end; ++l) {
        sum.AddProduct(a.operand_->exact(a.view_.At(i, l)), b.operand_->exact(b.view_.At(j, l)));
      }
      continue;
    }
    __int128 products = 0;
    for (std::int64_t l = k; l < end; ++l) products += static_cast<__int128>(x[l]) * w[l];
    // All zeros have no exponent of their own.
    if (products != 0) sum.AddInteger(products, a_block->exponent + b_block->exponent);
  }
  return sum;
}

}  // namespace qtx::reference
