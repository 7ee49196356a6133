#include "qoperator/n_bits_write.h"

#include <algorithm>
#include <cstring>

#include "qtx/format/levels.h"

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

std::optional<Tensor> FindTensor(const format::Origin* origin, std::string_view name) {
  const format::Attribute* kept = Find(origin, name);
  if (kept == nullptr || !kept->t) return std::nullopt;
  auto tensor = format::Decode(*kept->t);
  return tensor.has_value() ? std::optional(*std::move(tensor)) : std::nullopt;
}

// The origin's zero points, if they still match the offsets and bases: each offset is theirs, or
// its complement for a negative scale.
std::optional<NBitsZeroPoints> KeptZeroPoints(const NBitsShape& shape,
                                              const format::Quantization& q,
                                              const std::optional<Tensor>& zero_points) {
  auto said = ReadZeroPoints(shape, zero_points);
  if (!said.has_value()) return std::nullopt;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const auto at = static_cast<std::size_t>(n * shape.blocks() + b);
      const std::int64_t parameter = b * shape.n + n;
      const auto offset = format::OffsetAt(q, parameter);
      const auto zero = said->offsets[at];
      const bool negative = offset != zero;
      if (negative && offset != shape.max_code() - zero) return std::nullopt;
      const float scale = format::ScaleAt(q, parameter);
      const float base = format::BaseAt(q, parameter);
      const float rest = said->rest[at];
      // Where a zero point is in the middle of the codes, only the base tells the sign.
      if (base != NBitsBase(scale, rest) && base != NBitsBase(-scale, rest)) return std::nullopt;
    }
  }
  return *std::move(said);
}

// FLOAT zero points z with scale * (offset - z) = base.
Result<Tensor> ZeroPointsOfBases(const NBitsShape& shape, const format::Quantization& q) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, {shape.n, shape.blocks()});
  const auto values = tensor.As<float>();
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const std::int64_t parameter = b * shape.n + n;
      const float scale = format::ScaleAt(q, parameter), base = format::BaseAt(q, parameter);
      const auto offset = static_cast<float>(format::OffsetAt(q, parameter));
      const float value = offset - base / scale;
      if (NBitsBase(scale, offset - value) != base) {
        return Error{ErrorCode::kUnsupported, "base_levels",
                     "no binary32 zero point gives the base " + format::HexFloat(base) +
                         " with the scale " + format::HexFloat(scale)};
      }
      values[static_cast<std::size_t>(n * shape.blocks() + b)] = value;
    }
  }
  return tensor;
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

// Whether a parameter was of a negative scale, of which the zero point is `zero`.
bool WasNegative(const format::Quantization& q, std::int64_t parameter, std::int32_t zero,
                 float rest) {
  if (format::OffsetAt(q, parameter) != zero) return true;
  const float base = format::BaseAt(q, parameter);
  return base != 0 && base != NBitsBase(format::ScaleAt(q, parameter), rest);
}

Result<Signs> SignsOf(const NBitsShape& shape, const format::Quantization& q,
                      const format::Origin* origin) {
  Signs signs;
  signs.negative.resize(static_cast<std::size_t>(shape.n * shape.blocks()));
  signs.zero_points = FindTensor(origin, kZeroPoints);
  const auto said = KeptZeroPoints(shape, q, signs.zero_points);
  if (!said) {
    signs.zero_points = PackedOffsets(shape, q);
    if (format::HasBase(q)) {
      QTX_ASSIGN_OR_RETURN(signs.zero_points, ZeroPointsOfBases(shape, q));
    }
    return signs;
  }
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const auto at = static_cast<std::size_t>(n * shape.blocks() + b);
      signs.negative[at] = WasNegative(q, b * shape.n + n, said->offsets[at], said->rest[at]);
    }
  }
  return signs;
}

Tensor PackedCodes(const NBitsShape& shape, const Tensor& w, const std::vector<bool>& negative,
                   const std::vector<std::int64_t>& rows, const format::Origin* origin) {
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
      const std::int64_t row = rows.empty() ? k : rows[static_cast<std::size_t>(k)];
      put(n, row, turned ? mask - code : code);
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

std::optional<std::vector<std::int64_t>> FormerRowOrder(const format::Origin& origin,
                                                        std::int64_t k) {
  const auto g_idx = FindTensor(&origin, kGIdx);
  const format::Attribute* block = Find(&origin, "block_size");
  if (!g_idx || block == nullptr || block->i < 1) return std::nullopt;
  auto order = RowOrder({.k = k, .n = 1, .bits = 1, .block = block->i}, *g_idx);
  if (order && std::ranges::is_sorted(*order)) order->clear();
  return order;
}

Result<NBitsInputs> PackNBits(Tensor w, const format::Origin* origin, bool ordered) {
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
  QTX_ASSIGN_OR_RETURN(const Signs signs, SignsOf(shape, q, origin));
  std::vector<float> scales;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const float scale = format::ScaleAt(q, b * shape.n + n);
      scales.push_back(signs.negative[scales.size()] ? -scale : scale);
    }
  }
  QTX_ASSIGN_OR_RETURN(packed.scales, ScalesIn(scales, origin));
  std::vector<std::int64_t> rows;
  if (const auto former = origin == nullptr ? std::nullopt : FormerRowOrder(*origin, shape.k)) {
    if (ordered) rows = *former;
    if (ordered || former->empty()) packed.g_idx = FindTensor(origin, kGIdx);
  }
  packed.b = PackedCodes(shape, w, signs.negative, rows, origin);
  packed.zero_points = signs.zero_points;
  return packed;
}

}  // namespace qtx::convert
