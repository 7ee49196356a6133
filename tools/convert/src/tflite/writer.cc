#include "tflite/writer.h"

#include <algorithm>
#include <limits>

#include "errors.h"
#include "qtx/format/levels.h"
#include "tflite/plain_types.h"
#include "tflite/tensor_out.h"
#include "tflite/versions.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using schema::BuiltinOperator;

format::TensorType Plain(const format::TensorType& type) {
  format::TensorType plain;
  plain.elem_type = type.quantization ? ElementType::kFloat : type.elem_type;
  return plain;
}

// Source: LiteRT 2.3, kernels/dequantize.cc.
bool IsDequantized(const format::TensorType& type) {
  const format::Quantization& q = *type.quantization;
  const bool bytes =
      type.elem_type == ElementType::kInt8Q || type.elem_type == ElementType::kUint8Q;
  const bool wide =
      type.elem_type == ElementType::kInt16Q && q.scale.size() == 1 && format::OffsetAt(q, 0) == 0;
  return !HasBlocks(q) && (bytes || wide);
}

}  // namespace

bool SameGrid(const format::TensorType& a, const format::TensorType& b) {
  if (a.elem_type != b.elem_type || a.quantization.has_value() != b.quantization.has_value()) {
    return false;
  }
  if (!a.quantization) return true;
  const format::Quantization &p = *a.quantization, &q = *b.quantization;
  return p.scale == q.scale && p.axis == q.axis && p.block_shape == q.block_shape &&
         format::OffsetAt(p, 0) == format::OffsetAt(q, 0);
}

format::TensorType ToSigned(format::TensorType type) {
  if (type.elem_type != ElementType::kUint8Q) return type;
  type.elem_type = ElementType::kInt8Q;
  format::Quantization& q = *type.quantization;
  if (q.offset.empty()) q.offset.assign(q.scale.size(), 0);
  for (std::int32_t& offset : q.offset) offset -= 128;
  if (q.quant_min) *q.quant_min -= 128;
  if (q.quant_max) *q.quant_max -= 128;
  return type;
}

TfliteWriter::TfliteWriter(const GraphIndex& graph, bool to_signed,
                           const std::set<std::string>& halves, Ledger& ledger)
    : graph_(graph), to_signed_(to_signed), halves_(halves), ledger_(ledger) {
  model_.version = 3;
  model_.buffers.push_back(std::make_unique<schema::BufferT>());
  model_.subgraphs.push_back(std::make_unique<schema::SubGraphT>());
  tables_ = model_.subgraphs[0].get();
}

Result<format::TensorType> TfliteWriter::Type(const std::string& value) const {
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  if (const format::TensorType* declared = graph_.TypeOf(value)) {
    type = *declared;
  } else if (const format::TensorData* data = graph_.Initializer(value)) {
    type.elem_type = data->data_type;
  } else if (const auto found = inferred_.find(value); found != inferred_.end()) {
    type = found->second;
  }
  if (!format::IsQuantized(type.elem_type)) type.quantization.reset();  // an annotation
  if (type.quantization) {
    QTX_ASSIGN_OR_RETURN(type.quantization, format::Resolve(graph_.view(), type, value));
    if (format::HasBase(*type.quantization)) {
      return Unsupported("value '" + value + "'", "base_levels: TFLite has no base");
    }
    if (!format::HasIntegerForm(*type.quantization)) {
      return Unsupported("value '" + value + "'",
                         "TFLite has no code book and no scale of 0 or below");
    }
  }
  return to_signed_ ? ToSigned(std::move(type)) : type;
}

Result<format::Dims> TfliteWriter::Dims(const std::string& value) const {
  if (const format::TensorData* data = graph_.Initializer(value)) return data->dims;
  if (const auto found = dims_.find(value); found != dims_.end()) return found->second;
  return Error{ErrorCode::kInvalid, Quoted(value), "used before a node produces it"};
}

Result<format::Tensor> TfliteWriter::Constant(const std::string& value) const {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::LoadInitializer(graph_.view(), value));
  if (!to_signed_ || tensor.elem_type != ElementType::kUint8Q) return tensor;
  format::TensorType type;
  type.elem_type = tensor.elem_type;
  type.quantization = tensor.quantization;
  type = ToSigned(std::move(type));
  tensor.elem_type = type.elem_type;
  tensor.quantization = type.quantization;
  for (std::byte& byte : tensor.bytes) byte ^= std::byte{0x80};
  return tensor;
}

Result<std::vector<std::int64_t>> TfliteWriter::Integers(const std::string& value) const {
  if (!IsConstant(value)) return Unsupported(Quoted(value), "not a constant");
  QTX_ASSIGN_OR_RETURN(const format::Tensor tensor, Constant(value));
  if (tensor.elem_type != ElementType::kInt64 && tensor.elem_type != ElementType::kInt32) {
    return Unsupported(Quoted(value), "not of integers");
  }
  return format::UnpackIntegers(tensor);
}

std::optional<int> TfliteWriter::Find(const std::string& value, Order order) const {
  const auto found = forms_.find({value, order});
  return found == forms_.end() ? std::nullopt : std::optional(found->second);
}

Order TfliteWriter::Common(const std::vector<std::string>& values) const {
  bool nhwc = false;
  for (const std::string& value : values) {
    const auto dims = Dims(value);
    if (!dims.has_value() || dims->size() != 4) return Order::kOnnx;
    nhwc |= Find(value, Order::kNhwc) && !Find(value, Order::kOnnx);
  }
  return nhwc ? Order::kNhwc : Order::kOnnx;
}

Result<int> TfliteWriter::AddTensor(const std::string& name, const format::TensorType& type) {
  auto tensor = std::make_unique<schema::TensorT>();
  if (auto set = SetTensorType(type, *tensor); !set.has_value())
    return At(Quoted(name), set.error());
  tensor->name = name;
  tables_->tensors.push_back(std::move(tensor));
  return static_cast<int>(tables_->tensors.size()) - 1;
}

Result<int> TfliteWriter::AddConstant(const std::string& name, const format::Tensor& constant) {
  if (constant.quantization && HasBlocks(*constant.quantization)) return AddBlocks(name, constant);
  if (!halves_.contains(name)) return AddStored(name, constant);
  format::Tensor half{ElementType::kFloat16, constant.dims, {}, {}};
  half.bytes.resize(constant.bytes.size() / 2);
  const std::span<const float> values = constant.As<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    half.As<std::uint16_t>()[i] = static_cast<std::uint16_t>(
        format::EncodeSmallFloat(ElementType::kFloat16, static_cast<double>(values[i])));
  }
  QTX_ASSIGN_OR_RETURN(const int stored, AddStored(name + "/half", half));
  format::TensorType type;
  type.elem_type = ElementType::kFloat;
  type.shape = format::ToShape(constant.dims);
  QTX_ASSIGN_OR_RETURN(const int index, AddTensor(name, type));
  Call call{BuiltinOperator::DEQUANTIZE, {stored}, {}};
  call.options.Set(schema::DequantizeOptionsT());
  Append(std::move(call), {index});
  return index;
}

Result<int> TfliteWriter::AddStored(const std::string& name, const format::Tensor& constant) {
  format::TensorType type;
  type.elem_type = constant.elem_type;
  type.shape = format::ToShape(constant.dims);
  type.quantization = constant.quantization;
  if (const format::TensorType* declared = graph_.TypeOf(name)) {
    type.statistics = declared->statistics;
  }
  QTX_ASSIGN_OR_RETURN(const int index, AddTensor(name, type));
  auto buffer = std::make_unique<schema::BufferT>();
  QTX_ASSIGN_OR_RETURN(buffer->data, BufferBytes(constant, tensor(index).type));
  tensor(index).buffer = static_cast<std::uint32_t>(model_.buffers.size());
  model_.buffers.push_back(std::move(buffer));
  return index;
}

int TfliteWriter::AddInt32s(const std::string& name, const std::vector<std::int64_t>& values,
                            std::vector<std::int32_t> shape) {
  if (shape.empty()) shape = {static_cast<std::int32_t>(values.size())};
  auto tensor = std::make_unique<schema::TensorT>();
  tensor->name = name;
  tensor->type = schema::TensorType::INT32;
  tensor->shape = std::move(shape);
  tensor->buffer = static_cast<std::uint32_t>(model_.buffers.size());
  auto buffer = std::make_unique<schema::BufferT>();
  for (const std::int64_t value : values) {
    // Bounds of slices may exceed every size, so they can be clamped to 32 bits.
    const auto narrow = static_cast<std::uint32_t>(static_cast<std::int32_t>(
        std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(),
                                 std::numeric_limits<std::int32_t>::max())));
    for (const int shift : {0, 8, 16, 24}) {
      buffer->data.push_back(static_cast<std::uint8_t>(narrow >> shift & 255));
    }
  }
  model_.buffers.push_back(std::move(buffer));
  tables_->tensors.push_back(std::move(tensor));
  return static_cast<int>(tables_->tensors.size()) - 1;
}

void TfliteWriter::Append(Call call, std::vector<int> outputs) {
  auto code = std::make_unique<schema::OperatorCodeT>();
  const auto number = static_cast<std::int32_t>(call.code);
  code->deprecated_builtin_code = static_cast<std::int8_t>(std::min(number, 127));
  code->builtin_code = call.code;
  code->version = VersionOf(*tables_, call, outputs);
  code->custom_code = std::move(call.custom_code);
  const auto same = [&](const auto& other) {
    return other->builtin_code == code->builtin_code && other->version == code->version &&
           other->custom_code == code->custom_code;
  };
  auto& codes = model_.operator_codes;
  const auto found = std::ranges::find_if(codes, same);
  auto op = std::make_unique<schema::OperatorT>();
  op->opcode_index = static_cast<std::uint32_t>(found - codes.begin());
  if (found == codes.end()) codes.push_back(std::move(code));
  op->inputs = std::move(call.inputs);
  op->outputs = std::move(outputs);
  op->builtin_options = std::move(call.options);
  op->custom_options = std::move(call.custom_options);
  tables_->operators.push_back(std::move(op));
}

void TfliteWriter::Alias(const std::string& value, Order order, int index, format::Dims dims) {
  forms_[{value, order}] = index;
  dims_[value] = std::move(dims);
}

Result<int> TfliteWriter::Define(const Target& target, const format::TensorType& declared) {
  format::TensorType type = declared;
  type.shape = format::ToShape(target.dims);
  if (target.order == Order::kNhwc) type = Permute(std::move(type), NchwToNhwc());
  QTX_ASSIGN_OR_RETURN(const int index, AddTensor(target.name, type));
  Alias(target.name, target.order, index, target.dims);
  return index;
}

Result<int> TfliteWriter::Use(const std::string& value, Order order) {
  if (const auto found = Find(value, order)) return *found;
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, Dims(value));
  if (order == Order::kNhwc && dims.size() != 4) {
    return Unsupported(Quoted(value), "rank " + std::to_string(dims.size()) + ", expected 4");
  }
  if (IsConstant(value)) {
    QTX_ASSIGN_OR_RETURN(format::Tensor constant, Constant(value));
    if (order == Order::kNhwc) constant = Permute(constant, NchwToNhwc());
    QTX_ASSIGN_OR_RETURN(const int index, AddConstant(value, constant));
    forms_[{value, order}] = index;
    return index;
  }
  const Order other = order == Order::kNhwc ? Order::kOnnx : Order::kNhwc;
  const auto from = Find(value, other);
  if (!from) return Error{ErrorCode::kInvalid, Quoted(value), "used before a node produces it"};
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, Type(value));
  QTX_ASSIGN_OR_RETURN(const int index, Define({value, order, dims}, type));
  const Permutation& perm = order == Order::kNhwc ? NchwToNhwc() : NhwcToNchw();
  Call call{BuiltinOperator::TRANSPOSE, {*from, AddInt32s(value + "/perm", perm)}, {}};
  call.options.Set(schema::TransposeOptionsT());
  Append(std::move(call), {index});
  return index;
}

Result<int> TfliteWriter::UseAs(const std::string& value, Order order,
                                const format::TensorType& as) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType own, Type(value));
  if (IsConstant(value) && own.quantization && !as.quantization && !IsDequantized(own)) {
    QTX_ASSIGN_OR_RETURN(format::Tensor constant, Constant(value));
    QTX_ASSIGN_OR_RETURN(constant, FloatOf(constant));
    ledger_.Changed(value, "elem_type", "FLOAT, rounded once");
    return AddConstant(value, order == Order::kNhwc ? Permute(constant, NchwToNhwc()) : constant);
  }
  QTX_ASSIGN_OR_RETURN(const int index, Use(value, order));
  return Converted(index, value, own, as);
}

Result<int> TfliteWriter::Converted(int from, const std::string& name,
                                    const format::TensorType& own, const format::TensorType& as) {
  if (SameGrid(own, as)) return from;
  format::TensorType type = as;
  type.statistics.reset();
  const auto& shape = tensor(from).shape;
  type.shape = format::ToShape(format::Dims(shape.begin(), shape.end()));
  QTX_ASSIGN_OR_RETURN(const int result, AddTensor(name + "/converted", type));
  QTX_RETURN_IF_ERROR(AppendConversion(from, result, own, type));
  return result;
}

Result<int> TfliteWriter::UseBroadcast(const std::string& value, Order order, std::size_t rank,
                                       bool real) {
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, Dims(value));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, Type(value));
  if (order == Order::kOnnx || dims.size() == rank)
    return real && type.quantization ? UseAs(value, order, Plain(type)) : Use(value, order);
  if (!IsConstant(value)) return Unsupported(Quoted(value), "broadcast across a change of layout");
  QTX_ASSIGN_OR_RETURN(format::Tensor constant, Constant(value));
  if (real && constant.quantization) {
    QTX_ASSIGN_OR_RETURN(constant, FloatOf(constant));
  }
  if (constant.quantization && !constant.quantization->axis.empty()) {
    return Unsupported(Quoted(value), "scales along an axis of an operand");
  }
  constant.dims.insert(constant.dims.begin(), rank - dims.size(), 1);
  return AddConstant(value, Permute(constant, NchwToNhwc()));
}

Result<format::TensorType> TfliteWriter::TypeFor(const Target& target,
                                                 const format::TensorType& as) {
  if (graph_.TypeOf(target.name) == nullptr) inferred_[target.name] = Plain(as);
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, Type(target.name));
  if (as.quantization && as.quantization->scale.size() > 1) {
    return Unsupported(Quoted(target.name), "several scales in an operator that moves elements");
  }
  if (!type.quantization) return type;
  format::IntegerRange given = format::StorageRange(type.elem_type);
  if (SameGrid(as, type)) given = format::StoredRange(as.elem_type, *as.quantization);
  const format::IntegerRange range = format::StoredRange(type.elem_type, *type.quantization);
  if (given.min >= range.min && given.max <= range.max) return type;
  return Unsupported(Quoted(target.name), "stored values in [" + std::to_string(range.min) + ", " +
                                              std::to_string(range.max) +
                                              "], to which the operator does not clamp");
}

Result<void> TfliteWriter::AppendConversion(int from, int to, const format::TensorType& from_type,
                                            const format::TensorType& to_type) {
  const bool from_scale = from_type.quantization.has_value();
  const bool to_scale = to_type.quantization.has_value();
  Call call{BuiltinOperator::CAST, {from}, {}};
  // Plain integers are converted to quantized values through FLOAT.
  const auto plain = [](const format::TensorType& type) {
    return !type.quantization && type.elem_type != ElementType::kFloat;
  };
  if ((from_scale && plain(to_type)) || (to_scale && plain(from_type))) {
    format::TensorType real = to_type;
    real.elem_type = ElementType::kFloat;
    real.quantization.reset();
    real.statistics.reset();
    const auto& shape = tensor(to).shape;
    real.shape = format::ToShape(format::Dims(shape.begin(), shape.end()));
    QTX_ASSIGN_OR_RETURN(const int between, AddTensor(tensor(to).name + "/real", real));
    QTX_RETURN_IF_ERROR(AppendConversion(from, between, from_type, real));
    return AppendConversion(between, to, real, to_type);
  }
  if (to_scale) {
    call.code = BuiltinOperator::QUANTIZE;
    call.options.Set(schema::QuantizeOptionsT());
  } else if (from_scale) {
    call.code = BuiltinOperator::DEQUANTIZE;
    call.options.Set(schema::DequantizeOptionsT());
  } else {
    schema::CastOptionsT options;
    options.in_data_type = tensor(from).type;
    options.out_data_type = tensor(to).type;
    call.options.Set(std::move(options));
  }
  Append(std::move(call), {to});
  return {};
}

Result<void> TfliteWriter::Convert(int from, const Target& target, const format::TensorType& as) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, TypeFor(target, as));
  if (SameGrid(as, type)) {
    Alias(target.name, target.order, from, target.dims);
    return {};
  }
  QTX_ASSIGN_OR_RETURN(const int index, Define(target, type));
  return AppendConversion(from, index, as, type);
}

Result<void> TfliteWriter::Emit(Call call, const Target& target, const format::TensorType& as) {
  QTX_RETURN_IF_ERROR(CheckPlainTypes(*tables_, call));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, TypeFor(target, as));
  if (SameGrid(as, type)) {
    QTX_ASSIGN_OR_RETURN(const int index, Define(target, type));
    Append(std::move(call), {index});
    return {};
  }
  format::TensorType between = as;
  between.statistics.reset();
  between.shape = format::ToShape(target.order == Order::kNhwc ? Permute(target.dims, NchwToNhwc())
                                                               : target.dims);
  QTX_ASSIGN_OR_RETURN(const int inner, AddTensor(target.name + "/kernel", between));
  Append(std::move(call), {inner});
  return Convert(inner, target, as);
}

}  // namespace qtx::convert
