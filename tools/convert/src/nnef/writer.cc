#include "nnef/writer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "errors.h"
#include "nnef/dat.h"
#include "nnef/files.h"
#include "nnef/quant.h"
#include "qtx/format/levels.h"

namespace qtx::convert::nnef {
namespace {

using format::Dims;
using format::ElementType;
using format::Node;
using format::TensorType;

// Words of the text that name no tensor.
constexpr std::array<std::string_view, 24> kReserved = {
    "version", "extension", "graph",    "fragment", "tensor",    "integer",  "scalar", "logical",
    "string",  "true",      "false",    "for",      "in",        "if",       "else",   "yield",
    "and",     "or",        "lengthof", "shape_of", "length_of", "range_of", "not",    "literal"};

const char* TypeName(ElementType type) {
  if (type == ElementType::kBool) return "logical";
  const bool scalar = type == ElementType::kFloat || format::IsQuantized(type);
  return scalar ? "scalar" : "integer";
}

bool HasForm(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kInt64 || type == ElementType::kBool ||
         format::IsQuantized(type);
}

// A path within the folder: letters, digits and "._-/", no empty part and none of dots.
std::string LabelOf(const std::string& name) {
  std::string label;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    const bool part = c == '/' && !label.empty() && label.back() != '/';
    label += good || part ? c : '_';
    if (c == '.' && (label.size() == 1 || label[label.size() - 2] == '/')) label.back() = '_';
  }
  if (label.empty() || label.back() == '/') label += '_';
  return label.substr(0, 200);
}

}  // namespace

std::string ListText(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

std::string Writer::NewId(const std::string& wanted) {
  std::string id;
  for (const char c : wanted) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (id.empty() && digit) id = "t";
    id += letter || digit ? c : '_';
  }
  if (id.empty() || std::ranges::find(kReserved, id) != kReserved.end()) id += "_";
  while (!ids_.emplace(id, 1).second) id += "_" + std::to_string(++ids_[id]);
  return id;
}

Result<TensorType> Writer::TypeOf(const std::string& value) const {
  TensorType type;
  const format::ValueFacts* facts = inference_.Find(value);
  const TensorType* declared = graph_.TypeOf(value);
  if (facts != nullptr) type.elem_type = facts->type;
  if (declared != nullptr) type = *declared;
  if (!HasForm(type.elem_type))
    return Unsupported("value '" + value + "'",
                       "type " + std::string(format::Name(type.elem_type)) +
                           ", expected FLOAT, INT64, BOOL or quantized integers");
  const bool fixed = facts != nullptr && facts->dims &&
                     std::ranges::all_of(*facts->dims, [](std::int64_t d) { return d >= 0; });
  if (!fixed) return Unsupported("value '" + value + "'", "unknown sizes, which NNEF has not");
  if (std::ranges::find(*facts->dims, 0) != facts->dims->end())
    return Unsupported("value '" + value + "'", "no elements: a size of 0, which NNEF has not");
  type.shape = format::ToShape(*facts->dims);
  if (!format::IsQuantized(type.elem_type)) {
    type.quantization.reset();
    return type;
  }
  auto resolved = format::Resolve(graph_.view(), type, value);
  if (!resolved.has_value()) return At("value '" + value + "'", resolved.error());
  type.quantization = *std::move(resolved);
  for (std::int64_t& axis : type.quantization->axis)
    axis += axis < 0 ? static_cast<std::int64_t>(facts->dims->size()) : 0;
  return type;
}

Result<Dims> Writer::DimsOf(const std::string& value) const {
  QTX_ASSIGN_OR_RETURN(const TensorType type, TypeOf(value));
  return *format::FixedDims(*type.shape);
}

Result<void> Writer::NoteQuantization(const std::string& id, const TensorType& type) {
  if (!type.quantization) return {};
  auto entry = EntryOf(id, type);
  if (!entry.has_value()) return entry.error();
  quant_ += *entry;
  ledger_.Kept(id, "scale");
  ledger_.Kept(id, "offset");
  return {};
}

Result<OutTensor> Writer::Constant(const std::string& value, const Dims& dims) {
  QTX_ASSIGN_OR_RETURN(auto constant, graph_.Constant(value));
  if (!constant) return Invalid("value '" + value + "'", "nothing defines it before");
  QTX_ASSIGN_OR_RETURN(TensorType type, TypeOf(value));
  const Dims own = constant->dims;
  constant->elem_type = type.elem_type;
  constant->dims = dims;
  constant->quantization = type.quantization;
  type.shape = format::ToShape(dims);
  if (type.quantization && !type.quantization->axis.empty() && own != dims) {
    // Only ones come before or go.
    std::int64_t& axis = type.quantization->axis[0];
    axis += static_cast<std::int64_t>(dims.size()) - static_cast<std::int64_t>(own.size());
  }
  // The grammar has no word for an infinity or a NaN, but a binary holds them.
  if (type.elem_type == ElementType::kFloat && own.empty() &&
      std::isfinite(constant->As<float>()[0]))
    return OutTensor{Decimal(static_cast<double>(constant->As<float>()[0])), {}, type.elem_type};
  const std::string key = value + "\n" + format::ToString(dims);
  if (const auto found = values_.find(key); found != values_.end())
    return OutTensor{found->second, dims, type.elem_type};
  std::string label = LabelOf(value);
  while (!labels_.emplace(label, value).second) label += "_";
  auto binary = DatOf(*constant);
  if (!binary.has_value()) return At("value '" + value + "'", binary.error());
  const std::string id = NewId(value);
  QTX_RETURN_IF_ERROR(NoteQuantization(id, type));
  text_ += "    " + id + " = variable<" + TypeName(type.elem_type) + ">(shape = " + ListText(dims) +
           ", label = '" + label + "');\n";
  binaries_.push_back({label + ".dat", {format::Piece(*std::move(binary))}});
  values_.emplace(key, id);
  return OutTensor{id, dims, type.elem_type};
}

Result<OutTensor> Writer::Input(const Node& node, std::size_t i) {
  if (!Has(node, i)) return Invalid("", "input " + std::to_string(i) + " is absent");
  QTX_ASSIGN_OR_RETURN(const TensorType type, TypeOf(node.inputs[i]));
  const Dims dims = *format::FixedDims(*type.shape);
  const auto found = values_.find(node.inputs[i]);
  if (found != values_.end()) return OutTensor{found->second, dims, type.elem_type};
  return Constant(node.inputs[i], dims);
}

Result<OutTensor> Writer::Aligned(const Node& node, std::size_t i, std::size_t rank) {
  if (!Has(node, i)) return Invalid("", "input " + std::to_string(i) + " is absent");
  QTX_ASSIGN_OR_RETURN(Dims dims, DimsOf(node.inputs[i]));
  const std::size_t missing = rank - std::min(rank, dims.size());
  if (missing == 0 || dims.empty()) return Input(node, i);
  dims.insert(dims.begin(), missing, 1);
  if (!values_.contains(node.inputs[i])) return Constant(node.inputs[i], dims);
  QTX_ASSIGN_OR_RETURN(const OutTensor own, Input(node, i));
  std::vector<std::int64_t> axes;
  for (std::size_t k = 0; k < missing; ++k) axes.push_back(static_cast<std::int64_t>(k));
  OutTensor aligned = Inner("unsqueeze(" + own.id + ", axes = " + ListText(axes) + ")", dims);
  aligned.type = own.type;
  return aligned;
}

Result<OutTensor> Writer::Channels(const Node& node, std::size_t i) { return Aligned(node, i, 2); }

Result<std::vector<std::int64_t>> Writer::Ints(const Node& node, std::size_t i) const {
  QTX_ASSIGN_OR_RETURN(const auto constant, graph_.Constant(node.inputs[i]));
  if (constant && format::IsIntegerStorage(constant->elem_type))
    return format::UnpackIntegers(*constant);
  return Unsupported("", "input " + std::to_string(i) + " is computed; NNEF has an attribute");
}

OutTensor Writer::Inner(const std::string& text, Dims dims) {
  const std::string id = NewId("inner");
  text_ += "    " + id + " = " + text + ";\n";
  return {id, std::move(dims), ElementType::kFloat};
}

Result<std::string> Writer::Define(const std::string& value) {
  QTX_ASSIGN_OR_RETURN(const TensorType type, TypeOf(value));
  const std::string id = NewId(value);
  QTX_RETURN_IF_ERROR(NoteQuantization(id, type));
  values_.emplace(value, id);
  return id;
}

Result<void> Writer::Emit(const Node& node, const std::string& text, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(const std::string id, Define(node.outputs[i]));
  text_ += "    " + id + " = " + text + ";\n";
  return {};
}

Result<void> Writer::EmitAll(const Node& node, const std::string& text) {
  std::string ids;
  for (const std::string& output : node.outputs) {
    QTX_ASSIGN_OR_RETURN(const std::string id, Define(output));
    ids += (ids.empty() ? "" : ", ") + id;
  }
  text_ += "    [" + ids + "] = " + text + ";\n";
  return {};
}

Result<void> Writer::AddInput(const std::string& value) {
  if (graph_.Initializer(value) != nullptr)
    return Unsupported("input '" + value + "'", "has a default, an initializer");
  QTX_ASSIGN_OR_RETURN(const TensorType type, TypeOf(value));
  QTX_ASSIGN_OR_RETURN(const std::string id, Define(value));
  text_ += "    " + id + " = external<" + TypeName(type.elem_type) +
           ">(shape = " + ListText(*format::FixedDims(*type.shape)) + ");\n";
  return {};
}

Result<std::string> Writer::Find(const std::string& value) const {
  const auto found = values_.find(value);
  if (found != values_.end()) return found->second;
  return Unsupported("output '" + value + "'", "is a constant, which no operator of NNEF gives");
}

std::vector<OutputFile> Writer::Files(const std::string& name,
                                      const std::vector<std::string>& inputs,
                                      const std::vector<std::string>& outputs) const {
  const auto joined = [](const std::vector<std::string>& ids) {
    std::string text;
    for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
    return text;
  };
  std::string text = "version 1.0;\n\ngraph " + name + "(" + joined(inputs) + ") -> (" +
                     joined(outputs) + ")\n{\n" + text_ + "}\n";
  std::vector<OutputFile> files = {{std::string(kGraphFile), {format::Piece(std::move(text))}}};
  if (!quant_.empty()) files.push_back({std::string(kQuantFile), {format::Piece(quant_)}});
  files.insert(files.end(), binaries_.begin(), binaries_.end());
  return files;
}

}  // namespace qtx::convert::nnef
