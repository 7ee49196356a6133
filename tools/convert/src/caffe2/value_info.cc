#include "caffe2/value_info.h"

#include <rapidjson/document.h>

#include <cmath>

#include "errors.h"
#include "json_document.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

using format::ElementType;

Result<format::Dims> DimsOf(const rapidjson::Value& json) {
  format::Dims dims;
  if (!json.IsArray() || json.Size() > format::kMaxRank)
    return Invalid("dims", "expected a list of at most 16 numbers");
  for (const rapidjson::Value& dim : json.GetArray()) {
    if (!dim.IsInt64()) return Invalid("dims", "expected integers");
    dims.push_back(dim.GetInt64());
  }
  QTX_RETURN_IF_ERROR(format::ElementCount(dims));
  return dims;
}

Result<format::TensorType> TypeOf(const rapidjson::Value& json) {
  const bool plain = json.IsArray() && json.Size() == 2;
  const bool quantized = json.IsArray() && json.Size() == 4;
  if ((!plain && !quantized) || !json[0].IsInt())
    return Invalid("", "expected [type, [dims]] or [type, [dims], scale, zero point]");
  const auto code = format::ElementTypeFromCode(json[0].GetInt());
  if (!code || format::IsQuantized(*code) || *code == ElementType::kUndefined)
    return Invalid("", "found type " + std::to_string(json[0].GetInt()) + ", expected ONNX's code");
  format::TensorType type;
  type.elem_type = *code;
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, DimsOf(json[1]));
  type.shape = format::ToShape(dims);
  if (plain) return type;
  if (type.elem_type != ElementType::kUint8)
    return Invalid("", "a scale requires type 2, UINT8, the only quantized type of Caffe2");
  if (!json[2].IsNumber() || !json[3].IsInt64())
    return Invalid("", "expected a number and an integer for scale and zero point");
  QTX_ASSIGN_OR_RETURN(type.quantization,
                       Caffe2Quantization(json[2].GetFloat(), json[3].GetInt64()));
  type.elem_type = ElementType::kInt8Q;
  return type;
}

}  // namespace

Result<format::Quantization> Caffe2Quantization(float scale, std::int64_t zero_point) {
  if (!std::isfinite(scale) || scale <= 0)
    return Invalid("Y_scale",
                   "found " + format::HexFloat(scale) + ", expected a finite value above 0");
  if (zero_point < 0 || zero_point > 255)
    return Invalid("Y_zero_point", "found " + std::to_string(zero_point) + ", expected 0 to 255");
  format::Quantization q;
  q.scale = {scale};
  if (zero_point != kCaffe2Shift) q.offset = {static_cast<std::int32_t>(zero_point - kCaffe2Shift)};
  return q;
}

Result<std::map<std::string, format::TensorType>> ParseValueInfo(std::string_view json) {
  rapidjson::Document document;
  QTX_RETURN_IF_ERROR(ParseObject(json, document));
  std::map<std::string, format::TensorType> types;
  for (const auto& member : document.GetObject()) {
    const std::string name(member.name.GetString(), member.name.GetStringLength());
    auto type = TypeOf(member.value);
    if (!type.has_value()) return At("'" + name + "'", type.error());
    if (!types.emplace(name, *std::move(type)).second)
      return Invalid("'" + name + "'", "is given twice, expected once");
  }
  return types;
}

}  // namespace qtx::convert
