#include "qoperator/bnb4.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "errors.h"
#include "qoperator/constants.h"
#include "qoperator/n_bits.h"
#include "qoperator/n_bits_write.h"
#include "qoperator/operators.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::Tensor;
using MaybeLift = std::optional<Lift>;
using Book = std::array<float, 16>;

// Source: bitsandbytes, as ONNX Runtime 1.32 has the values in binary32.
constexpr Book kFp4 = {0.0F,
                       0x1.555556p-8F,
                       0x1.555556p-1F,
                       1.0F,
                       0x1.555556p-2F,
                       0.5F,
                       0x1.555556p-3F,
                       0.25F,
                       -0.0F,
                       -0x1.555556p-8F,
                       -0x1.555556p-1F,
                       -1.0F,
                       -0x1.555556p-2F,
                       -0.5F,
                       -0x1.555556p-3F,
                       -0.25F};
constexpr Book kNf4 = {-1.0F,           -0x1.647362p-1F, -0x1.0cd660p-1F, -0x1.946540p-2F,
                       -0x1.23449ap-2F, -0x1.7a6a7ep-3F, -0x1.74f0e2p-4F, 0.0F,
                       0x1.45f5fep-4F,  0x1.4995c6p-3F,  0x1.f809bap-3F,  0x1.5a0674p-2F,
                       0x1.c34970p-2F,  0x1.200f56p-1F,  0x1.722766p-1F,  1.0F};

struct Bnb4Shape {
  std::int64_t k = 0, n = 0, block = 0, table = 0;
  bool transposed = true;
  std::int64_t codes() const { return k * n; }
  std::int64_t blocks() const { return (codes() + block - 1) / block; }
  bool whole() const { return k % block == 0; }  // rows are whole blocks
  const Book& book() const { return table == 0 ? kFp4 : kNf4; }
  // The code of element [row, column] of the second operand.
  std::int64_t At(std::int64_t row, std::int64_t column) const {
    return transposed ? column * k + row : row * k + column;
  }
  format::Dims dims() const { return transposed ? format::Dims{k, n} : format::Dims{n, k}; }
};

Result<Bnb4Shape> Bnb4ShapeOf(std::span<const Attribute> attributes) {
  const auto of = [&](std::string_view name, std::int64_t otherwise) {
    const auto found = std::ranges::find(attributes, name, &Attribute::name);
    return found == attributes.end() ? otherwise : found->i;
  };
  const Bnb4Shape shape{of("K", 0), of("N", 0), of("block_size", 0), of("quant_type", -1),
                        of("transB", 1) != 0};
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (shape.k < 1 || shape.n < 1 || shape.k >= kMost || shape.n >= kMost)
    return Invalid("attributes 'K' and 'N'",
                   "found " + std::to_string(shape.k) + " and " + std::to_string(shape.n));
  if (shape.n > format::kMaxElements / shape.k)
    return Error{ErrorCode::kTooLarge, "attributes 'K' and 'N'",
                 "more codes than a tensor may have"};
  if (shape.block < 16 || shape.block >= kMost ||
      !std::has_single_bit(static_cast<std::uint64_t>(shape.block)))
    return Invalid("attribute 'block_size'", "found " + std::to_string(shape.block) +
                                                 ", expected a power of two of at least 16");
  if (shape.table != 0 && shape.table != 1)
    return Invalid("attribute 'quant_type'",
                   "found " + std::to_string(shape.table) + ", expected 0 (FP4) or 1 (NF4)");
  if (!shape.whole() && shape.codes() > format::kMaxParameters)
    return Error{ErrorCode::kTooLarge, "attribute 'block_size'",
                 "rows are no whole blocks, and elements more than one value may have parameters"};
  return shape;
}

unsigned CodeAt(const Tensor& b, std::int64_t i) {
  const auto byte = std::to_integer<unsigned>(b.bytes[static_cast<std::size_t>(i / 2)]);
  return i % 2 == 0 ? byte >> 4U : byte & 15U;
}

Tensor Bnb4Codes(const Bnb4Shape& shape, const Tensor& b) {
  Tensor w{ElementType::kUint4, shape.dims(), std::nullopt, {}};
  w.bytes.resize(static_cast<std::size_t>((shape.codes() + 1) / 2));
  for (std::int64_t row = 0, i = 0; row < w.dims[0]; ++row) {
    for (std::int64_t column = 0; column < w.dims[1]; ++column, ++i) {
      const unsigned code = CodeAt(b, shape.At(row, column));
      w.bytes[static_cast<std::size_t>(i / 2)] |= static_cast<std::byte>(code << (i % 2 * 4));
    }
  }
  return w;
}

// Elements of W along each axis that share a scale.
format::Dims Bnb4Blocks(const Bnb4Shape& shape) {
  if (!shape.whole()) return {1, 1};
  return shape.transposed ? format::Dims{shape.block, 1} : format::Dims{1, shape.block};
}

// The block of each parameter, in the order of parameters.
template <typename Visit>
void ForEachParameter(const Bnb4Shape& shape, const Visit& visit) {
  const format::Dims dims = shape.dims(), blocks = Bnb4Blocks(shape);
  for (std::int64_t row = 0; row < dims[0]; row += blocks[0]) {
    for (std::int64_t column = 0; column < dims[1]; column += blocks[1])
      visit(shape.At(row, column) / shape.block);
  }
}

Result<format::Quantization> Bnb4Type(const Bnb4Shape& shape, std::span<const float> absmax) {
  format::Quantization q;
  q.axis = {0, 1};
  q.block_shape = Bnb4Blocks(shape);
  ForEachParameter(shape, [&](std::int64_t block) {
    q.scale.push_back(absmax[static_cast<std::size_t>(block)]);
  });
  for (std::size_t i = 0; i < absmax.size(); ++i) {
    if (!std::isfinite(absmax[i]))
      return Error{ErrorCode::kUnsupported, "'absmax'",
                   "found " + format::HexFloat(absmax[i]) + ", expected finite values"};
  }
  format::SetCodeBook({shape.book().begin(), shape.book().end()}, q);
  return q;
}

}  // namespace

Result<MaybeLift> LiftBnb4(const LiftContext& context, const Node& node) {
  if (node.inputs.size() < 3 || node.outputs.size() != 1)
    return Invalid("inputs", "found " + std::to_string(node.inputs.size()) + ", expected 3");
  QTX_ASSIGN_OR_RETURN(const Bnb4Shape shape, Bnb4ShapeOf(node.attributes));
  QTX_ASSIGN_OR_RETURN(const auto b, context.index.Constant(node.inputs[1]));
  QTX_ASSIGN_OR_RETURN(const auto absmax, context.index.Constant(node.inputs[2]));
  if (!b || !absmax) {
    context.why = "its weights or their absmax are computed at run time";
    return MaybeLift();
  }
  const auto factors = Floats(*absmax);
  if (b->elem_type != ElementType::kUint8 || !factors)
    return Invalid("'B' and 'absmax'", "expected UINT8 and a float type");
  if (format::ElementCount(*b) != (shape.codes() + 1) / 2 || std::ssize(*factors) != shape.blocks())
    return Invalid("'B' and 'absmax'", "found " + std::to_string(format::ElementCount(*b)) +
                                           " bytes and " + std::to_string(factors->size()) +
                                           " values, expected " +
                                           std::to_string((shape.codes() + 1) / 2) + " and " +
                                           std::to_string(shape.blocks()));
  QdqParameters parameters{ElementType::kUint4Q, {}};
  QTX_ASSIGN_OR_RETURN(parameters.quantization, Bnb4Type(shape, *factors));
  Lift lift{PlainNode(node, "MatMul"), {}, {}, {}, {}, {}};
  if (format::IsHalf(absmax->elem_type)) parameters.quantization.real_type = absmax->elem_type;
  lift.weight = NewWeight{node.inputs[1], Bnb4Codes(shape, *b), std::move(parameters), 1};
  lift.node.attributes.clear();
  lift.node.inputs = {node.inputs[0], node.inputs[1]};
  if (lift.node.origin && lift.node.origin->framework == kOnnxFramework) {
    std::vector<Attribute>& kept = lift.node.origin->attributes;
    KeepScales(*absmax, kept);
    const unsigned last = std::to_integer<unsigned>(b->bytes.back()) & 15U;
    if (shape.codes() % 2 != 0 && last != 0) kept.push_back(Attribute::Int(kTail, last));
    if (b->dims.size() != 1) kept.push_back(Attribute::Ints(kCodesDims, b->dims));
  }
  return MaybeLift(std::move(lift));
}

bool IsBnb4Weight(const format::TensorType& type, const format::Origin& origin) {
  const auto shape = Bnb4ShapeOf(origin.attributes);
  const format::Quantization& q = *type.quantization;
  return shape.has_value() && type.elem_type == ElementType::kUint4Q && !format::HasBase(q) &&
         std::ranges::equal(q.code_book, shape->book(), [](float a, float b) {
           return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
         });
}

Result<std::optional<Bnb4Inputs>> PackBnb4(const Tensor& w, const format::Origin& origin) {
  QTX_ASSIGN_OR_RETURN(const Bnb4Shape shape, Bnb4ShapeOf(origin.attributes));
  const format::Quantization& q = *w.quantization;
  if (w.dims != shape.dims() || q.axis != std::vector<std::int64_t>{0, 1} ||
      (q.block_shape.empty() ? format::Dims{1, 1} : q.block_shape) != Bnb4Blocks(shape))
    return std::optional<Bnb4Inputs>();
  std::vector<float> absmax(static_cast<std::size_t>(shape.blocks()));
  std::size_t parameter = 0;
  bool same = true;  // elements of one block have one scale
  std::vector<bool> seen(absmax.size());
  ForEachParameter(shape, [&](std::int64_t block) {
    const auto at = static_cast<std::size_t>(block);
    const float scale = q.scale[parameter++];
    same = same && (!seen[at] || absmax[at] == scale);
    seen[at] = true;
    absmax[at] = scale;
  });
  if (!same) return std::optional<Bnb4Inputs>();
  Bnb4Inputs inputs;
  const std::int64_t bytes = (shape.codes() + 1) / 2;
  inputs.b = {ElementType::kUint8,
              {bytes},
              std::nullopt,
              std::vector<std::byte>(static_cast<std::size_t>(bytes))};
  for (std::int64_t row = 0, i = 0; row < w.dims[0]; ++row) {
    for (std::int64_t column = 0; column < w.dims[1]; ++column, ++i) {
      const unsigned code =
          std::to_integer<unsigned>(w.bytes[static_cast<std::size_t>(i / 2)]) >> (i % 2 * 4) & 15U;
      const std::int64_t to = shape.At(row, column);
      inputs.b.bytes[static_cast<std::size_t>(to / 2)] |=
          static_cast<std::byte>(to % 2 == 0 ? code << 4U : code);
    }
  }
  if (const Attribute* tail = KeptAttribute(origin, kTail))
    inputs.b.bytes.back() |= static_cast<std::byte>(tail->i & 15);
  if (const Attribute* dims = KeptAttribute(origin, kCodesDims)) inputs.b.dims = dims->ints;
  QTX_ASSIGN_OR_RETURN(inputs.absmax, FormerScales(absmax, w.quantization->real_type, &origin));
  return std::optional(std::move(inputs));
}

}  // namespace qtx::convert
