#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <array>
#include <utility>

#include "qtx/format/limits.h"
#include "qtx/quantization.pb.h"
#include "wire.h"
#include "wire_messages.h"

namespace qtx::format {
namespace wire {
namespace {

using WireLevels = google::protobuf::RepeatedPtrField<qtx::BlockFactors>;

std::vector<BlockFactors> ReadLevels(const WireLevels& in) {
  std::vector<BlockFactors> levels;
  for (const qtx::BlockFactors& level : in) {
    levels.push_back({.value = Vector(level.value()),
                      .tensor = level.tensor(),
                      .block_shape = Vector(level.block_shape()),
                      .unknown_fields = level.unknown_fields()});
  }
  return levels;
}

void WriteLevels(const std::vector<BlockFactors>& levels, WireLevels& out) {
  for (const BlockFactors& level : levels) {
    qtx::BlockFactors& written = *out.Add();
    Assign(level.value, written.mutable_value());
    if (!level.tensor.empty()) written.set_tensor(level.tensor);
    Assign(level.block_shape, written.mutable_block_shape());
    *written.mutable_unknown_fields() = level.unknown_fields;
  }
}

Encoding ReadEncoding(const qtx::Encoding& in) {
  Encoding encoding{.record_bytes = in.record_bytes(),
                    .record_shape = Vector(in.record_shape()),
                    .fields = {},
                    .unknown_fields = in.unknown_fields()};
  for (const qtx::EncodedField& message : in.field()) {
    EncodedField& field = encoding.fields.emplace_back();
    field.role = static_cast<EncodedRole>(message.role());
    field.level = message.level();
    field.elem_type = static_cast<ElementType>(message.elem_type());
    field.bias = message.bias();
    field.unknown_fields = message.unknown_fields();
    for (const qtx::BitSpan& span : message.bits()) {
      field.bits.push_back({.value_bit = span.value_bit(),
                            .width = span.width(),
                            .first = span.first(),
                            .record_bit = span.record_bit(),
                            .count = Vector(span.count()),
                            .stride = Vector(span.stride()),
                            .unknown_fields = span.unknown_fields()});
    }
  }
  return encoding;
}

void WriteEncoding(const Encoding& encoding, qtx::Encoding& out) {
  out.set_record_bytes(encoding.record_bytes);
  Assign(encoding.record_shape, out.mutable_record_shape());
  for (const EncodedField& field : encoding.fields) {
    qtx::EncodedField& written = *out.add_field();
    if (field.role != EncodedRole::kCode) {
      written.set_role(static_cast<qtx::EncodedField::Role>(field.role));
    }
    if (field.level != 0) written.set_level(field.level);
    written.set_elem_type(static_cast<int>(field.elem_type));
    if (field.bias != 0) written.set_bias(field.bias);
    *written.mutable_unknown_fields() = field.unknown_fields;
    for (const BitSpan& span : field.bits) {
      qtx::BitSpan& bits = *written.add_bits();
      if (span.value_bit != 0) bits.set_value_bit(span.value_bit);
      bits.set_width(span.width);
      if (span.first != 0) bits.set_first(span.first);
      if (span.record_bit != 0) bits.set_record_bit(span.record_bit);
      Assign(span.count, bits.mutable_count());
      Assign(span.stride, bits.mutable_stride());
      *bits.mutable_unknown_fields() = span.unknown_fields;
    }
  }
  *out.mutable_unknown_fields() = encoding.unknown_fields;
}

Quantization ReadQuantization(const qtx::Quantization& in) {
  Quantization q;
  q.scale = Vector(in.scale());
  q.offset = Vector(in.offset());
  q.axis = Vector(in.axis());
  q.block_shape = Vector(in.block_shape());
  q.scale_tensor = in.scale_tensor();
  q.offset_tensor = in.offset_tensor();
  if (in.has_quant_min()) q.quant_min = in.quant_min();
  if (in.has_quant_max()) q.quant_max = in.quant_max();
  q.scheme = static_cast<Scheme>(in.scheme());
  if (in.has_requantization()) {
    q.requantization = Requantization{.multiplier = Vector(in.requantization().multiplier()),
                                      .shift = Vector(in.requantization().shift())};
  }
  q.storage_type = static_cast<ElementType>(in.storage_type());
  q.scale_levels = ReadLevels(in.scale_levels());
  q.base_levels = ReadLevels(in.base_levels());
  q.must_understand = Vector(in.must_understand());
  q.code_book = Vector(in.code_book());
  q.code_book_tensor = in.code_book_tensor();
  q.real_type = static_cast<ElementType>(in.real_type());
  if (in.has_encoding()) q.encoding = ReadEncoding(in.encoding());
  q.unknown_fields = in.unknown_fields();
  return q;
}

void WriteQuantization(const Quantization& q, qtx::Quantization& out) {
  Assign(q.scale, out.mutable_scale());
  Assign(q.offset, out.mutable_offset());
  Assign(q.axis, out.mutable_axis());
  Assign(q.block_shape, out.mutable_block_shape());
  if (!q.scale_tensor.empty()) out.set_scale_tensor(q.scale_tensor);
  if (!q.offset_tensor.empty()) out.set_offset_tensor(q.offset_tensor);
  if (q.quant_min) out.set_quant_min(*q.quant_min);
  if (q.quant_max) out.set_quant_max(*q.quant_max);
  if (q.scheme != Scheme::kUnspecified) {
    out.set_scheme(static_cast<qtx::Quantization::Scheme>(q.scheme));
  }
  if (q.requantization) {
    Assign(q.requantization->multiplier, out.mutable_requantization()->mutable_multiplier());
    Assign(q.requantization->shift, out.mutable_requantization()->mutable_shift());
  }
  if (q.storage_type != ElementType::kUndefined) {
    out.set_storage_type(static_cast<int>(q.storage_type));
  }
  WriteLevels(q.scale_levels, *out.mutable_scale_levels());
  WriteLevels(q.base_levels, *out.mutable_base_levels());
  Assign(q.must_understand, out.mutable_must_understand());
  Assign(q.code_book, out.mutable_code_book());
  if (!q.code_book_tensor.empty()) out.set_code_book_tensor(q.code_book_tensor);
  if (q.real_type != ElementType::kUndefined) out.set_real_type(static_cast<int>(q.real_type));
  if (q.encoding) WriteEncoding(*q.encoding, *out.mutable_encoding());
  *out.mutable_unknown_fields() = q.unknown_fields;
}

ExactSum ReadSum(const qtx::ExactSum& in) {
  return {.exponent = in.exponent(), .integer = in.integer()};
}

void WriteSum(const ExactSum& sum, qtx::ExactSum& out) {
  if (sum.exponent != 0) out.set_exponent(sum.exponent);
  if (!sum.integer.empty()) out.set_integer(sum.integer);
}

Statistics ReadStatistics(const qtx::Statistics& in) {
  Statistics statistics;
  statistics.min = Vector(in.min());
  statistics.max = Vector(in.max());
  statistics.mean = Vector(in.mean());
  statistics.std = Vector(in.std());
  statistics.count = in.count();
  statistics.nan_count = in.nan_count();
  statistics.infinity_count = in.infinity_count();
  statistics.axis = Vector(in.axis());
  if (in.has_histogram()) {
    statistics.histogram = Histogram{.lower = in.histogram().lower(),
                                     .upper = in.histogram().upper(),
                                     .counts = Vector(in.histogram().counts()),
                                     .below = in.histogram().below(),
                                     .above = in.histogram().above()};
  }
  statistics.source = in.source();
  for (const qtx::Moments& moments : in.moments()) {
    statistics.moments.push_back({.count = moments.count(),
                                  .sum = ReadSum(moments.sum()),
                                  .sum_of_squares = ReadSum(moments.sum_of_squares())});
  }
  statistics.unknown_fields = in.unknown_fields();
  return statistics;
}

void WriteHistogram(const Histogram& histogram, qtx::Histogram& out) {
  out.set_lower(histogram.lower);
  out.set_upper(histogram.upper);
  Assign(histogram.counts, out.mutable_counts());
  if (histogram.below != 0) out.set_below(histogram.below);
  if (histogram.above != 0) out.set_above(histogram.above);
}

void WriteStatistics(const Statistics& statistics, qtx::Statistics& out) {
  Assign(statistics.min, out.mutable_min());
  Assign(statistics.max, out.mutable_max());
  Assign(statistics.mean, out.mutable_mean());
  Assign(statistics.std, out.mutable_std());
  if (statistics.count != 0) out.set_count(statistics.count);
  if (statistics.nan_count != 0) out.set_nan_count(statistics.nan_count);
  if (statistics.infinity_count != 0) out.set_infinity_count(statistics.infinity_count);
  Assign(statistics.axis, out.mutable_axis());
  if (statistics.histogram) WriteHistogram(*statistics.histogram, *out.mutable_histogram());
  if (!statistics.source.empty()) out.set_source(statistics.source);
  for (const Moments& moments : statistics.moments) {
    qtx::Moments& written = *out.add_moments();
    if (moments.count != 0) written.set_count(moments.count);
    WriteSum(moments.sum, *written.mutable_sum());
    WriteSum(moments.sum_of_squares, *written.mutable_sum_of_squares());
  }
  *out.mutable_unknown_fields() = statistics.unknown_fields;
}

Shape ReadShape(const overlay::TensorShapeProto& in) {
  Shape shape;
  for (const auto& message : in.dim()) {
    Dimension dimension;
    if (message.has_dim_value()) dimension.value = message.dim_value();
    dimension.symbol = message.dim_param();
    dimension.unknown_fields = message.unknown_fields();
    shape.push_back(std::move(dimension));
  }
  return shape;
}

void WriteShape(const Shape& shape, overlay::TensorShapeProto& out) {
  for (const Dimension& dimension : shape) {
    auto* message = out.add_dim();
    if (dimension.value) message->set_dim_value(*dimension.value);
    if (!dimension.symbol.empty()) message->set_dim_param(dimension.symbol);
    *message->mutable_unknown_fields() = dimension.unknown_fields;
  }
}

}  // namespace

TensorType ReadTensorType(const overlay::TypeProto::Tensor& in) {
  TensorType type;
  type.elem_type = static_cast<ElementType>(in.elem_type());
  if (in.has_shape()) type.shape = ReadShape(in.shape());
  if (in.has_quantization()) type.quantization = ReadQuantization(in.quantization());
  if (in.has_statistics()) type.statistics = ReadStatistics(in.statistics());
  type.unknown_fields = in.unknown_fields();
  return type;
}

void WriteTensorType(const TensorType& type, overlay::TypeProto::Tensor& out) {
  out.set_elem_type(static_cast<int>(type.elem_type));
  if (type.shape) WriteShape(*type.shape, *out.mutable_shape());
  if (type.quantization) WriteQuantization(*type.quantization, *out.mutable_quantization());
  if (type.statistics) WriteStatistics(*type.statistics, *out.mutable_statistics());
  *out.mutable_unknown_fields() = type.unknown_fields;
}

// The generated code is asked, so that there is no list to keep up to date: what it does not know,
// or knows of another wire type, it keeps as unknown bytes.
bool HasQuantizationField(std::int32_t number) {
  constexpr std::int32_t kLargest = (1 << 29) - 1;
  if (number < 1 || number > kLargest) return false;
  using google::protobuf::io::CodedOutputStream;
  // Of each wire type that proto2 and proto3 write an empty value: a varint 0, eight zero bytes, no
  // bytes at all, four zero bytes.
  constexpr std::pair<std::uint32_t, std::string_view> kEmpty[] = {
      {0, {"\0", 1}}, {1, {"\0\0\0\0\0\0\0\0", 8}}, {2, {"\0", 1}}, {5, {"\0\0\0\0", 4}}};
  return std::ranges::any_of(kEmpty, [number](const auto& empty) {
    std::array<std::uint8_t, 5> tag = {};
    const std::uint32_t key = static_cast<std::uint32_t>(number) << 3 | empty.first;
    const std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(key, tag.data());
    std::string bytes(tag.begin(), tag.begin() + (end - tag.data()));
    bytes += empty.second;
    qtx::Quantization message;
    return message.ParseFromString(bytes) && message.unknown_fields().empty();
  });
}

}  // namespace wire

std::string SerializeQuantization(const Quantization& q) {
  qtx::Quantization message;
  wire::WriteQuantization(q, message);
  return message.SerializeAsString();
}

Result<Quantization> ParseQuantization(std::string_view bytes) {
  qtx::Quantization message;
  if (bytes.size() >= static_cast<std::size_t>(kMaxModelBytes) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{ErrorCode::kInvalid, "", "expected a serialised qtx.Quantization"};
  }
  return wire::ReadQuantization(message);
}

}  // namespace qtx::format
