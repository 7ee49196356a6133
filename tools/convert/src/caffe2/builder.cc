#include "caffe2/builder.h"

#include <algorithm>

#include "caffe2/fill.h"
#include "caffe2/value_info.h"
#include "errors.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::TensorType;

std::string Quoted(const std::string& blob) { return "blob '" + blob + "'"; }

// Values of an operator's fill are in the model already.
constexpr std::size_t kMaxOriginValues = 64;

void AddArgument(const std::string& name, const Caffe2Argument& argument,
                 std::vector<Attribute>& to) {
  if (argument.f) to.push_back(Attribute::Float(name, *argument.f));
  if (argument.i) to.push_back(Attribute::Int(name, *argument.i));
  if (argument.s && argument.s->size() <= kMaxOriginValues)
    to.push_back(Attribute::String(name, *argument.s));
  if (!argument.ints.empty() && argument.ints.size() <= kMaxOriginValues)
    to.push_back(Attribute::Ints(name, argument.ints));
  if (!argument.floats.empty() && argument.floats.size() <= kMaxOriginValues)
    to.push_back(Attribute::Floats(name, argument.floats));
}

format::Origin OriginOf(const Caffe2Operator& op) {
  format::Origin origin{.group = std::to_string(op.index),
                        .framework = "caffe2",
                        .op_type = op.type,
                        .name = op.name};
  for (const auto& [name, argument] : op.arguments) AddArgument(name, argument, origin.attributes);
  return origin;
}

// Bytes as INT32Q: the integers and the zero point that the net says.
format::Tensor Widened(const format::Tensor& bytes) {
  format::Tensor wide{ElementType::kInt32Q, bytes.dims, bytes.quantization, {}};
  std::vector<std::int32_t> stored = format::UnpackInt32(bytes);
  for (std::int32_t& value : stored) value += kCaffe2Shift;
  for (std::int32_t& offset : wide.quantization->offset) offset += kCaffe2Shift;
  if (wide.quantization->offset.empty()) wide.quantization->offset = {kCaffe2Shift};
  if (wide.quantization->offset == std::vector<std::int32_t>{0}) wide.quantization->offset.clear();
  const auto data = std::as_bytes(std::span(stored));
  wide.bytes.assign(data.begin(), data.end());
  return wide;
}

bool HasRank(const TensorType& type, std::size_t rank) {
  return !type.shape || type.shape->size() == rank;
}

}  // namespace

format::Shape UnknownShape(std::size_t rank) { return format::Shape(rank); }

TensorType PermutedType(TensorType type, const Permutation& perm) {
  if (type.shape) {
    format::Shape moved;
    for (const std::int64_t from : perm)
      moved.push_back((*type.shape)[static_cast<std::size_t>(from)]);
    type.shape = std::move(moved);
  }
  if (type.quantization) {
    for (std::int64_t& axis : type.quantization->axis) axis = PermuteAxis(axis, perm);
  }
  return type;
}

Caffe2Builder::Caffe2Builder(const Caffe2Net& net, std::map<std::string, TensorType> types,
                             Ledger& ledger)
    : net_(net), ledger_(ledger), input_types_(std::move(types)) {
  graph_.name = net.name.empty() ? "net" : net.name;
  outputs_.insert(net.outputs.begin(), net.outputs.end());
  for (const Caffe2Operator& op : net.operators) {
    blobs_.insert(op.inputs.begin(), op.inputs.end());
    blobs_.insert(op.outputs.begin(), op.outputs.end());
    if (!IsFill(op) && !op.outputs.empty()) ++writes_[op.outputs[0]];
  }
}

std::string Caffe2Builder::Unique(std::string name) {
  const std::string stem = name;
  for (int n = 2; blobs_.contains(name) || !names_.insert(name).second; ++n)
    name = stem + "#" + std::to_string(n);
  return name;
}

// The last value written to a blob gets its name.
std::string Caffe2Builder::NewName(const std::string& blob) {
  const auto writes = writes_.find(blob);
  const bool last = writes == writes_.end() || writes->second <= 1;
  if (writes != writes_.end() && writes->second > 0) --writes->second;
  return last && names_.insert(blob).second ? blob : Unique(blob + "/earlier");
}

void Caffe2Builder::NoteType(const std::string& value, const TensorType& type) {
  if (!type.quantization) return;
  ledger_.Kept(value, "scale");
  if (type.elem_type == ElementType::kInt8Q) {
    ledger_.Changed(value, "elem_type",
                    "INT8Q: stored values and zero point reduced by 128, same reals");
  } else {
    ledger_.Kept(value, "offset");
  }
}

void Caffe2Builder::Declare(const std::string& name, TensorType type) {
  format::ValueInfo info;
  info.name = name;
  info.type = std::move(type);
  graph_.values.push_back(std::move(info));
}

void Caffe2Builder::SetConstant(const std::string& blob, format::Tensor tensor) {
  Value value;
  value.type.elem_type = tensor.elem_type;
  value.type.shape = format::ToShape(tensor.dims);
  value.type.quantization = tensor.quantization;
  NoteType(blob, value.type);
  value.constant = std::move(tensor);
  values_[blob] = std::move(value);
  converted_.erase(blob);
}

// An unwritten blob is an input.
Caffe2Builder::Value& Caffe2Builder::ValueOf(const std::string& blob) {
  if (const auto found = values_.find(blob); found != values_.end()) return found->second;
  Value value;
  value.type.elem_type = ElementType::kFloat;
  if (const auto known = input_types_.find(blob); known != input_types_.end())
    value.type = known->second;
  NoteType(blob, value.type);
  names_.insert(blob);
  inputs_.insert(blob);
  value.own = blob;
  format::ValueInfo info;
  info.name = blob;
  info.type = value.type;
  graph_.inputs.push_back(std::move(info));
  return values_[blob] = std::move(value);
}

TensorType Caffe2Builder::Type(const std::string& blob) { return ValueOf(blob).type; }

Result<TensorType> Caffe2Builder::QuantizedType(const std::string& blob) {
  const Value& value = ValueOf(blob);
  if (value.type.quantization) return value.type;
  if (!inputs_.contains(value.own) || input_types_.contains(blob)) {
    return Unsupported(Quoted(blob), "found " + std::string(format::Name(value.type.elem_type)) +
                                         ", expected a quantized value");
  }
  return Unsupported(Quoted(blob),
                     "an input whose scale the net does not say; give a value_info.json (--with) "
                     "that has \"" +
                         blob + "\": [2, [dims], scale, zero point]");
}

const format::Tensor* Caffe2Builder::Constant(const std::string& blob) const {
  const auto found = values_.find(blob);
  if (found == values_.end() || !found->second.constant) return nullptr;
  return &*found->second.constant;
}

ChannelOrder Caffe2Builder::Preferred(const std::string& blob) const {
  const auto found = values_.find(blob);
  return found != values_.end() && found->second.own.empty() && !found->second.first.empty()
             ? ChannelOrder::kFirst
             : ChannelOrder::kOwn;
}

Result<std::string> Caffe2Builder::Use(const std::string& blob, ChannelOrder order) {
  Value& value = ValueOf(blob);
  const bool first = order == ChannelOrder::kFirst;
  if (first && !HasRank(value.type, 4)) {
    return Invalid(Quoted(blob),
                   "rank " + std::to_string(value.type.shape->size()) + ", expected 4");
  }
  if (value.constant) return UseConstant(blob, first ? NhwcToNchw() : Permutation{});
  std::string& wanted = first ? value.first : value.own;
  if (!wanted.empty()) return wanted;
  const std::string& other = first ? value.own : value.first;
  const Permutation& perm = first ? NhwcToNchw() : NchwToNhwc();
  const std::string name = Unique(blob + (first ? "/nchw" : "/nhwc"));
  Declare(name, first ? PermutedType(value.type, perm) : value.type);
  Append(nullptr, {"Transpose", {other}, {Attribute::Ints("perm", perm)}}, name);
  wanted = name;
  return name;
}

std::string Caffe2Builder::AddInitializer(const std::string& name, const format::Tensor& tensor) {
  std::string unique =
      blobs_.contains(name) && names_.insert(name).second ? name : Unique(name + "/constant");
  if (tensor.quantization) {
    TensorType type;
    type.elem_type = tensor.elem_type;
    type.shape = format::ToShape(tensor.dims);
    type.quantization = tensor.quantization;
    Declare(unique, std::move(type));
  }
  graph_.initializers.push_back(format::ToTensorData(unique, tensor));
  return unique;
}

std::string Caffe2Builder::AddInts(const std::string& name,
                                   const std::vector<std::int64_t>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  const format::Tensor tensor{ElementType::kInt64,
                              {static_cast<std::int64_t>(values.size())},
                              std::nullopt,
                              {bytes.begin(), bytes.end()}};
  std::string unique = Unique(name);
  graph_.initializers.push_back(format::ToTensorData(unique, tensor));
  return unique;
}

std::string Caffe2Builder::UseConstant(const std::string& blob, const Permutation& perm) {
  Value& value = values_.at(blob);
  std::string& name = perm.empty() ? value.own : converted_[blob][perm];
  if (!name.empty()) return name;
  if (perm.empty()) return name = AddInitializer(blob, *value.constant);
  const format::Tensor moved = Permute(*value.constant, perm);
  ledger_.Changed(blob, "layout",
                  "constant stored as " + format::ToString(moved.dims) + ", channels first");
  return name = AddInitializer(blob, moved);
}

std::string Caffe2Builder::UseBias(const std::string& blob) {
  const Value& value = ValueOf(blob);
  if (!value.constant || value.type.elem_type != ElementType::kInt8Q) return *Use(blob);
  std::string& name = converted_[blob][{-1}];  // no permutation is so
  if (!name.empty()) return name;
  ledger_.Changed(blob, "elem_type", "INT32Q, as a bias is added; the same reals");
  return name = AddInitializer(blob, Widened(*value.constant));
}

void Caffe2Builder::Append(const Caffe2Operator* op, Caffe2Draft draft, std::string output) {
  format::Node node;
  const std::string stem =
      (op == nullptr ? output : std::to_string(op->index)) + "/" + draft.op_type;
  node.name = stem;
  for (int n = 2; !node_names_.insert(node.name).second; ++n)
    node.name = stem + "#" + std::to_string(n);
  node.op_type = std::move(draft.op_type);
  node.inputs = std::move(draft.inputs);
  node.outputs = {std::move(output)};
  node.attributes = std::move(draft.attributes);
  if (op != nullptr) node.origin = OriginOf(*op);
  graph_.nodes.push_back(std::move(node));
}

std::string Caffe2Builder::EmitInner(const Caffe2Operator& op, Caffe2Draft draft,
                                     const std::string& name, TensorType type) {
  std::string unique = Unique(name);
  Declare(unique, std::move(type));
  Append(&op, std::move(draft), unique);
  return unique;
}

// Source: PyTorch, caffe2/operators/quantized/int8_utils.h, activationLimits: no stored value lies
// below that of 0.
void Caffe2Builder::FuseRelu(const std::string& blob, TensorType& type) {
  format::Quantization& q = *type.quantization;
  const std::int64_t zero = format::OffsetAt(q, 0);
  if (zero > format::StorageRange(type.elem_type).min) q.quant_min = zero;
  ledger_.Changed(blob, "relu", "no stored value below " + std::to_string(zero) + ", which is 0");
}

Result<void> Caffe2Builder::Emit(const Caffe2Operator& op, Caffe2Draft draft, TensorType type,
                                 ChannelOrder order, bool relu) {
  if (op.outputs.empty() || op.outputs[0].empty()) return Invalid("output", "missing");
  const std::string& blob = op.outputs[0];
  const auto shown = [&](TensorType own) {
    return order == ChannelOrder::kFirst ? PermutedType(std::move(own), NhwcToNchw()) : own;
  };
  if (order == ChannelOrder::kFirst && !type.shape) type.shape = UnknownShape(4);
  NoteType(blob, type);
  if (relu && type.quantization) FuseRelu(blob, type);
  if (relu && !type.quantization) {
    draft = {"Relu", {EmitInner(op, std::move(draft), blob + "/linear", shown(type))}, {}};
  }
  // An output of the graph has the blob's name in the net's own order.
  Value value;
  value.type = type;
  std::string name = NewName(blob);
  if (order == ChannelOrder::kFirst && outputs_.contains(blob) && name == blob) {
    names_.erase(blob);
    name = Unique(blob + "/nchw");
  }
  (order == ChannelOrder::kFirst ? value.first : value.own) = name;
  Declare(name, shown(std::move(type)));
  Append(&op, std::move(draft), std::move(name));
  values_[blob] = std::move(value);
  return {};
}

Result<void> Caffe2Builder::AddOutput(const std::string& blob) {
  const auto found = values_.find(blob);
  if (found == values_.end() || found->second.constant)
    return Unsupported(Quoted(blob), "an output that no operator produces");
  Value& value = found->second;
  if (value.own.empty() && names_.insert(blob).second) {
    value.own = blob;
    Append(nullptr, {"Transpose", {value.first}, {Attribute::Ints("perm", NchwToNhwc())}}, blob);
  }
  format::ValueInfo info;
  QTX_ASSIGN_OR_RETURN(info.name, Use(blob));
  if (inputs_.contains(info.name))
    return Unsupported(Quoted(blob), "an output that no operator produces");
  if (info.name != blob)
    ledger_.Changed(blob, "name", "the output is '" + info.name + "', for '" + blob + "' is taken");
  info.type = value.type;
  graph_.outputs.push_back(std::move(info));
  return {};
}

Result<format::Graph> Caffe2Builder::Finish() {
  std::set<std::string> seen;
  for (const std::string& blob : net_.outputs) {
    if (!seen.insert(blob).second) continue;
    QTX_RETURN_IF_ERROR(AddOutput(blob));
  }
  std::set<std::string> declared;  // as outputs
  for (const format::ValueInfo& info : graph_.outputs) declared.insert(info.name);
  std::erase_if(graph_.values, [&](const auto& info) { return declared.contains(info.name); });
  return std::move(graph_);
}

}  // namespace qtx::convert
