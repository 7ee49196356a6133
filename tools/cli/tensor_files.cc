#include "tensor_files.h"

#include <fmt/core.h>

#include <cmath>
#include <map>

#include "qtx/calibrate/npz.h"
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

Result<Tensor> ReadTensor(const std::string& path, const std::string& input) {
  if (path.ends_with(".npz")) return calibrate::ReadNpzArray(path, input);
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(path, format::kMaxTensorBytes));
  if (path.ends_with(".npy")) {
    auto tensor = format::ParseNpy(bytes);
    if (!tensor.has_value()) return At(path, tensor.error());
    return tensor;
  }
  if (!path.ends_with(".pb")) {
    return Error{ErrorCode::kInvalid, path, "expected a file name ending in .npy, .npz or .pb"};
  }
  const auto data = format::ParseTensorData(bytes);
  if (!data.has_value()) return At(path, data.error());
  auto tensor = format::Decode(*data);
  if (!tensor.has_value()) return At(path, tensor.error());
  return tensor;
}

// The nearest code, ties to even; infinity beyond the range, where EncodeSmallFloat saturates.
std::uint32_t SmallCode(format::ElementType type, double value) {
  const bool half = type == format::ElementType::kFloat16;
  // From half an ulp above the largest finite number on, IEEE 754 rounds to infinity.
  const double beyond = half ? 65520.0 : 0x1.FFp127;
  if (!(std::fabs(value) >= beyond)) return format::EncodeSmallFloat(type, value);
  return (half ? 0x7C00U : 0x7F80U) | (std::signbit(value) ? 0x8000U : 0U);
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
                 fmt::format("found elements of type {}, expected {}{}",
                             format::Name(tensor.elem_type), format::Name(storage),
                             storage == format::ElementType::kFloat ? "" : " or FLOAT")};
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

// DOUBLE in the float type of an input: rounded once, half to even, and stderr says so; FLOAT for a
// quantized input, whose own rounding is to be the only one: exactly.
// Errors: kInvalid for another type, for what is beyond the type's range, and what is not exact.
Result<Tensor> Narrowed(const Tensor& tensor, format::ElementType declared,
                        const std::string& place) {
  using format::ElementType;
  const bool quantized = format::IsQuantized(declared);
  const ElementType to = quantized ? ElementType::kFloat : declared;
  const bool small = to == ElementType::kFloat16 || to == ElementType::kBfloat16;
  if (to != ElementType::kFloat && !small) return tensor;
  QTX_ASSIGN_OR_RETURN(Tensor narrow, format::MakeTensor(to, tensor.dims));
  const auto values = tensor.As<double>();
  std::size_t rounded = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double now = 0;
    if (small) {
      const std::uint32_t code = SmallCode(to, values[i]);
      narrow.As<std::uint16_t>()[i] = static_cast<std::uint16_t>(code);
      now = format::DecodeSmallFloat(to, code);
    } else {
      narrow.As<float>()[i] = static_cast<float>(values[i]);
      now = narrow.As<float>()[i];
    }
    const bool exact = now == values[i] || std::isnan(values[i]);
    rounded += exact ? 0 : 1;
    if (std::isfinite(values[i]) && (std::isinf(now) || (quantized && !exact))) {
      return Error{ErrorCode::kInvalid, fmt::format("element {}", i),
                   fmt::format("found the DOUBLE {}, expected {} {}", values[i],
                               quantized ? "one that is exact in" : "one in the range of",
                               format::Name(to))};
    }
  }
  if (!quantized) {
    format::Print(stderr, "{}: DOUBLE is {}, {} of {} elements rounded half to even\n", place,
                  format::Name(to), rounded, values.size());
  }
  return narrow;
}

std::vector<const ValueInfo*> RequiredInputs(const format::Model& model) {
  std::vector<const ValueInfo*> required;
  for (const ValueInfo& input : model.graph.inputs) {
    if (model.graph.FindInitializer(input.name) == nullptr) required.push_back(&input);
  }
  return required;
}

// The input that an argument names, "" for FILE alone, and the file.
std::pair<std::string, std::string> NameAndFile(const std::string& argument,
                                                const std::vector<const ValueInfo*>& required) {
  std::string name;
  for (const ValueInfo* input : required) {
    if (argument.starts_with(input->name + "=")) name = input->name;
  }
  return {name, name.empty() ? argument : argument.substr(name.size() + 1)};
}

// NAME=FILE, or FILE alone when there is one input or FILE is an archive with an array for each. A
// path may itself hold '=', a name wins.
Result<std::map<std::string, std::string>> InputFiles(
    const std::vector<std::string>& arguments, const std::vector<const ValueInfo*>& required) {
  std::map<std::string, std::string> files;
  const auto add = [&files](const std::string& name, const std::string& file) -> Result<void> {
    if (files.emplace(name, file).second) return {};
    return Error{ErrorCode::kUsage, "--input " + file, "input '" + name + "' is given twice"};
  };
  for (const std::string& argument : arguments) {
    auto [name, file] = NameAndFile(argument, required);
    if (name.empty() && file.ends_with(".npz")) {
      for (const ValueInfo* input : required) QTX_RETURN_IF_ERROR(add(input->name, file));
      continue;
    }
    if (name.empty() && required.size() == 1) name = required[0]->name;
    if (name.empty()) {
      std::string names;
      for (const ValueInfo* input : required) names += " '" + input->name + "'";
      return Error{ErrorCode::kUsage, "--input " + argument,
                   "expected NAME=FILE with NAME one of" + names};
    }
    QTX_RETURN_IF_ERROR(add(name, file));
  }
  return files;
}

// REQUIRES: input.type.
Result<Tensor> ReadInput(const format::Model& model, const ValueInfo& input,
                         const std::string& file, const std::string& arithmetic,
                         format::Features features) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor, ReadTensor(file, input.name));
  TensorType type = *input.type;
  if (type.quantization) {
    QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(model, type));
  }
  const std::string place = file + ": input '" + input.name + "'";
  if (tensor.elem_type == format::ElementType::kDouble && type.elem_type != tensor.elem_type) {
    auto narrow = Narrowed(tensor, type.elem_type, place);
    if (!narrow.has_value()) return At(place, narrow.error());
    tensor = *std::move(narrow);
  }
  auto typed = Typed(tensor, type);
  if (!typed.has_value()) return At(place, typed.error());
  if (tensor.elem_type == format::ElementType::kFloat && format::IsQuantized(type.elem_type)) {
    typed = reference::QuantizeInput(tensor, type, arithmetic, features);
    if (!typed.has_value()) return At(place, typed.error());
    format::Print(stderr, "{}: reals quantized by the input's own parameters\n", place);
  }
  return *std::move(typed);
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
    QTX_ASSIGN_OR_RETURN(tensors.emplace_back(),
                         ReadInput(model, *input, file->second, arithmetic, features));
  }
  return tensors;
}

}  // namespace qtx::cli
