// Packs the weights of a product as B of MatMulNBits.
#pragma once

#include <span>
#include <string_view>

#include "qoperator/n_bits.h"

namespace qtx::convert {

/// An attribute that an origin keeps; nullptr for none.
const format::Attribute* KeptAttribute(const format::Origin& origin, std::string_view name);

/// The type of the scales of a former MatMulNBits.
format::ElementType KeptScalesType(const format::Origin& origin);

/// Scales of type `real`, FLOAT for kUndefined, in the sizes that the origin keeps, one axis
/// without.  Errors: kUnsupported where the type does not hold them.
Result<format::Tensor> FormerScales(std::span<const float> scales, format::ElementType real,
                                    const format::Origin* origin);

struct NBitsInputs {
  NBitsShape shape;
  format::Tensor b, scales;
  std::optional<format::Tensor> zero_points;  // absent: all are the default
  std::optional<format::Tensor> g_idx;        // as the origin has it
};

/// `w` has its quantized type, signed or unsigned; `origin` is that of a former MatMulNBits, or
/// nullptr; `real` the type of A, FLOAT for kUndefined; `ordered`: its rows are in the order of the
/// origin's g_idx.
/// Errors: kUnsupported if the scales do not fit their former type, or a base is not that of a
/// zero point of type `real`.
Result<NBitsInputs> PackNBits(format::Tensor w, format::ElementType real,
                              const format::Origin* origin, bool ordered);

/// The order of rows that the g_idx of a former MatMulNBits with K `k` asks for; empty for that of
/// the rows themselves. nullopt without a g_idx.
std::optional<std::vector<std::int64_t>> FormerRowOrder(const format::Origin& origin,
                                                        std::int64_t k);

}  // namespace qtx::convert
