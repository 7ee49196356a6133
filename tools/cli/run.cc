// qtx run: a model on a backend, inputs and outputs as files.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "backends.h"
#include "commands.h"
#include "json.h"
#include "qtx/format/limits.h"
#include "qtx/format/npy.h"
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

// Stored integers from a file, given the type of the input they are for. Files have no 4-, 2- and
// 1-bit elements: those come as bytes and are packed here.
Result<Tensor> Typed(const Tensor& tensor, const TensorType& type) {
  const auto storage = format::StorageOf(type.elem_type);
  if (tensor.elem_type == format::ElementType::kFloat || tensor.elem_type == type.elem_type)
    return tensor;
  const bool bytes = tensor.elem_type == format::ElementType::kInt8 ||
                     tensor.elem_type == format::ElementType::kUint8;
  const bool packed = format::BitWidth(storage) < 8;
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
      return Error{ErrorCode::kInvalid, "--input " + argument,
                   "expected NAME=FILE with NAME one of" + names};
    }
    if (!files.emplace(name, file).second) {
      return Error{ErrorCode::kInvalid, "--input " + argument,
                   "input '" + name + "' is given twice"};
    }
  }
  return files;
}

Result<std::vector<Tensor>> ReadInputs(const format::Model& model, const RunOptions& options) {
  const auto required = RequiredInputs(model);
  QTX_ASSIGN_OR_RETURN(const auto files, InputFiles(options.inputs, required));
  std::vector<Tensor> tensors;
  for (const ValueInfo* input : required) {
    const auto file = files.find(input->name);
    if (file == files.end()) {
      return Error{ErrorCode::kInvalid, "--input", "missing for input '" + input->name + "'"};
    }
    if (!input->type) {
      return Error{ErrorCode::kUnsupported, options.model,
                   "input '" + input->name + "' is not a tensor"};
    }
    QTX_ASSIGN_OR_RETURN(const Tensor tensor, ReadTensor(file->second));
    TensorType type = *input->type;
    if (type.quantization) {
      QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(model, *type.quantization));
    }
    auto typed = Typed(tensor, type);
    if (!typed.has_value())
      return At(file->second + ": input '" + input->name + "'", typed.error());
    if (tensor.elem_type == format::ElementType::kFloat && format::IsQuantized(type.elem_type)) {
      typed = reference::QuantizeInput(tensor, type, options.arithmetic);
      if (!typed.has_value())
        return At(file->second + ": input '" + input->name + "'", typed.error());
      fmt::print(stderr, "{}: input '{}': reals quantized by the input's own parameters\n",
                 file->second, input->name);
    }
    tensors.push_back(*std::move(typed));
  }
  return tensors;
}

struct Outcome {
  std::vector<Tensor> outputs;
  std::optional<reference::Counters> counters;  // of the reference, which alone has them
};

// NODE=NAME; a node's name may itself hold '=', an arithmetic's does not.
Result<reference::Interpreter::NodeArithmetics> NodeArithmetics(const RunOptions& options) {
  reference::Interpreter::NodeArithmetics rows;
  for (const std::string& argument : options.node_arithmetics) {
    const std::string place = "--node-arithmetic " + argument;
    const std::size_t equals = argument.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::kInvalid, place, "expected NODE=NAME"};
    }
    const std::string name = argument.substr(equals + 1);
    const auto known = reference::FindArithmetic(name);
    if (!known.has_value()) return Error{ErrorCode::kInvalid, place, known.error().message};
    if (!rows.emplace(argument.substr(0, equals), name).second) {
      return Error{ErrorCode::kInvalid, place, "the node is given twice"};
    }
  }
  return rows;
}

// Only the reference counts, and computes each node in an arithmetic of its own.
Result<Outcome> RunReference(const format::Model& model, const std::vector<Tensor>& inputs,
                             const RunOptions& options) {
  QTX_ASSIGN_OR_RETURN(const auto by_node, NodeArithmetics(options));
  auto prepared = reference::Interpreter::Prepare(model, options.arithmetic, by_node);
  if (!prepared.has_value()) {
    const bool usage = prepared.error().where.starts_with("node '");
    return At(usage ? "--node-arithmetic" : options.model, prepared.error());
  }
  auto outputs = prepared->Run(inputs);
  if (!outputs.has_value()) return At(options.model, outputs.error());
  return Outcome{*std::move(outputs), prepared->counters()};
}

Result<Outcome> RunOn(const format::Model& model, const std::vector<Tensor>& inputs,
                      const RunOptions& options) {
  QTX_ASSIGN_OR_RETURN(const auto source, FindBackend(options.backend));
  QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
  QTX_ASSIGN_OR_RETURN(const auto description, backend->Describe());
  if (std::ranges::find(description.arithmetics, options.arithmetic) ==
      description.arithmetics.end()) {
    return Error{ErrorCode::kInvalid, "--arithmetic " + options.arithmetic,
                 fmt::format("backend '{}' has {}", options.backend,
                             fmt::join(description.arithmetics, ", "))};
  }
  if (source.is_reference) return RunReference(model, inputs, options);
  if (options.counters || !options.node_arithmetics.empty()) {
    return Error{ErrorCode::kInvalid, options.counters ? "--counters" : "--node-arithmetic",
                 fmt::format("backend '{}' has none, expected 'reference'", options.backend)};
  }
  auto prepared = backend->Prepare(model, options.arithmetic);
  if (!prepared.has_value()) return At(options.model, prepared.error());
  auto outputs = (*prepared)->Run(inputs);
  if (!outputs.has_value()) return At(options.model, outputs.error());
  return Outcome{*std::move(outputs), std::nullopt};
}

// Values' names as file names: real models have names with '/', ':' and ';', longer than a file
// system takes, and the same once those are replaced.
std::vector<std::string> FileNames(const std::vector<ValueInfo>& values) {
  constexpr std::size_t kLongest = 200;  // bytes; file systems take 255 with what is appended
  std::vector<std::string> files;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string file = values[i].name;
    std::ranges::replace_if(
        file, [](char c) { return c == '/' || c == '\\' || c == ':' || c == ';' || c == '\0'; },
        '_');
    if (file.empty() || file[0] == '.') file.insert(0, "_");
    if (file.size() > kLongest || std::ranges::find(files, file + ".npy") != files.end()) {
      file = file.substr(0, kLongest) + "#" + std::to_string(i);
    }
    files.push_back(file + ".npy");
  }
  return files;
}

Result<std::vector<std::string>> WriteOutputs(const format::Model& model,
                                              const std::vector<Tensor>& outputs,
                                              const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, folder, error.message()};
  std::vector<std::string> paths;
  const std::vector<std::string> files = FileNames(model.graph.outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ToNpy(outputs[i]));
    paths.push_back((std::filesystem::path(folder) / files[i]).string());
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(paths.back(), bytes));
  }
  return paths;
}

void Report(const format::Model& model, const Outcome& outcome,
            const std::vector<std::string>& paths, const RunOptions& options) {
  const std::vector<Tensor>& outputs = outcome.outputs;
  Json json;
  json.BeginObject();
  json.Key("outputs");
  json.BeginArray();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    json.BeginObject();
    json.Field("name", model.graph.outputs[i].name);
    json.Field("elem_type", format::Name(outputs[i].elem_type));
    json.Array("shape", outputs[i].dims);
    json.Field("file", paths[i]);
    json.EndObject();
    if (options.json) continue;
    fmt::print("{} {}{} -> {}\n", model.graph.outputs[i].name, format::Name(outputs[i].elem_type),
               format::ToString(outputs[i].dims), paths[i]);
  }
  json.EndArray();
  if (outcome.counters) {
    json.Key("counters");
    json.BeginObject();
    json.Field("rounded", outcome.counters->rounded);
    json.Field("exact_fallbacks", outcome.counters->exact_fallbacks);
    json.EndObject();
  }
  json.EndObject();
  if (options.json) fmt::print("{}", json.Text());
  if (options.counters) {
    fmt::print(stderr, "rounded {} results, {} by the exact fallback\n", outcome.counters->rounded,
               outcome.counters->exact_fallbacks);
  }
}

}  // namespace

int Run(const RunOptions& options) {
  const auto model = format::Model::Load(options.model);
  if (!model.has_value()) return Fail(model.error(), kBadInput);
  const auto inputs = ReadInputs(*model, options);
  if (!inputs.has_value()) return Fail(inputs.error(), kBadInput);
  const auto outcome = RunOn(*model, *inputs, options);
  if (!outcome.has_value()) return Fail(outcome.error(), StatusOf(outcome.error()));
  const auto paths = WriteOutputs(*model, outcome->outputs, options.output_dir);
  if (!paths.has_value()) return Fail(paths.error(), kInternal);
  Report(*model, *outcome, *paths, options);
  return kDone;
}

}  // namespace qtx::cli
