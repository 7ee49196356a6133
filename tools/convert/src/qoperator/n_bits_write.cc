#include "qoperator/n_bits_write.h"

#include <algorithm>
#include <cstring>

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Tensor;

const format::Attribute* Find(const format::Origin* origin, std::string_view name) {
  if (origin == nullptr) return nullptr;
  const auto found = std::ranges::find(origin->attributes, name, &format::Attribute::name);
  return found == origin->attributes.end() ? nullptr : &*found;
}

Tensor Bytes(std::int64_t count, format::Dims dims) {
  return {ElementType::kUint8, std::move(dims), std::nullopt,
          std::vector<std::byte>(static_cast<std::size_t>(count))};
}

// The origin's zero points, if they still match the offsets: each equals the offset, or its
// complement for a negative scale.
std::optional<std::vector<std::int32_t>> KeptOffsets(const NBitsShape& shape,
                                                     const format::Quantization& q,
                                                     const std::optional<Tensor>& zero_points) {
  const auto said = NBitsOffsets(shape, zero_points);
  if (!said.has_value()) return std::nullopt;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const auto offset = format::OffsetAt(q, b * shape.n + n);
      const auto zero = (*said)[static_cast<std::size_t>(n * shape.blocks() + b)];
      if (offset != zero && offset != shape.max_code() - zero) return std::nullopt;
    }
  }
  return *said;
}

Tensor PackedOffsets(const NBitsShape& shape, const format::Quantization& q) {
  Tensor packed = Bytes(shape.n * shape.zero_point_bytes(), {shape.n, shape.zero_point_bytes()});
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const auto offset = static_cast<unsigned>(format::OffsetAt(q, b * shape.n + n));
      const std::int64_t byte = n * shape.zero_point_bytes() + b * shape.bits / 8;
      packed.bytes[static_cast<std::size_t>(byte)] |=
          static_cast<std::byte>(offset << (b * shape.bits % 8));
    }
  }
  return packed;
}

// Which blocks, of columns, had a negative scale; and the zero points to write.
struct Signs {
  std::vector<bool> negative;
  std::optional<Tensor> zero_points;
};

Signs SignsOf(const NBitsShape& shape, const format::Quantization& q,
              const format::Origin* origin) {
  Signs signs;
  signs.negative.resize(static_cast<std::size_t>(shape.n * shape.blocks()));
  if (const format::Attribute* kept = Find(origin, kZeroPoints); kept != nullptr && kept->t) {
    if (auto tensor = format::Decode(*kept->t); tensor.has_value())
      signs.zero_points = *std::move(tensor);
  }
  const auto said = KeptOffsets(shape, q, signs.zero_points);
  if (!said) {
    signs.zero_points = PackedOffsets(shape, q);
    return signs;
  }
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const auto at = static_cast<std::size_t>(n * shape.blocks() + b);
      signs.negative[at] = format::OffsetAt(q, b * shape.n + n) != (*said)[at];
    }
  }
  return signs;
}

Tensor PackedCodes(const NBitsShape& shape, const Tensor& w, const std::vector<bool>& negative,
                   const format::Origin* origin) {
  Tensor b = Bytes(shape.n * shape.blocks() * shape.block_bytes(),
                   {shape.n, shape.blocks(), shape.block_bytes()});
  const auto mask = static_cast<unsigned>(shape.max_code());
  const auto put = [&](std::int64_t n, std::int64_t k, unsigned code) {
    const CodePlace to = PlaceOf(shape, n, k);
    b.bytes[to.byte] |= static_cast<std::byte>((code & mask) << to.shift);
  };
  for (std::int64_t k = 0; k < shape.k; ++k) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const std::int64_t bit = (k * shape.n + n) * shape.bits;
      const unsigned code =
          std::to_integer<unsigned>(w.bytes[static_cast<std::size_t>(bit / 8)]) >> (bit % 8) & mask;
      const bool turned = negative[static_cast<std::size_t>(n * shape.blocks() + k / shape.block)];
      put(n, k, turned ? mask - code : code);
    }
  }
  const format::Attribute* tail = Find(origin, kTail);
  const std::int64_t left = shape.blocks() * shape.block - shape.k;
  if (tail == nullptr || static_cast<std::int64_t>(tail->s.size()) != left * shape.n) return b;
  for (std::int64_t i = 0; i < left * shape.n; ++i) {
    put(i / left, shape.k + i % left,
        static_cast<unsigned char>(tail->s[static_cast<std::size_t>(i)]));
  }
  return b;
}

// Scales in the type they had, which must hold them.
Result<Tensor> ScalesIn(std::span<const float> scales, const format::Origin* origin) {
  Tensor tensor{ElementType::kFloat, {static_cast<std::int64_t>(scales.size())}, std::nullopt, {}};
  if (const format::Attribute* dims = Find(origin, kScalesDims)) {
    const auto count = format::ElementCount(dims->ints);
    if (count.has_value() && *count == tensor.dims[0]) tensor.dims = dims->ints;
  }
  const format::Attribute* type = Find(origin, kScalesType);
  if (type == nullptr) {
    const auto bytes = std::as_bytes(scales);
    tensor.bytes.assign(bytes.begin(), bytes.end());
    return tensor;
  }
  tensor.elem_type = type->i == static_cast<std::int64_t>(ElementType::kBfloat16)
                         ? ElementType::kBfloat16
                         : ElementType::kFloat16;
  for (const float scale : scales) {
    const std::uint32_t code = format::EncodeSmallFloat(tensor.elem_type, scale);
    if (format::DecodeSmallFloat(tensor.elem_type, code) != static_cast<double>(scale)) {
      return Error{
          ErrorCode::kUnsupported, "scale",
          format::HexFloat(scale) + " is no " + std::string(format::Name(tensor.elem_type))};
    }
    tensor.bytes.push_back(static_cast<std::byte>(code & 0xFFU));
    tensor.bytes.push_back(static_cast<std::byte>(code >> 8U));
  }
  return tensor;
}

}  // namespace

Result<NBitsInputs> PackNBits(Tensor w, const format::Origin* origin) {
  format::Quantization& q = *w.quantization;
  if (format::StorageRange(w.elem_type).min < 0) {  // code and offset move together
    const int bits = format::BitWidth(w.elem_type);
    AddHalfRange(bits, w);
    q.offset.resize(q.scale.size());
    for (std::int32_t& offset : q.offset) offset += 1 << (bits - 1);
  }
  NBitsInputs packed;
  packed.shape = {w.dims[0], w.dims[1], format::BitWidth(w.elem_type), q.block_shape[0]};
  const NBitsShape& shape = packed.shape;
  const Signs signs = SignsOf(shape, q, origin);
  std::vector<float> scales;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const float scale = format::ScaleAt(q, b * shape.n + n);
      scales.push_back(signs.negative[scales.size()] ? -scale : scale);
    }
  }
  QTX_ASSIGN_OR_RETURN(packed.scales, ScalesIn(scales, origin));
  packed.b = PackedCodes(shape, w, signs.negative, origin);
  packed.zero_points = signs.zero_points;
  return packed;
}

}  // namespace qtx::convert
