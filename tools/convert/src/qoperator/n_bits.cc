#include "qoperator/n_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "errors.h"
#include "qoperator/constants.h"
#include "qoperator/float_product.h"
#include "qoperator/operators.h"
#include "qoperator/product_bias.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"
#include "qtx/graph/graph_builder.h"

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
  if (shape.bits < 2 || shape.bits > 8)
    return Invalid("attribute 'bits'", "found " + std::to_string(shape.bits) + ", expected 2 to 8");
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
  return bits == 2 ? ElementType::kUint2 : bits <= 4 ? ElementType::kUint4 : ElementType::kUint8;
}

struct Constants {
  Tensor b, scales;
  std::optional<Tensor> zero_points, g_idx;
};

// Scales in the order of the parameters of W, blocks before columns; any sign, as files have them.
Result<QdqParameters> ParametersOf(const NBitsShape& shape, const std::vector<float>& scales,
                                   const NBitsZeroPoints& zero) {
  QdqParameters parameters{*format::QuantizedOf(StorageOfBits(shape.bits)), {}};
  format::Quantization& q = parameters.quantization;
  q.axis = {0, 1};
  q.block_shape = {shape.block, 1};
  std::vector<float> base;
  for (std::int64_t b = 0; b < shape.blocks(); ++b) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const auto at = static_cast<std::size_t>(n * shape.blocks() + b);
      base.push_back(NBitsBase(scales[at], zero.rest[at]));
      if (!std::isfinite(scales[at]) || !std::isfinite(base.back()))
        return Error{ErrorCode::kUnsupported, "scale " + std::to_string(at),
                     "found " + format::HexFloat(scales[at]) +
                         ", which with its zero point gives no finite reals"};
      q.scale.push_back(scales[at]);
      q.offset.push_back(zero.offsets[at]);
    }
  }
  if (std::ranges::any_of(base, [](float value) { return value != 0; }))
    q.base_levels = {{.value = std::move(base)}};
  return parameters;
}

// Row j of the result is row rows[j] of B, or j where there are none.
Tensor Transposed(const NBitsShape& shape, const Tensor& b, const std::vector<std::int64_t>& rows) {
  Tensor w{StorageOfBits(shape.bits), {shape.k, shape.n}, std::nullopt, {}};
  const std::int64_t width = format::BitWidth(w.elem_type);
  w.bytes.resize(static_cast<std::size_t>((shape.k * shape.n * width + 7) / 8));
  for (std::int64_t k = 0; k < shape.k; ++k) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
      const std::int64_t row = rows.empty() ? k : rows[static_cast<std::size_t>(k)];
      const unsigned code = BitsAt(b.bytes, BitOfCode(shape, n, row), shape.bits);
      PutBits(w.bytes, (k * shape.n + n) * width, width, code);
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
      const unsigned code = BitsAt(b.bytes, BitOfCode(shape, n, k), shape.bits);
      any = any || code != 0;
      tail += static_cast<char>(code);
    }
  }
  return any ? tail : "";
}

Attribute TensorAttribute(const char* name, const Tensor& tensor) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = format::AttributeType::kTensor;
  attribute.t = format::ToTensorData(name, tensor);
  return attribute;
}

void KeepInOrigin(const Constants& constants, std::string tail, Node& node) {
  if (!node.origin || node.origin->framework != kOnnxFramework) return;
  auto& attributes = node.origin->attributes;
  if (constants.zero_points)
    attributes.push_back(TensorAttribute(kZeroPoints, *constants.zero_points));
  if (constants.g_idx) attributes.push_back(TensorAttribute(kGIdx, *constants.g_idx));
  KeepScales(constants.scales, attributes);
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

Result<std::optional<Constants>> ReadConstants(const LiftContext& context, const Node& node) {
  QTX_ASSIGN_OR_RETURN(auto b, context.index.Constant(InputOf(node, 1)));
  QTX_ASSIGN_OR_RETURN(auto scales, context.index.Constant(InputOf(node, 2)));
  const std::string& zero_name = InputOf(node, 3);
  QTX_ASSIGN_OR_RETURN(auto zero_points, context.index.Constant(zero_name));
  const std::string& g_idx_name = InputOf(node, 4);
  QTX_ASSIGN_OR_RETURN(auto g_idx, context.index.Constant(g_idx_name));
  if (!b || !scales || (!zero_name.empty() && !zero_points) || (!g_idx_name.empty() && !g_idx)) {
    context.why = "its weights or their scales are computed at run time";
    return std::optional<Constants>();
  }
  return std::optional(
      Constants{*std::move(b), *std::move(scales), std::move(zero_points), std::move(g_idx)});
}

// The quantized weights that replace B, scales and zero points.
Result<NewWeight> WeightOf(const NBitsShape& shape, const Node& node, const Constants& constants,
                           const std::vector<std::int64_t>& rows) {
  if (constants.b.elem_type != ElementType::kUint8) return Invalid("'B'", "expected UINT8");
  QTX_RETURN_IF_ERROR(
      CheckCount(constants.b, shape.n * shape.blocks() * shape.block_bytes(), InputOf(node, 1)));
  QTX_RETURN_IF_ERROR(CheckCount(constants.scales, shape.n * shape.blocks(), InputOf(node, 2)));
  const auto scales = Floats(constants.scales);
  if (!scales) return Invalid("'" + InputOf(node, 2) + "'", "expected a float type");
  auto zero = ReadZeroPoints(shape, constants.zero_points);
  if (!zero.has_value()) return At("'" + InputOf(node, 3) + "'", zero.error());
  auto parameters = ParametersOf(shape, *scales, *zero);
  if (!parameters.has_value()) return At("'" + InputOf(node, 2) + "'", parameters.error());
  Tensor stored = Transposed(shape, constants.b, rows);
  // A sum with a base is in binary32, whatever the type of the scales: float_product.h.
  if (format::IsHalf(constants.scales.elem_type) && !format::HasBase(parameters->quantization))
    parameters->quantization.real_type = constants.scales.elem_type;
  return NewWeight{InputOf(node, 1), std::move(stored), *std::move(parameters), 1};
}

}  // namespace

void AddHalfRange(std::int64_t bits, Tensor& stored) {
  const auto count = static_cast<std::size_t>(format::ElementCount(stored));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t top = (i + 1) * static_cast<std::size_t>(bits) - 1;
    stored.bytes[top / 8] ^= static_cast<std::byte>(1U << (top % 8));
  }
}

void KeepScales(const Tensor& scales, std::vector<Attribute>& attributes) {
  if (scales.elem_type != ElementType::kFloat)
    attributes.push_back(Attribute::Int(kScalesType, static_cast<std::int64_t>(scales.elem_type)));
  if (scales.dims.size() != 1) attributes.push_back(Attribute::Ints(kScalesDims, scales.dims));
}

std::optional<std::vector<std::int64_t>> RowOrder(const NBitsShape& shape, const Tensor& g_idx) {
  const std::int64_t count = format::ElementCount(g_idx), padded = shape.blocks() * shape.block;
  if (g_idx.elem_type != ElementType::kInt32 || (count != shape.k && count != padded))
    return std::nullopt;
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(shape.blocks()));
  for (std::int64_t k = 0; k < shape.k; ++k) {
    const std::int32_t block = g_idx.As<std::int32_t>()[static_cast<std::size_t>(k)];
    if (block < 0 || block >= shape.blocks()) return std::nullopt;
    rows[static_cast<std::size_t>(block)].push_back(k);
  }
  std::vector<std::int64_t> order;
  for (std::int64_t b = 0; b < shape.blocks(); ++b) {
    const auto& of_block = rows[static_cast<std::size_t>(b)];
    if (std::ssize(of_block) != std::min(shape.block, shape.k - b * shape.block))
      return std::nullopt;
    order.insert(order.end(), of_block.begin(), of_block.end());
  }
  return order;
}

namespace {

std::vector<std::int32_t> PackedZeroPoints(const NBitsShape& shape, const Tensor& packed) {
  std::vector<std::int32_t> offsets;
  for (std::int64_t n = 0; n < shape.n; ++n) {
    for (std::int64_t b = 0; b < shape.blocks(); ++b) {
      const unsigned code = BitsAt(packed.bytes, BitOfZeroPoint(shape, n, b), shape.bits);
      offsets.push_back(static_cast<std::int32_t>(code));
    }
  }
  return offsets;
}

// A scale's 24 bits times 2^bits steps and the 24 of a base, the scale times a zero point of these
// magnitudes, lie within 53 (quantization.C18).
bool FitsBinary64(const NBitsShape& shape, float zero_point) {
  const float magnitude = std::abs(zero_point);
  return magnitude == 0 ||
         (magnitude >= std::ldexp(1.0F, static_cast<int>(shape.bits) - 26) && magnitude <= 0x1p28F);
}

// Integers are offsets, if all are; else the zero points are bases alone.
Result<NBitsZeroPoints> RealZeroPoints(const NBitsShape& shape, const std::vector<float>& values) {
  NBitsZeroPoints zero{{}, std::vector<float>(values.size())};
  const auto greatest = static_cast<float>(shape.max_code());
  const bool integers = std::ranges::all_of(values, [greatest](float value) {
    return value >= 0 && value <= greatest && value == std::floor(value);
  });
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || (!integers && !FitsBinary64(shape, values[i])))
      return Error{ErrorCode::kUnsupported, "",
                   "found zero point " + format::HexFloat(values[i]) +
                       ", expected 0 or a magnitude of 2^" + std::to_string(shape.bits - 26) +
                       " to 2^28, with which reals take at most 53 bits"};
    zero.offsets.push_back(integers ? static_cast<std::int32_t>(values[i]) : 0);
    if (!integers) zero.rest[i] = -values[i];
  }
  return zero;
}

// Column A[..., rows[j]] is column j of what the product reads.
void GatherColumns(const LiftContext& context, const std::vector<std::int64_t>& rows, Lift& lift) {
  const std::string& y = lift.node.outputs[0];
  Node gather;
  gather.name = lift.node.name.empty() ? "" : lift.node.name + "/Gather";
  gather.op_type = "Gather";
  const std::string order = context.names.Unique(y + "/order");
  gather.inputs = {lift.node.inputs[0], order};
  gather.outputs = {context.names.Unique(y + "/ordered")};
  gather.attributes = {Attribute::Int("axis", -1)};
  if (lift.node.origin) {
    lift.node.origin->group = y;
    gather.origin = lift.node.origin;
  }
  lift.node.inputs[0] = gather.outputs[0];
  lift.constants.push_back(format::ToTensorData(order, graph::IntsTensor(rows)));
  lift.before.push_back(std::move(gather));
}

// The reason why the node stays as it is; "" where it does not.
std::string NotLifted(const LiftContext& context, const Node& node) {
  const format::Attributes attributes(node);
  if (attributes.Int("weight_prepacked") != 0) return "its weights are packed for one device";
  const format::TensorData* b = context.index.Initializer(InputOf(node, 1));
  if (b != nullptr && std::ranges::find(b->dims, 0) != b->dims.end())
    return "its weights are left out";
  return "";
}

}  // namespace

Result<NBitsZeroPoints> ReadZeroPoints(const NBitsShape& shape,
                                       const std::optional<Tensor>& zero_points) {
  const auto count = static_cast<std::size_t>(shape.n * shape.blocks());
  NBitsZeroPoints zero{{}, std::vector<float>(count)};
  if (!zero_points) {
    zero.offsets.assign(count, static_cast<std::int32_t>(shape.default_offset()));
    return zero;
  }
  if (zero_points->elem_type == ElementType::kUint8) {
    QTX_RETURN_IF_ERROR(CheckCount(*zero_points, shape.n * shape.zero_point_bytes(), ""));
    zero.offsets = PackedZeroPoints(shape, *zero_points);
    return zero;
  }
  const auto floats = Floats(*zero_points);
  if (!floats) return Invalid("", "expected UINT8 or a float type");
  QTX_RETURN_IF_ERROR(CheckCount(*zero_points, shape.n * shape.blocks(), ""));
  return RealZeroPoints(shape, *floats);
}

Result<MaybeLift> LiftNBits(const LiftContext& context, const Node& node) {
  if (node.inputs.size() < 3 || node.outputs.size() != 1)
    return Invalid("inputs", "found " + std::to_string(node.inputs.size()) + ", expected 3");
  if (context.why = NotLifted(context, node); !context.why.empty()) return MaybeLift();
  QTX_ASSIGN_OR_RETURN(const NBitsShape shape, ShapeOf(node));
  QTX_ASSIGN_OR_RETURN(const auto constants, ReadConstants(context, node));
  if (!constants) return MaybeLift();
  std::vector<std::int64_t> rows;
  if (constants->g_idx) {
    auto order = RowOrder(shape, *constants->g_idx);
    if (!order) {
      context.why = "the blocks that its g_idx names differ in their numbers of rows";
      return MaybeLift();
    }
    if (!std::ranges::is_sorted(*order)) rows = *std::move(order);
  }
  QTX_ASSIGN_OR_RETURN(NewWeight weight, WeightOf(shape, node, *constants, rows));
  if (WasSigned(node) && shape.bits == format::BitWidth(weight.stored.elem_type))
    MakeSigned(shape, weight);
  Lift lift{PlainNode(node, "MatMul"), {}, {}, {}, {}, std::move(weight)};
  lift.node.attributes.clear();
  lift.node.inputs = {node.inputs[0], lift.weight->name};
  KeepInOrigin(*constants, TailOf(shape, constants->b), lift.node);
  if (!rows.empty()) GatherColumns(context, rows, lift);
  AddBiasAfter(context, InputOf(node, 5), lift);
  const ElementType real = constants->scales.elem_type;
  if (format::IsHalf(real) && format::HasBase(lift.weight->parameters.quantization))
    ComputeInFloat(context, real, lift);
  return MaybeLift(std::move(lift));
}

}  // namespace qtx::convert
