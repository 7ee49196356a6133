#include "qoperator/n_bits_write.h"

#include <algorithm>
#include <cstring>

#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Tensor;

const format::Attribute* Find(const format::Origin* origin, std::string_view name) {
  return origin == nullptr ? nullptr : KeptAttribute(*origin, name);
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

// The origin's zero points, if they still give the offsets and bases.
bool StillHold(const NBitsShape& shape, const format::Quantization& q, ElementType real,
               const std::optional<Tensor>& zero_points) {
  if (zero_points && zero_points->elem_type != ElementType::kUint8 &&
      zero_points->elem_type != real)
    return false;
  const auto said = ReadZeroPoints(shape, zero_points);
  if (!said.has_value()) return false;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const auto at = static_cast<std::size_t>(n * shape.blocks() + b);
      const std::int64_t parameter = b * shape.n + n;
      if (format::OffsetAt(q, parameter) != said->offsets[at] ||
          format::BaseAt(q, parameter) != NBitsBase(format::ScaleAt(q, parameter), said->rest[at]))
        return false;
    }
  }
  return true;
}

// `values` as a list of type `real`.
Result<Tensor> RealTensor(std::span<const float> values, ElementType real, const char* what) {
  Tensor tensor{real, {static_cast<std::int64_t>(values.size())}, std::nullopt, {}};
  if (real == ElementType::kFloat) {
    const auto bytes = std::as_bytes(values);
    tensor.bytes.assign(bytes.begin(), bytes.end());
    return tensor;
  }
  for (const float value : values) {
    const std::uint32_t code = format::EncodeSmallFloat(real, value);
    if (format::DecodeSmallFloat(real, code) != static_cast<double>(value)) {
      return Error{ErrorCode::kUnsupported, what,
                   format::HexFloat(value) + " is no " + std::string(format::Name(real))};
    }
    tensor.bytes.push_back(static_cast<std::byte>(code & 0xFFU));
    tensor.bytes.push_back(static_cast<std::byte>(code >> 8U));
  }
  return tensor;
}

// Zero points z of type `real` with scale * (offset - z) = base.
Result<Tensor> ZeroPointsOfBases(const NBitsShape& shape, const format::Quantization& q,
                                 ElementType real) {
  std::vector<float> values;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const std::int64_t parameter = b * shape.n + n;
      const float scale = format::ScaleAt(q, parameter), base = format::BaseAt(q, parameter);
      const auto offset = static_cast<float>(format::OffsetAt(q, parameter));
      const float value = base == 0 ? offset : offset - base / scale;
      if (NBitsBase(scale, offset - value) != base) {
        return Error{ErrorCode::kUnsupported, "base_levels",
                     "no binary32 zero point gives the base " + format::HexFloat(base) +
                         " with the scale " + format::HexFloat(scale)};
      }
      values.push_back(value);
    }
  }
  QTX_ASSIGN_OR_RETURN(Tensor tensor, RealTensor(values, real, "zero point"));
  tensor.dims = {shape.n, shape.blocks()};
  return tensor;
}

Tensor PackedOffsets(const NBitsShape& shape, const format::Quantization& q) {
  Tensor packed = Bytes(shape.n * shape.zero_point_bytes(), {shape.n, shape.zero_point_bytes()});
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const auto offset = static_cast<unsigned>(format::OffsetAt(q, b * shape.n + n));
      PutBits(packed.bytes, BitOfZeroPoint(shape, n, b), shape.bits, offset);
    }
  }
  return packed;
}

Result<std::optional<Tensor>> ZeroPointsOf(const NBitsShape& shape, const format::Quantization& q,
                                           ElementType real, const format::Origin* origin) {
  auto kept = FindTensor(origin, kZeroPoints);
  if (StillHold(shape, q, real, kept)) return kept;
  if (!format::HasBase(q)) return std::optional(PackedOffsets(shape, q));
  QTX_ASSIGN_OR_RETURN(Tensor zero_points, ZeroPointsOfBases(shape, q, real));
  return std::optional(std::move(zero_points));
}

Tensor PackedCodes(const NBitsShape& shape, const Tensor& w, const std::vector<std::int64_t>& rows,
                   const format::Origin* origin) {
  Tensor b = Bytes(shape.n * shape.blocks() * shape.block_bytes(),
                   {shape.n, shape.blocks(), shape.block_bytes()});
  const std::int64_t width = format::BitWidth(w.elem_type);
  const auto put = [&](std::int64_t n, std::int64_t k, unsigned code) {
    PutBits(b.bytes, BitOfCode(shape, n, k), shape.bits, code);
  };
  for (std::int64_t k = 0; k < shape.k; ++k) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const std::int64_t row = rows.empty() ? k : rows[static_cast<std::size_t>(k)];
      put(n, row, BitsAt(w.bytes, (k * shape.n + n) * width, width));
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

// The bits of the former node where its codes and offsets have no more, else those of the storage.
std::int64_t BitsOf(const Tensor& w, const format::Origin* origin) {
  const std::int64_t width = format::BitWidth(w.elem_type);
  const format::Attribute* former = Find(origin, "bits");
  if (former == nullptr || former->i < 2 || former->i >= width) return width;
  const std::int64_t limit = std::int64_t{1} << former->i;
  const auto fits = [limit](std::int64_t code) { return code >= 0 && code < limit; };
  const bool fit = std::ranges::all_of(format::UnpackIntegers(w), fits) &&
                   std::ranges::all_of(w.quantization->offset, fits);
  return fit ? former->i : width;
}

}  // namespace

const format::Attribute* KeptAttribute(const format::Origin& origin, std::string_view name) {
  const auto found = std::ranges::find(origin.attributes, name, &format::Attribute::name);
  return found == origin.attributes.end() ? nullptr : &*found;
}

ElementType KeptScalesType(const format::Origin& origin) {
  const format::Attribute* type = KeptAttribute(origin, kScalesType);
  return type == nullptr ? ElementType::kFloat : static_cast<ElementType>(type->i);
}

Result<Tensor> FormerScales(std::span<const float> scales, ElementType real,
                            const format::Origin* origin) {
  QTX_ASSIGN_OR_RETURN(
      Tensor tensor,
      RealTensor(scales, format::IsHalf(real) ? real : ElementType::kFloat, "scale"));
  if (const format::Attribute* dims = Find(origin, kScalesDims)) {
    const auto count = format::ElementCount(dims->ints);
    if (count.has_value() && *count == tensor.dims[0]) tensor.dims = dims->ints;
  }
  return tensor;
}

std::optional<std::vector<std::int64_t>> FormerRowOrder(const format::Origin& origin,
                                                        std::int64_t k) {
  const auto g_idx = FindTensor(&origin, kGIdx);
  const format::Attribute* block = Find(&origin, "block_size");
  if (!g_idx || block == nullptr || block->i < 1) return std::nullopt;
  auto order = RowOrder({.k = k, .n = 1, .bits = 1, .block = block->i}, *g_idx);
  if (order && std::ranges::is_sorted(*order)) order->clear();
  return order;
}

Result<NBitsInputs> PackNBits(Tensor w, ElementType real, const format::Origin* origin,
                              bool ordered) {
  if (!format::IsHalf(real)) real = ElementType::kFloat;
  format::Quantization& q = *w.quantization;
  const bool is_signed = format::StorageRange(w.elem_type).min < 0;
  const int width = format::BitWidth(w.elem_type);
  if (is_signed) {  // code and offset move together
    AddHalfRange(width, w);
    q.offset.resize(q.scale.size());
    for (std::int32_t& offset : q.offset) offset += 1 << (width - 1);
  }
  NBitsInputs packed;
  packed.shape = {w.dims[0], w.dims[1], is_signed ? width : BitsOf(w, origin), q.block_shape[0]};
  const NBitsShape& shape = packed.shape;
  QTX_ASSIGN_OR_RETURN(packed.zero_points, ZeroPointsOf(shape, q, real, origin));
  std::vector<float> scales;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      scales.push_back(format::ScaleAt(q, b * shape.n + n));
    }
  }
  QTX_ASSIGN_OR_RETURN(packed.scales, FormerScales(scales, real, origin));
  std::vector<std::int64_t> rows;
  if (const auto former = origin == nullptr ? std::nullopt : FormerRowOrder(*origin, shape.k)) {
    if (ordered) rows = *former;
    if (ordered || former->empty()) packed.g_idx = FindTensor(origin, kGIdx);
  }
  packed.b = PackedCodes(shape, w, rows, origin);
  return packed;
}

}  // namespace qtx::convert
