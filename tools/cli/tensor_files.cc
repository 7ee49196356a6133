#include "tensor_files.h"

#include <fmt/core.h>

#include <map>

#include "qtx/format/levels.h"
#include "qtx/format/limits.h"
#include "qtx/format/npy.h"
#include "qtx/format/print.h"
#include "qtx/reference/interpreter.h"

namespace qtx::cli {
namespace {

using format::Tensor;
using format::TensorType;
using format::ValueInfo;

Result<Tensor> ReadTensor(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(path, format::kMaxTensorBytes));
  if (path.ends_with(".npy")) {
    auto tensor = format::ParseNpy(bytes);
    if (!tensor.has_value()) return At(path, tensor.error());
    return tensor;
  }
  if (!path.ends_with(".pb")) {
    return Error{ErrorCode::kInvalid, path, "expected a file name ending in .npy or .pb"};
  }
  const auto data = format::ParseTensorData(bytes);
  if (!data.has_value()) return At(path, data.error());
  auto tensor = format::Decode(*data);
  if (!tensor.has_value()) return At(path, tensor.error());
  return tensor;
}

// Reads stored integers for an input of a given type. Files have 4-, 2- and 1-bit elements as
// bytes; packs them.
Result<Tensor> Typed(const Tensor& tensor, const TensorType& type) {
  const auto storage = format::StorageOf(type.elem_type);
  if (tensor.elem_type == format::ElementType::kFloat || tensor.elem_type == type.elem_type)
    return tensor;
  const bool bytes = tensor.elem_type == format::ElementType::kInt8 ||
                     tensor.elem_type == format::ElementType::kUint8;
  const bool packed = format::IsIntegerStorage(storage) && format::BitWidth(storage) < 8;
  if (tensor.elem_type != storage && !(bytes && packed)) {
    return Error{ErrorCode::kInvalid, "",
                 fmt::format("found elements of type {}, expected {} or FLOAT",
                             format::Name(tensor.elem_type), format::Name(storage))};
  }
  Tensor result = tensor;
  result.elem_type = type.elem_type;
  result.quantization = type.quantization;
  if (!packed) return result;
  const auto values = format::UnpackIntegers(tensor);
  const auto range = format::StorageRange(storage);
  for (const std::int64_t value : values) {
    if (value < range.min || value > range.max) {
      return Error{ErrorCode::kInvalid, "",
                   fmt::format("found {}, expected {} to {} for {}", value, range.min, range.max,
                               format::Name(storage))};
    }
  }
  QTX_ASSIGN_OR_RETURN(result, format::MakeTensor(type.elem_type, tensor.dims, type.quantization));
  format::PackIntegers(values, result);
  return result;
}

std::vector<const ValueInfo*> RequiredInputs(const format::Model& model) {
  std::vector<const ValueInfo*> required;
  for (const ValueInfo& input : model.graph.inputs) {
    if (model.graph.FindInitializer(input.name) == nullptr) required.push_back(&input);
  }
  return required;
}

// NAME=FILE, or FILE alone when there is one input. A path may itself hold '=', a name wins.
Result<std::map<std::string, std::string>> InputFiles(
    const std::vector<std::string>& arguments, const std::vector<const ValueInfo*>& required) {
  std::map<std::string, std::string> files;
  for (const std::string& argument : arguments) {
    std::string name;
    std::string file = argument;
    for (const ValueInfo* input : required) {
      if (argument.starts_with(input->name + "=")) {
        name = input->name;
        file = argument.substr(name.size() + 1);
      }
    }
    if (name.empty() && required.size() == 1) name = required[0]->name;
    if (name.empty()) {
      std::string names;
      for (const ValueInfo* input : required) names += " '" + input->name + "'";
      return Error{ErrorCode::kUsage, "--input " + argument,
                   "expected NAME=FILE with NAME one of" + names};
    }
    if (!files.emplace(name, file).second) {
      return Error{ErrorCode::kUsage, "--input " + argument, "input '" + name + "' is given twice"};
    }
  }
  return files;
}

}  // namespace

Result<std::vector<Tensor>> ReadInputs(const format::Model& model,
                                       const std::vector<std::string>& arguments,
                                       const std::string& arithmetic, format::Features features) {
  const auto required = RequiredInputs(model);
  QTX_ASSIGN_OR_RETURN(const auto files, InputFiles(arguments, required));
  std::vector<Tensor> tensors;
  for (const ValueInfo* input : required) {
    const auto file = files.find(input->name);
    if (file == files.end()) {
      return Error{ErrorCode::kUsage, "--input", "missing for input '" + input->name + "'"};
    }
    if (!input->type) {
      return Error{ErrorCode::kUnsupported, "model", "input '" + input->name + "' is not a tensor"};
    }
    QTX_ASSIGN_OR_RETURN(const Tensor tensor, ReadTensor(file->second));
    TensorType type = *input->type;
    if (type.quantization) {
      QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(model, type));
    }
    auto typed = Typed(tensor, type);
    if (!typed.has_value())
      return At(file->second + ": input '" + input->name + "'", typed.error());
    if (tensor.elem_type == format::ElementType::kFloat && format::IsQuantized(type.elem_type)) {
      typed = reference::QuantizeInput(tensor, type, arithmetic, features);
      if (!typed.has_value())
        return At(file->second + ": input '" + input->name + "'", typed.error());
      format::Print(stderr, "{}: input '{}': reals quantized by the input's own parameters\n",
                    file->second, input->name);
    }
    tensors.push_back(*std::move(typed));
  }
  return tensors;
}

}  // namespace qtx::cli
