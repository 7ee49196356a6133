#include "qoperator/n_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "errors.h"
#include "qoperator/constants.h"
#include "qoperator/operators.h"
#include "qoperator/product_bias.h"
#include "qtx/format/attributes.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::Tensor;
using MaybeLift = std::optional<Lift>;

Result<NBitsShape> ShapeOf(const Node& node) {
  const format::Attributes attributes(node);
  const NBitsShape shape{attributes.Int("K"), attributes.Int("N"), attributes.Int("bits"),
                         attributes.Int("block_size")};
  if (shape.bits != 2 && shape.bits != 4 && shape.bits != 8)
    return Invalid("attribute 'bits'",
                   "found " + std::to_string(shape.bits) + ", expected 2, 4, 8");
  if (shape.block < 16 || shape.block > (1 << 16) ||
      !std::has_single_bit(static_cast<std::uint64_t>(shape.block)))
    return Invalid("attribute 'block_size'", "found " + std::to_string(shape.block) +
                                                 ", expected a power of two of at least 16");
  // Ensures that counts of codes and bytes fit 64 bits.
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (shape.k < 1 || shape.n < 1 || shape.k >= kMost || shape.n >= kMost)
    return Invalid("attributes 'K' and 'N'",
                   "found " + std::to_string(shape.k) + " and " + std::to_string(shape.n));
  if (shape.n > format::kMaxElements / (shape.blocks() * shape.block))
    return Error{ErrorCode::kTooLarge, "attributes 'K' and 'N'",
                 "more codes than a tensor may have"};
  return shape;
}

Result<void> CheckCount(const Tensor& tensor, std::int64_t expected, const std::string& name) {
  const std::int64_t found = format::ElementCount(tensor);
  if (found == expected) return {};
  return Invalid("'" + name + "'", "found " + std::to_string(found) + " values, expected " +
                                       std::to_string(expected));
}

ElementType StorageOfBits(std::int64_t bits) {
  return bits == 2 ? ElementType::kUint2 : bits == 4 ? ElementType::kUint4 : ElementType::kUint8;
}

// Scales in the order of the parameters of W, blocks before columns. A negative one is made
// positive by taking the complements of its codes and of its offset:
//   s * (code - z) = -s * ((max - code) - (max - z)).
struct NBitsParameters {
  QdqParameters type;
  std::vector<bool> complement;
};

Result<NBitsParameters> ParametersOf(const NBitsShape& shape, const std::vector<float>& scales,
                                     const std::vector<std::int32_t>& offsets) {
  NBitsParameters result{{*format::QuantizedOf(StorageOfBits(shape.bits)), {}}, {}};
  format::Quantization& q = result.type.quantization;
  q.axis = {0, 1};
  q.block_shape = {shape.block, 1};
  for (std::int64_t b = 0; b < shape.blocks(); ++b) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const auto at = static_cast<std::size_t>(n * shape.blocks() + b);
      const float scale = scales[at];
      if (!std::isfinite(scale) || scale == 0)
        return Error{ErrorCode::kUnsupported, "scale " + std::to_string(at),
                     "found " + format::HexFloat(scale) + ", which no quantized type has"};
      q.scale.push_back(std::abs(scale));
      q.offset.push_back(scale > 0 ? offsets[at]
                                   : static_cast<std::int32_t>(shape.max_code()) - offsets[at]);
      result.complement.push_back(scale < 0);
    }
  }
  return result;
}

Tensor Transposed(const NBitsShape& shape, const Tensor& b, const std::vector<bool>& complement) {
  Tensor w{StorageOfBits(shape.bits), {shape.k, shape.n}, std::nullopt, {}};
  w.bytes.resize(static_cast<std::size_t>((shape.k * shape.n * shape.bits + 7) / 8));
  const auto mask = static_cast<unsigned>(shape.max_code());
  for (std::int64_t k = 0; k < shape.k; ++k) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const CodePlace from = PlaceOf(shape, n, k);
      unsigned code = std::to_integer<unsigned>(b.bytes[from.byte]) >> from.shift & mask;
      if (complement[static_cast<std::size_t>(k / shape.block * shape.n + n)]) code = mask - code;
      const std::int64_t bit = (k * shape.n + n) * shape.bits;
      w.bytes[static_cast<std::size_t>(bit / 8)] |= static_cast<std::byte>(code << (bit % 8));
    }
  }
  return w;
}

// The codes past K, a byte each; empty when all are 0.
std::string TailOf(const NBitsShape& shape, const Tensor& b) {
  std::string tail;
  bool any = false;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t k = shape.k; k < shape.blocks() * shape.block; ++k) {
      const CodePlace from = PlaceOf(shape, n, k);
      const unsigned code = std::to_integer<unsigned>(b.bytes[from.byte]) >> from.shift &
                            static_cast<unsigned>(shape.max_code());
      any = any || code != 0;
      tail += static_cast<char>(code);
    }
  }
  return any ? tail : "";
}

void KeepInOrigin(const std::optional<Tensor>& zero_points, const Tensor& scales, std::string tail,
                  Node& node) {
  if (!node.origin || node.origin->framework != kOnnxFramework) return;
  auto& attributes = node.origin->attributes;
  if (zero_points) {
    Attribute attribute;
    attribute.name = kZeroPoints;
    attribute.type = format::AttributeType::kTensor;
    attribute.t = format::ToTensorData(kZeroPoints, *zero_points);
    attributes.push_back(std::move(attribute));
  }
  if (scales.elem_type != ElementType::kFloat)
    attributes.push_back(Attribute::Int(kScalesType, static_cast<std::int64_t>(scales.elem_type)));
  if (scales.dims.size() != 1) attributes.push_back(Attribute::Ints(kScalesDims, scales.dims));
  if (!tail.empty()) attributes.push_back(Attribute::String(kTail, std::move(tail)));
}

// The same reals as signed codes: code and offset move together.
void MakeSigned(const NBitsShape& shape, NewWeight& weight) {
  using enum ElementType;
  weight.stored.elem_type = shape.bits == 2 ? kInt2 : shape.bits == 4 ? kInt4 : kInt8;
  weight.parameters.elem_type = *format::QuantizedOf(weight.stored.elem_type);
  AddHalfRange(shape.bits, weight.stored);
  std::vector<std::int32_t>& offsets = weight.parameters.quantization.offset;
  for (std::int32_t& offset : offsets) offset -= static_cast<std::int32_t>(shape.default_offset());
  if (std::ranges::all_of(offsets, [](std::int32_t offset) { return offset == 0; }))
    offsets.clear();
}

bool WasSigned(const Node& node) {
  return node.origin && node.origin->framework == kOwnFramework &&
         std::ranges::find(node.origin->attributes, kSigned, &Attribute::name) !=
             node.origin->attributes.end();
}

struct Constants {
  Tensor b, scales;
  std::optional<Tensor> zero_points;
};

Result<std::optional<Constants>> ReadConstants(const LiftContext& context, const Node& node) {
  QTX_ASSIGN_OR_RETURN(auto b, context.index.Constant(InputOf(node, 1)));
  QTX_ASSIGN_OR_RETURN(auto scales, context.index.Constant(InputOf(node, 2)));
  const std::string& zero_name = InputOf(node, 3);
  QTX_ASSIGN_OR_RETURN(auto zero_points, context.index.Constant(zero_name));
  if (!b || !scales || (!zero_name.empty() && !zero_points)) {
    context.why = "its weights or their scales are computed at run time";
    return std::optional<Constants>();
  }
  return std::optional(Constants{*std::move(b), *std::move(scales), std::move(zero_points)});
}

// The quantized weights that replace B, scales and zero points.
Result<NewWeight> WeightOf(const NBitsShape& shape, const Node& node, const Constants& constants) {
  if (constants.b.elem_type != ElementType::kUint8) return Invalid("'B'", "expected UINT8");
  QTX_RETURN_IF_ERROR(
      CheckCount(constants.b, shape.n * shape.blocks() * shape.block_bytes(), InputOf(node, 1)));
  QTX_RETURN_IF_ERROR(CheckCount(constants.scales, shape.n * shape.blocks(), InputOf(node, 2)));
  const auto scales = Floats(constants.scales);
  if (!scales) return Invalid("'" + InputOf(node, 2) + "'", "expected a float type");
  auto offsets = NBitsOffsets(shape, constants.zero_points);
  if (!offsets.has_value()) return At("'" + InputOf(node, 3) + "'", offsets.error());
  auto parameters = ParametersOf(shape, *scales, *offsets);
  if (!parameters.has_value()) return At("'" + InputOf(node, 2) + "'", parameters.error());
  Tensor stored = Transposed(shape, constants.b, parameters->complement);
  return NewWeight{InputOf(node, 1), std::move(stored), std::move(parameters->type)};
}

}  // namespace

void AddHalfRange(std::int64_t bits, Tensor& stored) {
  const auto count = static_cast<std::size_t>(format::ElementCount(stored));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t top = (i + 1) * static_cast<std::size_t>(bits) - 1;
    stored.bytes[top / 8] ^= static_cast<std::byte>(1U << (top % 8));
  }
}

Result<std::vector<std::int32_t>> NBitsOffsets(const NBitsShape& shape,
                                               const std::optional<Tensor>& zero_points) {
  const auto count = static_cast<std::size_t>(shape.n * shape.blocks());
  if (!zero_points)
    return std::vector<std::int32_t>(count, static_cast<std::int32_t>(shape.default_offset()));
  std::vector<std::int32_t> offsets;
  if (zero_points->elem_type == ElementType::kUint8) {
    QTX_RETURN_IF_ERROR(CheckCount(*zero_points, shape.n * shape.zero_point_bytes(), ""));
    for (std::int64_t n = 0; n < shape.n; ++n) {
      for (std::int64_t b = 0; b < shape.blocks(); ++b) {
        const std::int64_t byte = n * shape.zero_point_bytes() + b * shape.bits / 8;
        const auto packed =
            std::to_integer<unsigned>(zero_points->bytes[static_cast<std::size_t>(byte)]);
        offsets.push_back(static_cast<std::int32_t>(packed >> (b * shape.bits % 8) &
                                                    static_cast<unsigned>(shape.max_code())));
      }
    }
    return offsets;
  }
  const auto floats = Floats(*zero_points);
  if (!floats) return Invalid("", "expected UINT8 or a float type");
  QTX_RETURN_IF_ERROR(CheckCount(*zero_points, shape.n * shape.blocks(), ""));
  for (const float value : *floats) {
    if (!(value >= 0) || value > static_cast<float>(shape.max_code()) || value != std::floor(value))
      return Error{ErrorCode::kUnsupported, "",
                   "found zero point " + format::HexFloat(value) + ", expected a stored integer"};
    offsets.push_back(static_cast<std::int32_t>(value));
  }
  return offsets;
}

Result<MaybeLift> LiftNBits(const LiftContext& context, const Node& node) {
  if (!InputOf(node, 4).empty()) {
    return Error{ErrorCode::kUnsupported, "input 'g_idx'",
                 "the rows of a block are not neighbours; no quantized type says so"};
  }
  if (node.inputs.size() < 3 || node.outputs.size() != 1)
    return Invalid("inputs", "found " + std::to_string(node.inputs.size()) + ", expected 3");
  QTX_ASSIGN_OR_RETURN(const NBitsShape shape, ShapeOf(node));
  QTX_ASSIGN_OR_RETURN(const auto constants, ReadConstants(context, node));
  if (!constants) return MaybeLift();
  QTX_ASSIGN_OR_RETURN(NewWeight weight, WeightOf(shape, node, *constants));
  if (WasSigned(node)) MakeSigned(shape, weight);
  Lift lift{PlainNode(node, "MatMul"), {}, {}, {}, {}, std::move(weight)};
  lift.node.attributes.clear();
  lift.node.inputs = {node.inputs[0], lift.weight->name};
  KeepInOrigin(constants->zero_points, constants->scales, TailOf(shape, constants->b), lift.node);
  AddBiasAfter(context, InputOf(node, 5), lift);
  return MaybeLift(std::move(lift));
}

}  // namespace qtx::convert
