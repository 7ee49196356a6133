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

Caffe2Builder::Caffe2Builder(const Caffe2Net& net, std::map<std::string, TensorType> types,
                             Ledger& ledger)
    : net_(net), ledger_(ledger), input_types_(std::move(types)) {
  out_.graph().name = net.name.empty() ? "net" : net.name;
  outputs_.insert(net.outputs.begin(), net.outputs.end());
  for (const Caffe2Operator& op : net.operators) {
    blobs_.insert(op.inputs.begin(), op.inputs.end());
    blobs_.insert(op.outputs.begin(), op.outputs.end());
    if (!IsFill(op) && !op.outputs.empty()) ++writes_[op.outputs[0]];
  }
  for (const std::string& blob : blobs_) out_.names().Take(blob);
}

// The last value written to a blob gets its name.
std::string Caffe2Builder::NewName(const std::string& blob) {
  const auto writes = writes_.find(blob);
  const bool last = writes == writes_.end() || writes->second <= 1;
  if (writes != writes_.end() && writes->second > 0) --writes->second;
  return last && claimed_.insert(blob).second ? blob : out_.Unique(blob + "/earlier");
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
  claimed_.insert(blob);
  inputs_.insert(blob);
  value.forms.own = blob;
  out_.AddInput(blob, value.type);
  return values_[blob] = std::move(value);
}

TensorType Caffe2Builder::Type(const std::string& blob) { return ValueOf(blob).type; }

Result<TensorType> Caffe2Builder::QuantizedType(const std::string& blob) {
  const Value& value = ValueOf(blob);
  if (value.type.quantization) return value.type;
  if (!inputs_.contains(value.forms.own) || input_types_.contains(blob)) {
    return Unsupported(Quoted(blob), "found " + std::string(format::Name(value.type.elem_type)) +
                                         ", expected a quantized value");
  }
  return Unsupported(Quoted(blob),
                     "an input whose scale the net does not say; "
                     "give a value_info.json (--with) "
                     "that has \"" +
                         blob + "\": [2, [dims], scale, zero point]");
}

const format::Tensor* Caffe2Builder::Constant(const std::string& blob) const {
  const auto found = values_.find(blob);
  if (found == values_.end() || !found->second.constant) return nullptr;
  return &*found->second.constant;
}

Layout Caffe2Builder::Preferred(const std::string& blob) const {
  const auto found = values_.find(blob);
  return found != values_.end() && found->second.forms.own.empty() &&
                 !found->second.forms.first.empty()
             ? Layout::kFirst
             : Layout::kOwn;
}

Result<std::string> Caffe2Builder::Use(const std::string& blob, Layout order) {
  Value& value = ValueOf(blob);
  const bool first = order == Layout::kFirst;
  if (first && !HasRank(value.type, 4)) {
    return Invalid(Quoted(blob),
                   "rank " + std::to_string(value.type.shape->size()) + ", expected 4");
  }
  if (value.constant) return UseConstant(blob, first ? NhwcToNchw() : Permutation{});
  return UseForm(out_, value.forms, order, value.type, blob);
}

std::string Caffe2Builder::AddInitializer(const std::string& name, const format::Tensor& tensor) {
  if (!blobs_.contains(name) || !claimed_.insert(name).second)
    return out_.AddConstant(name + "/constant", tensor);
  out_.SetConstant(name, tensor);
  return name;
}

std::string Caffe2Builder::UseConstant(const std::string& blob, const Permutation& perm) {
  Value& value = values_.at(blob);
  std::string& name = perm.empty() ? value.forms.own : converted_[blob][perm];
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

void Caffe2Builder::Append(const Caffe2Operator* op, Draft draft, std::string output) {
  const std::string stem = op == nullptr ? output : std::to_string(op->index);
  std::optional<format::Origin> origin;
  if (op != nullptr) origin = OriginOf(*op);
  out_.Add(stem, std::move(draft), {std::move(output)}, std::move(origin));
}

std::string Caffe2Builder::EmitInner(const Caffe2Operator& op, Draft draft, const std::string& name,
                                     TensorType type) {
  std::string unique = out_.Inner(name, std::move(type));
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

Result<void> Caffe2Builder::Emit(const Caffe2Operator& op, Draft draft, TensorType type,
                                 Layout order, bool relu) {
  if (op.outputs.empty() || op.outputs[0].empty()) return Invalid("output", "missing");
  const std::string& blob = op.outputs[0];
  if (order == Layout::kFirst && !type.shape) type.shape = UnknownShape(4);
  NoteType(blob, type);
  if (relu && type.quantization) FuseRelu(blob, type);
  if (relu && !type.quantization) {
    draft = {
        "Relu", {EmitInner(op, std::move(draft), blob + "/linear", InLayout(order, type))}, {}};
  }
  // An output of the graph has the blob's name in the net's own order.
  Value value;
  value.type = type;
  std::string name = NewName(blob);
  if (order == Layout::kFirst && outputs_.contains(blob) && name == blob) {
    claimed_.erase(blob);
    name = out_.Unique(blob + "/nchw");
  }
  value.forms.In(order) = name;
  out_.Declare(name, InLayout(order, std::move(type)));
  Append(&op, std::move(draft), std::move(name));
  values_[blob] = std::move(value);
  return {};
}

Result<void> Caffe2Builder::AddOutput(const std::string& blob) {
  const auto found = values_.find(blob);
  if (found == values_.end() || found->second.constant)
    return Unsupported(Quoted(blob), "an output that no operator produces");
  Value& value = found->second;
  const bool edge = value.forms.own.empty() && claimed_.insert(blob).second;
  const std::string name = UseForm(out_, value.forms, Layout::kOwn, value.type, blob, edge);
  if (inputs_.contains(name))
    return Unsupported(Quoted(blob), "an output that no operator produces");
  if (name != blob)
    ledger_.Changed(blob, "name", "the output is '" + name + "', for '" + blob + "' is taken");
  out_.AddOutput(name, value.type);
  return {};
}

Result<format::Graph> Caffe2Builder::Finish() {
  std::set<std::string> seen;
  for (const std::string& blob : net_.outputs) {
    if (!seen.insert(blob).second) continue;
    QTX_RETURN_IF_ERROR(AddOutput(blob));
  }
  return out_.Finish();
}

}  // namespace qtx::convert
