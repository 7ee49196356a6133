#include "qoperator/gather_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "errors.h"
#include "qoperator/constants.h"
#include "qoperator/n_bits_write.h"
#include "qoperator/operators.h"
#include "qtx/format/attributes.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Node;
using format::Quantization;
using format::Tensor;
using MaybeLift = std::optional<Lift>;

// Attributes in the origin of a lifted node.
constexpr const char* kBlockZeroPoints = "zero_points";  // the tensor, if present
constexpr const char* kBytes = "bytes";                  // data was UINT8

struct Table {
  Tensor stored;
  std::int64_t bits = 0, axis = 0, block = 0;
  bool of_bytes = false;
};

// `packed` with the codes that its bytes hold as elements; a row begins at a byte.
Tensor Unpacked(const Tensor& packed, std::int64_t bits, std::int64_t last) {
  Tensor codes{bits == 2   ? ElementType::kUint2
               : bits == 4 ? ElementType::kUint4
                           : ElementType::kUint8,
               packed.dims,
               std::nullopt,
               {}};
  codes.dims.back() = last;
  const std::int64_t row_bytes = packed.dims.back();
  const std::int64_t rows = row_bytes == 0 ? 0 : std::ssize(packed.bytes) / row_bytes;
  codes.bytes.resize(static_cast<std::size_t>((rows * last * bits + 7) / 8));
  const unsigned mask = (1U << static_cast<unsigned>(bits)) - 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < last; ++i) {
      const std::int64_t from = row * row_bytes * 8 + i * bits, to = (row * last + i) * bits;
      const unsigned byte =
          std::to_integer<unsigned>(packed.bytes[static_cast<std::size_t>(from / 8)]);
      codes.bytes[static_cast<std::size_t>(to / 8)] |=
          static_cast<std::byte>((byte >> (from % 8) & mask) << (to % 8));
    }
  }
  return codes;
}

Result<std::optional<Table>> TableOf(const LiftContext& context, const Node& node,
                                     const Tensor& data) {
  Table table;
  table.bits = node.IntOr("bits", 4);
  table.block = node.IntOr("block_size", 128);
  table.axis = node.IntOr("quantize_axis", 1);
  table.of_bytes = data.elem_type == ElementType::kUint8;
  const auto rank = std::ssize(data.dims);
  if (table.axis < -rank || table.axis >= rank)
    return Invalid("attribute 'quantize_axis'", "found " + std::to_string(table.axis));
  if (table.axis < 0) table.axis += rank;
  if (table.of_bytes && table.bits != 2 && table.bits != 4 && table.bits != 8)
    return Invalid("attribute 'bits'",
                   "found " + std::to_string(table.bits) + ", expected 2, 4, 8");
  const std::int64_t codes = table.of_bytes ? 8 / table.bits : 1;
  if (data.dims.back() > (std::int64_t{1} << 40) / codes)
    return Error{ErrorCode::kTooLarge, "'data'", "more codes than a tensor may have"};
  table.stored = table.of_bytes ? Unpacked(data, table.bits, data.dims.back() * codes) : data;
  if (table.block == 0)
    table.block =
        std::max<std::int64_t>(table.stored.dims[static_cast<std::size_t>(table.axis)], 1);
  if (table.block < 1) return Invalid("attribute 'block_size'", "expected 0 or more");
  if (!format::QuantizedOf(table.stored.elem_type)) {
    context.why = "no quantized type stores its data";
    return std::optional<Table>();
  }
  return std::optional(std::move(table));
}

// Where scales have one value along an axis, its elements share it.
Result<Quantization> Layout(const Table& table, const Tensor& scales) {
  Quantization q;
  const Dims& dims = table.stored.dims;
  if (scales.dims.size() != dims.size())
    return Invalid("'scales'", "found " + std::to_string(scales.dims.size()) +
                                   " dimensions, expected " + std::to_string(dims.size()));
  for (std::int64_t i = 0; i < std::ssize(dims); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t block = i == table.axis ? table.block : 1;
    const std::int64_t blocks = (dims[at] + block - 1) / block;
    const bool shared = scales.dims[at] == 1 && blocks != 1;
    if (scales.dims[at] != blocks && !shared)
      return Invalid("'scales'", "found " + std::to_string(scales.dims[at]) + " along axis " +
                                     std::to_string(i) + ", expected " + std::to_string(blocks));
    q.axis.push_back(i);
    q.block_shape.push_back(shared ? dims[at] : block);
  }
  return q;
}

Result<std::vector<std::int32_t>> Offsets(const Table& table, const Tensor& scales,
                                          const std::optional<Tensor>& zero_points) {
  const auto count = static_cast<std::size_t>(format::ElementCount(scales));
  if (!zero_points) {
    const std::int32_t middle = table.of_bytes ? 1 << (table.bits - 1) : 0;
    return std::vector<std::int32_t>(count, middle);
  }
  Dims expected = scales.dims;
  if (table.of_bytes) expected.back() = (expected.back() * table.bits + 7) / 8;
  if (zero_points->dims != expected) {
    return Invalid("'zero_points'", "found shape " + format::ToString(zero_points->dims) +
                                        ", expected " + format::ToString(expected));
  }
  return format::UnpackInt32(table.of_bytes ? Unpacked(*zero_points, table.bits, scales.dims.back())
                                            : *zero_points);
}

struct GatherConstants {
  Tensor data, scales;
  std::optional<Tensor> zero_points;
};

Result<std::optional<GatherConstants>> ReadGatherConstants(const LiftContext& context,
                                                           const Node& node) {
  QTX_ASSIGN_OR_RETURN(auto data, context.index.Constant(InputOf(node, 0)));
  QTX_ASSIGN_OR_RETURN(auto scales, context.index.Constant(InputOf(node, 2)));
  QTX_ASSIGN_OR_RETURN(auto zero_points, context.index.Constant(InputOf(node, 3)));
  if (!data || !scales || (!InputOf(node, 3).empty() && !zero_points) || data->dims.empty()) {
    context.why = "its table or scales are computed at run time";
    return std::optional<GatherConstants>();
  }
  if (zero_points && zero_points->elem_type != data->elem_type)
    return Invalid("'zero_points'", "expected the type of 'data'");
  return std::optional(
      GatherConstants{*std::move(data), *std::move(scales), std::move(zero_points)});
}

void KeepForm(const GatherConstants& constants, Node& node) {
  if (!node.origin || node.origin->framework != kOnnxFramework) return;
  auto& attributes = node.origin->attributes;
  if (constants.zero_points) {
    Attribute attribute;
    attribute.name = kBlockZeroPoints;
    attribute.type = format::AttributeType::kTensor;
    attribute.t = format::ToTensorData(kBlockZeroPoints, *constants.zero_points);
    attributes.push_back(std::move(attribute));
  }
  KeepScales(constants.scales, attributes);
  if (constants.data.elem_type == ElementType::kUint8)
    attributes.push_back(Attribute::Int(kBytes, 1));
}

const Attribute* FindKept(const format::Origin& origin, std::string_view name) {
  const auto found = std::ranges::find(origin.attributes, name, &Attribute::name);
  return found == origin.attributes.end() ? nullptr : &*found;
}

// The codes as bytes, each row of which begins anew; the inverse of Unpacked.
Tensor PackedRows(const Tensor& codes) {
  const std::int64_t bits = format::BitWidth(codes.elem_type), last = codes.dims.back();
  Tensor packed{ElementType::kUint8, codes.dims, std::nullopt, {}};
  packed.dims.back() = (last * bits + 7) / 8;
  packed.bytes.resize(static_cast<std::size_t>(format::ElementCount(packed)));
  const unsigned mask = (1U << static_cast<unsigned>(bits)) - 1;
  for (std::int64_t i = 0; last > 0 && i < format::ElementCount(codes); ++i) {
    const std::int64_t from = i * bits;
    const std::int64_t to = i / last * packed.dims.back() * 8 + i % last * bits;
    const unsigned byte =
        std::to_integer<unsigned>(codes.bytes[static_cast<std::size_t>(from / 8)]);
    packed.bytes[static_cast<std::size_t>(to / 8)] |=
        static_cast<std::byte>((byte >> (from % 8) & mask) << (to % 8));
  }
  return packed;
}

}  // namespace

Result<MaybeLift> LiftGatherBlocks(const LiftContext& context, const Node& node) {
  if (node.inputs.size() < 3 || node.outputs.size() != 1)
    return Invalid("inputs", "found " + std::to_string(node.inputs.size()) + ", expected 3");
  QTX_ASSIGN_OR_RETURN(const auto constants, ReadGatherConstants(context, node));
  if (!constants) return MaybeLift();
  QTX_ASSIGN_OR_RETURN(auto table, TableOf(context, node, constants->data));
  if (!table) return MaybeLift();
  const auto scales = Floats(constants->scales);
  if (!scales) return Invalid("'scales'", "expected a float type");
  if (!std::ranges::all_of(*scales, [](float scale) { return std::isfinite(scale); }))
    return Error{ErrorCode::kUnsupported, "'scales'", "found one that is not finite"};
  QdqParameters parameters{*format::QuantizedOf(table->stored.elem_type), {}};
  QTX_ASSIGN_OR_RETURN(parameters.quantization, Layout(*table, constants->scales));
  parameters.quantization.scale = *scales;
  if (format::IsHalf(constants->scales.elem_type))
    parameters.quantization.real_type = constants->scales.elem_type;
  QTX_ASSIGN_OR_RETURN(parameters.quantization.offset,
                       Offsets(*table, constants->scales, constants->zero_points));
  if (std::ranges::all_of(parameters.quantization.offset, [](auto o) { return o == 0; }))
    parameters.quantization.offset.clear();
  Lift lift{PlainNode(node, "Gather"), {}, {}, {}, {}, {}};
  lift.node.attributes = {Attribute::Int("axis", node.IntOr("gather_axis", 0))};
  lift.node.inputs = {InputOf(node, 0), InputOf(node, 1)};
  KeepForm(*constants, lift.node);
  lift.weight = NewWeight{InputOf(node, 0), std::move(table->stored), std::move(parameters), 0};
  return MaybeLift(std::move(lift));
}

std::optional<GatherBlocksInputs> PackGatherBlocks(Tensor table, const format::Origin& origin) {
  const Quantization q = *table.quantization;
  if (format::HasBase(q) || q.axis.size() != table.dims.size()) return std::nullopt;
  const bool of_bytes = FindKept(origin, kBytes) != nullptr;
  GatherBlocksInputs inputs;
  Dims counts;
  for (std::size_t i = 0; i < table.dims.size(); ++i) {
    if (q.axis[i] != static_cast<std::int64_t>(i)) return std::nullopt;
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[i];
    counts.push_back((table.dims[i] + block - 1) / block);
  }
  auto scales = FormerScales(q.scale, q.real_type, &origin);
  if (!scales.has_value()) return std::nullopt;
  inputs.scales = *std::move(scales);
  inputs.scales.dims = counts;
  table.elem_type = format::StorageOf(table.elem_type);
  table.quantization.reset();
  std::vector<std::int32_t> offsets = q.offset;
  offsets.resize(q.scale.size());
  Tensor codes{table.elem_type, counts, std::nullopt, {}};
  codes.bytes.resize(
      (offsets.size() * static_cast<std::size_t>(format::BitWidth(codes.elem_type)) + 7) / 8);
  if (format::IsIntegerStorage(codes.elem_type)) format::PackInt32(offsets, codes);
  const std::int32_t middle = of_bytes ? 1 << (format::BitWidth(table.elem_type) - 1) : 0;
  const Attribute* kept = FindKept(origin, kBlockZeroPoints);
  if (kept != nullptr || std::ranges::any_of(offsets, [middle](auto o) { return o != middle; }))
    inputs.zero_points = of_bytes ? PackedRows(codes) : codes;
  inputs.data = of_bytes ? PackedRows(table) : std::move(table);
  return inputs;
}

}  // namespace qtx::convert
