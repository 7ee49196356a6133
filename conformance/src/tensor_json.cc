// Tensors in JSON, bit for bit: bytes as hexadecimal digits, scales as hex floats.
#include <cmath>
#include <limits>
#include <utility>

#include "qtx/backend/protocol.h"
#include "report_json.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Quantization;
using format::Scheme;
using format::Tensor;

constexpr Scheme kLastScheme = Scheme::kSymmetricUint8;
constexpr std::string_view kDigits = "0123456789abcdef";

std::string ToHex(const std::vector<std::byte>& bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

bool FromHex(std::string_view text, std::vector<std::byte>& bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t high = kDigits.find(text[2 * i]);
    const std::size_t low = kDigits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

template <typename Integer>
void WriteIntegers(JsonWriter& writer, const char* key, const std::vector<Integer>& values) {
  if (values.empty()) return;
  writer.Field(key, values);
}

void WriteParameters(JsonWriter& writer, const Quantization& q) {
  writer.BeginObject();
  writer.Array("scale", q.scale,
               [&](float scale) { writer.Value(format::HexFloat(static_cast<double>(scale))); });
  WriteIntegers(writer, "offset", q.offset);
  WriteIntegers(writer, "axis", q.axis);
  WriteIntegers(writer, "block_shape", q.block_shape);
  if (q.quant_min) {
    writer.Field("quant_min", *q.quant_min);
  }
  if (q.quant_max) {
    writer.Field("quant_max", *q.quant_max);
  }
  if (q.scheme != Scheme::kUnspecified) {
    writer.Field("scheme", format::Name(q.scheme));
  }
  if (q.requantization) {
    writer.Object("requantization", [&] {
      WriteIntegers(writer, "multiplier", q.requantization->multiplier);
      WriteIntegers(writer, "shift", q.requantization->shift);
    });
  }
  writer.EndObject();
}

// An array of integers of 32 bits.
std::vector<std::int32_t> Int32s(JsonFields& fields, const char* key) {
  using Limits = std::numeric_limits<std::int32_t>;
  std::vector<std::int32_t> values;
  for (const std::int64_t value : fields.Integers(key)) {
    if (value < Limits::min() || value > Limits::max()) {
      fields.Refuse(key, "integers of 32 bits");
      return {};
    }
    values.push_back(static_cast<std::int32_t>(value));
  }
  return values;
}

std::vector<float> Scales(JsonFields& fields) {
  std::vector<float> scales;
  for (const std::string& text : fields.Texts("scale")) {
    const auto value = format::ParseFloat(text);
    if (!value || !(std::abs(*value) <= std::numeric_limits<float>::max())) {
      fields.Refuse("scale", "floats of 32 bits");
      return {};
    }
    scales.push_back(static_cast<float>(*value));
  }
  return scales;
}

Scheme ReadScheme(JsonFields& fields) {
  const std::string name = fields.Text("scheme");
  if (name.empty()) return Scheme::kUnspecified;
  for (auto i = static_cast<int>(Scheme::kUnspecified); i <= static_cast<int>(kLastScheme); ++i) {
    if (format::Name(static_cast<Scheme>(i)) == name) return static_cast<Scheme>(i);
  }
  fields.Refuse("scheme", "the name of a scheme");
  return Scheme::kUnspecified;
}

Result<Quantization> ReadQuantization(const rapidjson::Value& json, const std::string& where) {
  JsonFields fields(json, where);
  Quantization q;
  q.scale = Scales(fields);
  q.offset = Int32s(fields, "offset");
  q.axis = fields.Integers("axis");
  q.block_shape = fields.Integers("block_shape");
  if (fields.Find("quant_min") != nullptr) q.quant_min = fields.Integer("quant_min");
  if (fields.Find("quant_max") != nullptr) q.quant_max = fields.Integer("quant_max");
  q.scheme = ReadScheme(fields);
  if (const auto* const object = fields.Find("requantization")) {
    JsonFields inner(*object, where + ": requantization");
    q.requantization = {Int32s(inner, "multiplier"), Int32s(inner, "shift")};
    QTX_RETURN_IF_ERROR(inner.Finish());
  }
  QTX_RETURN_IF_ERROR(fields.Finish());
  return q;
}

}  // namespace

void WriteTensor(JsonWriter& writer, std::string_view name, const Tensor& tensor) {
  writer.BeginObject();
  writer.Field("name", name);
  writer.Field("elem_type", format::Name(tensor.elem_type));
  writer.Field("dims", tensor.dims);
  if (tensor.quantization) {
    writer.Key("quantization");
    WriteParameters(writer, *tensor.quantization);
  }
  writer.Field("data", ToHex(tensor.bytes));
  writer.EndObject();
}

Result<Evidence::Value> ReadTensor(const rapidjson::Value& json, const std::string& where) {
  JsonFields fields(json, where);
  Evidence::Value value;
  value.name = fields.Text("name");
  Tensor& tensor = value.tensor;
  const auto type = format::ElementTypeFromName(fields.Text("elem_type"));
  tensor.dims = fields.Integers("dims");
  const std::string data = fields.Text("data");
  const auto* const quantization = fields.Find("quantization");
  QTX_RETURN_IF_ERROR(fields.Finish());
  if (!type) return Error{ErrorCode::kInvalid, where + ": elem_type", "expected a known type"};
  tensor.elem_type = *type;
  tensor.bytes.resize(data.size() / 2);
  if (!FromHex(data, tensor.bytes)) {
    return Error{ErrorCode::kInvalid, where + ": data", "expected hexadecimal digits"};
  }
  if (quantization != nullptr) {
    QTX_ASSIGN_OR_RETURN(tensor.quantization,
                         ReadQuantization(*quantization, where + ": quantization"));
  }
  if (const auto sound = backend::CheckTensor(tensor); !sound) {
    return Error{ErrorCode::kInvalid, where + ": " + sound.error().where, sound.error().message};
  }
  return value;
}

}  // namespace qtx::conformance
