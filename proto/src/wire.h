// Between ONNX's bytes and the plain values of the public headers. wire*.cc are the only files that
// see generated protobuf code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::format::wire {

/// Errors: kInvalid when the bytes are no ModelProto, or one without a graph.
Result<Model> ParseModel(std::string_view bytes);
/// Errors: kTooLarge past kMaxModelBytes.
Result<std::string> SerializeModel(const Model& model);

/// One node, or one attribute, of a function.  Errors: kInvalid; kTooLarge for bodies too deep.
Result<Node> ParseNode(std::string_view bytes);
Result<Attribute> ParseAttribute(std::string_view bytes);

/// The value carriers of a TensorProto; exactly one is expected to be used.
struct TensorFields {
  Dims dims;
  ElementType data_type = ElementType::kUndefined;
  std::optional<std::string> raw_data;
  std::vector<float> float_data;
  std::vector<std::int32_t> int32_data;
  std::vector<std::int64_t> int64_data;
  std::vector<double> double_data;
  std::vector<std::uint64_t> uint64_data;
  bool external = false;
  Metadata external_data;
};
Result<TensorFields> ParseTensor(std::string_view bytes);
std::string SerializeTensor(const std::string& name, const Dims& dims, ElementType type,
                            std::string raw_data);
/// One whose elements are in another file, of which `entries` (external_data) say which.
std::string SerializeExternalTensor(const std::string& name, const Dims& dims, ElementType type,
                                    const Metadata& entries);

/// True when the message qtx.Quantization, as this version has it, has a field of that number.
bool HasQuantizationField(std::int32_t number);

}  // namespace qtx::format::wire
