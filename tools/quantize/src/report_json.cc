#include "qtx/format/json_writer.h"
#include "qtx/format/tensor_type.h"
#include "qtx/quantize/report.h"

namespace qtx::quantize {
namespace {

class Writer {
 public:
  std::string Write(const QuantizationReport& report) {
    json_.BeginObject();
    json_.Field("model", report.model);
    json_.Field("real_by", report.real_by);
    json_.Field("quantized_by", report.quantized_by);
    json_.Field("samples", report.samples);
    json_.Array("layers", report.layers, [this](const LayerReport& layer) { Layer(layer); });
    json_.Array("outputs", report.outputs, [this](const ValueReport& value) { Value(value); });
    json_.EndObject();
    return json_.Text() + "\n";
  }

 private:
  void Layer(const LayerReport& layer) {
    json_.BeginObject();
    json_.Field("node", layer.node);
    json_.Field("op_type", layer.op_type);
    json_.Key("output");
    Value(layer.output);
    if (layer.weights) {
      json_.Key("weights");
      Value(*layer.weights);
    }
    if (layer.bias) {
      json_.Key("bias");
      Value(*layer.bias);
    }
    json_.EndObject();
  }

  void Value(const ValueReport& value) {
    json_.BeginObject();
    json_.Field("name", value.name);
    json_.Field("real", value.real);
    Type(value.type);
    json_.Objects("ranges", value.ranges, [this](const ChosenRange& chosen) {
      json_.Field("min", chosen.range.min);
      json_.Field("max", chosen.range.max);
      json_.Field("method", ToText(chosen.method));
    });
    if (value.histogram) Histogram(*value.histogram);
    json_.Objects("channels", value.channels, [this](const Range& range) {
      json_.Field("min", range.min);
      json_.Field("max", range.max);
    });
    Errors(value.errors);
    json_.EndObject();
  }

  void Type(const format::TensorType& type) {
    json_.Field("elem_type", format::Name(type.elem_type));
    if (type.shape) json_.Field("shape", format::ToString(*type.shape));
    if (!type.quantization) return;
    const format::Quantization& q = *type.quantization;
    json_.Field("scheme", format::Name(q.scheme));
    json_.Array("scale", q.scale,
                [this](float scale) { json_.Value(format::HexFloat(static_cast<double>(scale))); });
    json_.Field("offset", q.offset);
    json_.Field("axis", q.axis);
    json_.Field("block_shape", q.block_shape);
    if (!format::IsIntegerStorage(type.elem_type)) return;
    const format::IntegerRange stored = format::StoredRange(type.elem_type, q);
    json_.Field("quant_min", stored.min);
    json_.Field("quant_max", stored.max);
  }

  void Histogram(const format::Histogram& histogram) {
    json_.Key("histogram");
    json_.BeginObject();
    json_.Field("lower", histogram.lower);
    json_.Field("upper", histogram.upper);
    json_.Field("counts", histogram.counts);
    json_.Field("below", histogram.below);
    json_.Field("above", histogram.above);
    json_.EndObject();
  }

  void Errors(const format::ErrorMeasures& errors) {
    json_.Key("errors");
    json_.BeginObject();
    json_.Field("count", errors.count);
    json_.Field("signal", errors.signal);
    json_.Field("noise", errors.noise);
    json_.Field("sqnr_db", errors.sqnr_db);
    json_.Field("cosine", errors.cosine);
    json_.Field("mean_error", errors.mean_error);
    json_.Field("max_error", errors.max_error);
    json_.Field("max_error_lsb", errors.max_error_lsb);
    json_.Field("saturated", errors.saturated);
    json_.EndObject();
  }

  format::JsonWriter json_;
};

}  // namespace

std::string ToJson(const QuantizationReport& report) { return Writer().Write(report); }

}  // namespace qtx::quantize
