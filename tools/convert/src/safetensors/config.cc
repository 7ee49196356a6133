#include "safetensors/config.h"

#include "json_document.h"

namespace qtx::convert::safetensors {
namespace {

const rapidjson::Value* Member(const rapidjson::Value* object, const char* key) {
  if (object == nullptr || !object->IsObject()) return nullptr;
  const auto found = object->FindMember(key);
  return found == object->MemberEnd() ? nullptr : &found->value;
}

std::string Text(const rapidjson::Value* value) {
  if (value == nullptr || !value->IsString()) return "";
  return {value->GetString(), value->GetStringLength()};
}

std::int64_t Integer(const rapidjson::Value* value) {
  return value == nullptr || !value->IsInt64() ? 0 : value->GetInt64();
}

format::Dims Integers(const rapidjson::Value* value) {
  format::Dims values;
  if (value == nullptr || !value->IsArray()) return values;
  for (const auto& item : value->GetArray()) values.push_back(Integer(&item));
  return values;
}

// The weights of the first group of compressed-tensors that has them.
const rapidjson::Value* GroupWeights(const rapidjson::Value* quantization) {
  const rapidjson::Value* groups = Member(quantization, "config_groups");
  if (groups == nullptr || !groups->IsObject()) return nullptr;
  for (const auto& group : groups->GetObject()) {
    const rapidjson::Value* weights = Member(&group.value, "weights");
    if (weights != nullptr && weights->IsObject()) return weights;
  }
  return nullptr;
}

}  // namespace

Result<Config> ParseConfig(std::string_view text) {
  Config config;
  if (text.empty()) return config;
  rapidjson::Document document;
  QTX_RETURN_IF_ERROR(ParseObject(text, document));
  const rapidjson::Value* quantization = Member(&document, "quantization_config");
  config.method = Text(Member(quantization, "quant_method"));
  config.checkpoint_format = Text(Member(quantization, "checkpoint_format"));
  config.bits = Integer(Member(quantization, "bits"));
  config.group_size = Integer(Member(quantization, "group_size"));
  config.block = Integers(Member(quantization, "weight_block_size"));
  if (const rapidjson::Value* weights = GroupWeights(quantization)) {
    config.bits = Integer(Member(weights, "num_bits"));
    config.group_size = Integer(Member(weights, "group_size"));
    config.block = Integers(Member(weights, "block_structure"));
  }
  return config;
}

}  // namespace qtx::convert::safetensors
