#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cmath>

#include "qtx/format/json.h"
#include "qtx/format/tensor_type.h"
#include "qtx/quantize/report.h"

namespace qtx::quantize {
namespace {

class Writer {
 public:
  std::string Write(const QuantizationReport& report) {
    json_.SetIndent(' ', 1);
    json_.StartObject();
    Text("model", report.model);
    Text("real_by", report.real_by);
    Text("quantized_by", report.quantized_by);
    Key("samples");
    json_.Int64(report.samples);
    Array("layers", report.layers, [this](const LayerReport& layer) { Layer(layer); });
    Array("outputs", report.outputs, [this](const ValueReport& value) { Value(value); });
    json_.EndObject();
    return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
  }

 private:
  void Key(std::string_view key) { format::WriteText(json_, key); }
  void String(std::string_view text) { format::WriteText(json_, text); }
  void Text(std::string_view key, std::string_view text) {
    Key(key);
    String(text);
  }
  void Number(std::string_view key, double number) {
    Key(key);
    std::isfinite(number) ? json_.Double(number) : json_.Null();
  }
  void Count(std::string_view key, std::uint64_t count) {
    Key(key);
    json_.Uint64(count);
  }
  void Array(std::string_view key, const auto& elements, auto each) {
    Key(key);
    json_.StartArray();
    for (const auto& element : elements) each(element);
    json_.EndArray();
  }

  void Layer(const LayerReport& layer) {
    json_.StartObject();
    Text("node", layer.node);
    Text("op_type", layer.op_type);
    Key("output");
    Value(layer.output);
    if (layer.weights) {
      Key("weights");
      Value(*layer.weights);
    }
    if (layer.bias) {
      Key("bias");
      Value(*layer.bias);
    }
    json_.EndObject();
  }

  void Value(const ValueReport& value) {
    json_.StartObject();
    Text("name", value.name);
    Text("real", value.real);
    Type(value.type);
    Array("ranges", value.ranges, [this](const ChosenRange& chosen) {
      json_.StartObject();
      Number("min", chosen.range.min);
      Number("max", chosen.range.max);
      Text("method", ToText(chosen.method));
      json_.EndObject();
    });
    if (value.histogram) Histogram(*value.histogram);
    Array("channels", value.channels, [this](const Range& range) {
      json_.StartObject();
      Number("min", range.min);
      Number("max", range.max);
      json_.EndObject();
    });
    Errors(value.errors);
    json_.EndObject();
  }

  void Type(const format::TensorType& type) {
    Text("elem_type", format::Name(type.elem_type));
    if (type.shape) Text("shape", format::ToString(*type.shape));
    if (!type.quantization) return;
    const format::Quantization& q = *type.quantization;
    Text("scheme", format::Name(q.scheme));
    Array("scale", q.scale,
          [this](float scale) { String(format::HexFloat(static_cast<double>(scale))); });
    Array("offset", q.offset, [this](std::int32_t offset) { json_.Int(offset); });
    Array("axis", q.axis, [this](std::int64_t axis) { json_.Int64(axis); });
    Array("block_shape", q.block_shape, [this](std::int64_t block) { json_.Int64(block); });
    if (!format::IsIntegerStorage(type.elem_type)) return;
    const format::IntegerRange stored = format::StoredRange(type.elem_type, q);
    Key("quant_min");
    json_.Int64(stored.min);
    Key("quant_max");
    json_.Int64(stored.max);
  }

  void Histogram(const format::Histogram& histogram) {
    Key("histogram");
    json_.StartObject();
    Number("lower", histogram.lower);
    Number("upper", histogram.upper);
    Array("counts", histogram.counts, [this](std::uint64_t count) { json_.Uint64(count); });
    Count("below", histogram.below);
    Count("above", histogram.above);
    json_.EndObject();
  }

  void Errors(const ErrorMeasures& errors) {
    Key("errors");
    json_.StartObject();
    Count("count", errors.count);
    Number("signal", errors.signal);
    Number("noise", errors.noise);
    Number("sqnr_db", errors.sqnr_db);
    Number("cosine", errors.cosine);
    Number("mean_error", errors.mean_error);
    Number("max_error", errors.max_error);
    Number("max_error_lsb", errors.max_error_lsb);
    Number("saturated", errors.saturated);
    json_.EndObject();
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json_{buffer_};
};

}  // namespace

std::string ToJson(const QuantizationReport& report) { return Writer().Write(report); }

}  // namespace qtx::quantize
