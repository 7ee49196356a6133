// Builds the model, inputs and expected tensors of a case.
#include "model_builder.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "generator.h"
#include "qtx/conformance/case.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"
#include "qtx/format/npy.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::int64_t kIrVersion = 8;

// The scale that `ties` aims at: the first output's.
std::optional<float> TargetScale(const Case& c) {
  // The stock operator has the scale of its output as an input.
  if (c.op && c.op->type == "QuantizeLinear" && c.inputs.size() > 1 && c.inputs[1].data &&
      c.inputs[1].data->elem_type == ElementType::kFloat &&
      !c.inputs[1].data->As<float>().empty()) {
    return c.inputs[1].data->As<float>()[0];
  }
  if (c.outputs.empty() || !c.outputs[0].type.quantization) return std::nullopt;
  const auto& scale = c.outputs[0].type.quantization->scale;
  if (scale.empty()) return std::nullopt;
  return scale[0];
}

Result<Tensor> ParsePb(const std::string& bytes, const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const format::TensorData data, format::ParseTensorData(bytes));
  return format::Decode(data, path.substr(0, path.rfind('/')));
}

// Reads decimal integers separated by anything, one for each element of `type`.
Result<Tensor> ParseCsv(const std::string& bytes, const format::TensorType& type) {
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (!dims || !format::IsIntegerStorage(type.elem_type)) {
    return Error{ErrorCode::kInvalid, "", "a .csv needs an integer type of fixed shape"};
  }
  QTX_ASSIGN_OR_RETURN(Tensor tensor, format::MakeTensor(format::StorageOf(type.elem_type), *dims));
  const format::IntegerRange range = format::StorageRange(tensor.elem_type);
  std::vector<std::int64_t> values;
  const char* const end = bytes.data() + bytes.size();
  for (const char* at = bytes.data(); at != end;) {
    std::int64_t value = 0;
    const auto [next, status] = std::from_chars(at, end, value);
    at = status == std::errc::invalid_argument ? at + 1 : next;
    if (status == std::errc::invalid_argument) continue;
    if (status != std::errc() || value < range.min || value > range.max) {
      return Error{ErrorCode::kInvalid, "", "holds a value out of its type's range"};
    }
    values.push_back(value);
  }
  if (std::ssize(values) != format::ElementCount(tensor)) {
    return Error{ErrorCode::kInvalid, "",
                 "holds " + std::to_string(values.size()) + " values, expected those of shape " +
                     format::ToString(*dims)};
  }
  format::PackIntegers(values, tensor);
  return tensor;
}

// Value `row` of a file that holds several of equal size.
Result<Tensor> Row(const Tensor& all, std::int64_t row, const format::TensorType& type) {
  const auto dims = type.shape ? format::FixedDims(*type.shape) : std::nullopt;
  if (!dims)
    return Error{ErrorCode::kInvalid, "", "a file of several values needs a type of fixed shape"};
  QTX_ASSIGN_OR_RETURN(Tensor one, format::MakeTensor(all.elem_type, *dims));
  const std::size_t size = one.bytes.size();
  const auto begin = static_cast<std::size_t>(row) * size;
  if (begin + size > all.bytes.size()) {
    return Error{ErrorCode::kInvalid, "", "holds fewer than " + std::to_string(row + 1) + " rows"};
  }
  std::copy_n(all.bytes.begin() + static_cast<std::ptrdiff_t>(begin), size, one.bytes.begin());
  return one;
}

Result<Tensor> ParseTensor(const std::string& bytes, const std::string& path,
                           const format::TensorType& type) {
  if (path.ends_with(".pb")) return ParsePb(bytes, path);
  return path.ends_with(".csv") ? ParseCsv(bytes, type) : format::ParseNpy(bytes);
}

Result<Tensor> LoadTensor(const Case& c, const CaseValue& value, const format::TensorType& type) {
  QTX_ASSIGN_OR_RETURN(const std::string path, PathInFolder(c, value.file));
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(path, format::kMaxTensorBytes));
  auto tensor = ParseTensor(bytes, path, type);
  if (tensor && value.row) tensor = Row(*tensor, *value.row, type);
  if (!tensor) return At(path, tensor.error());
  return tensor;
}

// NumPy has no bfloat16: files, those of ONNX's own tests too, then hold the codes as UINT16.
bool HoldsCodes(ElementType stored, ElementType storage) {
  return stored == ElementType::kUint16 && storage == ElementType::kBfloat16;
}

// Files have the storage type (.npy has a byte per value for types below 8 bits); `type` is the
// quantized type.
Result<Tensor> Retype(Tensor stored, const format::TensorType& type, const std::string& where) {
  if (type.elem_type == ElementType::kUndefined || stored.elem_type == type.elem_type) {
    return stored;
  }
  const ElementType storage = format::StorageOf(type.elem_type);
  if (stored.elem_type == storage || HoldsCodes(stored.elem_type, storage)) {
    stored.elem_type = type.elem_type;
    stored.quantization = type.quantization;
    return stored;
  }
  const bool unpacked =
      format::IsIntegerStorage(type.elem_type) && format::BitWidth(storage) < 8 &&
      (stored.elem_type == ElementType::kInt8 || stored.elem_type == ElementType::kUint8);
  if (!unpacked) {
    return Error{ErrorCode::kInvalid, where,
                 "found " + std::string(format::Name(stored.elem_type)) + ", expected " +
                     std::string(format::Name(storage))};
  }
  const std::vector<std::int64_t> values = format::UnpackIntegers(stored);
  const format::IntegerRange range = format::StorageRange(storage);
  for (const std::int64_t value : values) {
    if (value < range.min || value > range.max) {
      return Error{ErrorCode::kInvalid, where,
                   "found " + std::to_string(value) + ", expected " + std::to_string(range.min) +
                       " to " + std::to_string(range.max)};
    }
  }
  QTX_ASSIGN_OR_RETURN(Tensor packed,
                       format::MakeTensor(type.elem_type, stored.dims, type.quantization));
  format::PackIntegers(values, packed);
  return packed;
}

// The tensor of a value, from data, generator or file; `type` is that of the value or the model.
Result<Tensor> Materialize(const Case& c, const CaseValue& value, const format::TensorType& type) {
  const std::string where = c.where + ": " + value.name;
  if (value.data) return *value.data;
  if (!value.file.empty()) {
    QTX_ASSIGN_OR_RETURN(Tensor stored, LoadTensor(c, value, type));
    return Retype(std::move(stored), type, where);
  }
  if (!value.generator || !type.shape) {
    return Error{ErrorCode::kInvalid, where, "has no data"};
  }
  const auto dims = format::FixedDims(*type.shape);
  if (!dims) return Error{ErrorCode::kInvalid, where, "generate needs a shape of numbers"};
  const auto count = format::ElementCount(*dims);
  if (!count || *count > kMaxCaseElements) {
    return Error{ErrorCode::kTooLarge, where,
                 "generates more than " + std::to_string(kMaxCaseElements) + " elements"};
  }
  auto tensor = Generate(*value.generator, type, *dims, TargetScale(c));
  if (!tensor) return At(where, tensor.error());
  return tensor;
}

// Only quantized constants need a ValueInfo.
Result<void> AddConstant(const Case& c, const CaseValue& value, format::Graph& graph) {
  QTX_ASSIGN_OR_RETURN(const Tensor tensor, Materialize(c, value, value.type));
  graph.initializers.push_back(format::ToTensorData(value.name, tensor));
  if (!value.type.quantization && !value.type.statistics) return {};
  format::ValueInfo info = Declare(value);
  if (!info.type->shape) info.type->shape = format::ToShape(tensor.dims);
  graph.values.push_back(std::move(info));
  return {};
}

std::vector<format::ValueInfo> DeclareOutputs(const Case& c) {
  std::vector<format::ValueInfo> outputs;
  for (const CaseValue& output : c.outputs) outputs.push_back(Declare(output));
  if (!outputs.empty()) return outputs;
  format::ValueInfo y;
  y.name = "y";
  if (!c.inputs.empty()) y.type = c.inputs[0].type;
  if (y.type) y.type->shape.reset();
  outputs.push_back(std::move(y));
  return outputs;
}

format::Node NodeOf(const Operator& op, std::string name) {
  format::Node node;
  node.name = std::move(name);
  node.op_type = op.type;
  node.domain = op.domain;
  node.attributes = op.attributes;
  node.origin = op.origin;
  return node;
}

// The node of an operator case: it reads all inputs and writes all outputs.
format::Node OnlyNode(const Case& c, const format::Graph& graph) {
  format::Node node = NodeOf(*c.op, "node");
  for (const CaseValue& input : c.inputs) node.inputs.push_back(input.absent ? "" : input.name);
  for (const format::ValueInfo& output : graph.outputs) node.outputs.push_back(output.name);
  return node;
}

Result<format::Model> BuildFromNodes(const Case& c) {
  const Operator& first = c.op ? *c.op : c.nodes.front().op;
  format::Model model;
  model.ir_version = kIrVersion;
  model.producer_name = "qtx conformance";
  format::Graph& graph = model.graph;
  graph.name = c.id;
  for (const CaseValue& input : c.inputs) {
    if (input.absent) continue;
    if (input.initializer) {
      QTX_RETURN_IF_ERROR(AddConstant(c, input, graph));
    } else {
      graph.inputs.push_back(Declare(input));
    }
  }
  for (const CaseValue& constant : c.initializers) {
    QTX_RETURN_IF_ERROR(AddConstant(c, constant, graph));
  }
  for (const CaseValue& value : c.values) graph.values.push_back(Declare(value));
  graph.outputs = DeclareOutputs(c);
  if (c.op) graph.nodes.push_back(OnlyNode(c, graph));
  for (const CaseNode& part : c.nodes) {
    graph.nodes.push_back(NodeOf(part, "node" + std::to_string(graph.nodes.size())));
  }
  model.opset_imports = {{"", first.opset},
                         {std::string(format::kDomain), format::FormatVersion(model)}};
  return model;
}

}  // namespace

format::ValueInfo Declare(const CaseValue& value) {
  format::ValueInfo info;
  info.name = value.name;
  info.type = value.type;
  if (!info.type->shape && value.data) info.type->shape = format::ToShape(value.data->dims);
  return info;
}

format::Node NodeOf(const CaseNode& part, std::string name) {
  format::Node node = NodeOf(part.op, std::move(name));
  node.inputs = part.inputs;
  node.outputs = part.outputs;
  return node;
}

Result<std::string> PathInFolder(const Case& c, const std::string& relative) {
  bool leaves = relative.empty() || relative.front() == '/';
  for (std::size_t begin = 0; begin <= relative.size() && !leaves;) {
    const std::size_t end = std::min(relative.find('/', begin), relative.size());
    leaves = relative.compare(begin, end - begin, "..") == 0;
    begin = end + 1;
  }
  if (leaves) {
    return Error{ErrorCode::kInvalid, c.where,
                 "found path '" + relative + "', expected one inside the suite's folder"};
  }
  return c.folder.empty() ? relative : c.folder + "/" + relative;
}

Result<format::Model> BuildModel(const Case& c) {
  if (c.op || !c.nodes.empty()) return BuildFromNodes(c);
  QTX_ASSIGN_OR_RETURN(const std::string path, PathInFolder(c, c.model));
  return c.load ? c.load(path) : format::Model::Load(path);
}

Result<std::vector<Tensor>> BuildInputs(const Case& c, const format::Model& model) {
  std::vector<const CaseValue*> given;
  for (const CaseValue& value : c.inputs) {
    if (!value.absent && !value.initializer) given.push_back(&value);
  }
  std::vector<const format::ValueInfo*> wanted;
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) == nullptr) wanted.push_back(&info);
  }
  if (given.size() != wanted.size()) {
    return Error{ErrorCode::kInvalid, c.where + ": inputs",
                 "found " + std::to_string(given.size()) + " inputs, expected the model's " +
                     std::to_string(wanted.size())};
  }
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // A network's inputs are matched by name, else by order.
    const auto named = std::ranges::find(given, wanted[i]->name, &CaseValue::name);
    const CaseValue& value = named != given.end() ? **named : *given[i];
    if (!wanted[i]->type) {
      return Error{ErrorCode::kUnsupported, c.where + ": inputs",
                   "the model's input '" + wanted[i]->name + "' is no tensor"};
    }
    const bool typed = value.type.elem_type != ElementType::kUndefined;
    QTX_ASSIGN_OR_RETURN(Tensor tensor,
                         Materialize(c, value, typed ? value.type : *wanted[i]->type));
    if (tensor.quantization) {
      const format::TensorType own{tensor.elem_type, format::ToShape(tensor.dims),
                                   tensor.quantization};
      QTX_ASSIGN_OR_RETURN(tensor.quantization, format::Resolve(model, own));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

Result<std::size_t> OutputIndex(const Case& c, const format::Model& model, std::size_t i) {
  const auto& outputs = model.graph.outputs;
  const auto named = std::ranges::find(outputs, c.outputs[i].name, &format::ValueInfo::name);
  if (named != outputs.end()) return static_cast<std::size_t>(named - outputs.begin());
  if (i < outputs.size()) return i;
  return Error{ErrorCode::kInvalid, c.where + ": expect",
               "the model has no output '" + c.outputs[i].name + "'"};
}

Result<std::optional<Tensor>> BuildExpected(const Case& c, const format::Model& model,
                                            std::size_t i) {
  const CaseValue& output = c.outputs[i];
  if (output.data) return output.data;
  if (output.file.empty()) return std::optional<Tensor>();
  QTX_ASSIGN_OR_RETURN(const std::size_t index, OutputIndex(c, model, i));
  const format::ValueInfo& info = model.graph.outputs[index];
  const bool typed = output.type.elem_type != ElementType::kUndefined;
  if (!typed && !info.type) {
    return Error{ErrorCode::kInvalid, c.where + ": expect", "the model's output is not a tensor"};
  }
  QTX_ASSIGN_OR_RETURN(Tensor tensor, Materialize(c, output, typed ? output.type : *info.type));
  return std::optional<Tensor>(std::move(tensor));
}

}  // namespace qtx::conformance
