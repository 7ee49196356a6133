#include "engine/plan.h"

#include <algorithm>
#include <utility>

#include "qtx/format/limits.h"

namespace qtx::backend::engine {

Result<Value*> Workspace::Find(const std::string& name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  if (model_.graph.FindInitializer(name) == nullptr) {
    return Error{ErrorCode::kInvalid, "value '" + name + "'", "no earlier node computes it"};
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::LoadInitializer(model_, name));
  values_.push_back({name, std::move(tensor), true});
  by_name_.emplace(name, &values_.back());
  return &values_.back();
}

Result<Value*> Workspace::Define(const std::string& name, format::Tensor like, format::Dims dims) {
  if (by_name_.contains(name)) {
    return Error{ErrorCode::kInvalid, "value '" + name + "'", "computed twice"};
  }
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t bytes, format::PackedBytes(like.elem_type, count));
  if (bytes > format::kMaxTensorBytes - total_bytes_) {
    return Error{ErrorCode::kTooLarge, "value '" + name + "'",
                 "the model's values pass the limit of " + std::to_string(format::kMaxTensorBytes) +
                     " bytes"};
  }
  total_bytes_ += bytes;
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::MakeTensor(like.elem_type, std::move(dims),
                                                                 std::move(like.quantization)));
  values_.push_back({name, std::move(tensor), false});
  by_name_.emplace(name, &values_.back());
  return &values_.back();
}

Result<void> Workspace::DefineConstant(const std::string& name, format::Tensor tensor) {
  if (by_name_.contains(name)) {
    return Error{ErrorCode::kInvalid, "value '" + name + "'", "computed twice"};
  }
  values_.push_back({name, std::move(tensor), true});
  by_name_.emplace(name, &values_.back());
  return {};
}

std::string NodePlan::Place() const {
  const std::string& name =
      node_.name.empty() && !node_.outputs.empty() ? node_.outputs[0] : node_.name;
  return "node '" + name + "' (" + node_.op_type + ")";
}

Result<Value*> NodePlan::Input(std::size_t i) const {
  if (!HasInput(i)) return Invalid("input " + std::to_string(i) + " is absent");
  auto value = workspace_.Find(node_.inputs[i]);
  if (!value.has_value()) return Because(value.error());
  return *value;
}

Result<const format::Tensor*> NodePlan::Constant(std::size_t i) const {
  QTX_ASSIGN_OR_RETURN(const Value* value, Input(i));
  if (!value->constant) {
    return Unsupported("input '" + value->name +
                       "' is computed by the model, expected an initializer");
  }
  return &value->tensor;
}

Result<std::vector<std::int64_t>> NodePlan::ConstantIntegers(std::size_t i) const {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* tensor, Constant(i));
  if (tensor->elem_type != format::ElementType::kInt64) {
    return Invalid("input '" + node_.inputs[i] + "' is " +
                   std::string(format::Name(tensor->elem_type)) + ", expected INT64");
  }
  const auto values = tensor->As<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

// The type `name` is declared with; elem_type undefined when it is not declared.
Result<format::Tensor> NodePlan::DeclaredType(const std::string& name,
                                              const format::Dims& dims) const {
  format::Tensor like;
  const format::ValueInfo* declared = workspace_.model().graph.FindValue(name);
  if (declared == nullptr || !declared->type.has_value()) return like;
  like.elem_type = declared->type->elem_type;
  if (declared->type->shape.has_value()) {
    const auto fixed = format::FixedDims(*declared->type->shape);
    if (fixed.has_value() && *fixed != dims) {
      return Invalid("output '" + name + "' is declared " + format::ToString(*fixed) +
                     ", computed " + format::ToString(dims));
    }
  }
  if (!format::IsQuantized(like.elem_type)) return like;
  if (!declared->type->quantization.has_value()) {
    return Invalid("output '" + name + "' has no quantization");
  }
  auto resolved = format::Resolve(workspace_.model(), *declared->type->quantization);
  if (!resolved.has_value()) return Because(resolved.error());
  like.quantization = *std::move(resolved);
  return like;
}

Result<Value*> NodePlan::Define(format::Tensor like, format::Dims dims) const {
  for (std::size_t i = 1; i < node_.outputs.size(); ++i) {
    if (node_.outputs[i].empty()) continue;
    return Unsupported("output '" + node_.outputs[i] + "': only the first is computed");
  }
  if (output_ != nullptr && output_->tensor.dims == dims) return output_;
  auto value = workspace_.Define(node_.outputs[0], std::move(like), std::move(dims));
  if (!value.has_value()) return Because(value.error());
  output_ = *value;
  return output_;
}

Result<Value*> NodePlan::Output(format::Dims dims) const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return Invalid("output 0 is absent");
  QTX_ASSIGN_OR_RETURN(format::Tensor like, DeclaredType(node_.outputs[0], dims));
  if (like.elem_type == format::ElementType::kUndefined) {
    QTX_ASSIGN_OR_RETURN(const Value* first, Input(0));
    like.elem_type = first->tensor.elem_type;
    like.quantization = first->tensor.quantization;
  }
  return Define(std::move(like), std::move(dims));
}

Result<Value*> NodePlan::OutputOfType(format::Dims dims, format::ElementType type) const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return Invalid("output 0 is absent");
  QTX_ASSIGN_OR_RETURN(format::Tensor like, DeclaredType(node_.outputs[0], dims));
  if (like.elem_type != format::ElementType::kUndefined && like.elem_type != type) {
    return Invalid("output '" + node_.outputs[0] + "' is declared " +
                   std::string(format::Name(like.elem_type)) + ", computed " +
                   std::string(format::Name(type)));
  }
  like.elem_type = type;
  return Define(std::move(like), std::move(dims));
}

Result<void> NodePlan::OutputConstant(format::Tensor tensor) const {
  if (node_.outputs.empty() || node_.outputs[0].empty()) return Invalid("output 0 is absent");
  QTX_ASSIGN_OR_RETURN(format::Tensor like, DeclaredType(node_.outputs[0], tensor.dims));
  if (like.elem_type != format::ElementType::kUndefined && like.elem_type != tensor.elem_type) {
    if (format::StorageOf(like.elem_type) != tensor.elem_type) {
      return Invalid("output '" + node_.outputs[0] + "' is declared " +
                     std::string(format::Name(like.elem_type)) + ", the constant is " +
                     std::string(format::Name(tensor.elem_type)));
    }
    tensor.elem_type = like.elem_type;
    tensor.quantization = std::move(like.quantization);
  }
  auto defined = workspace_.DefineConstant(node_.outputs[0], std::move(tensor));
  if (!defined.has_value()) return Because(defined.error());
  return {};
}

std::optional<format::ElementType> NodePlan::DeclaredElementType() const {
  if (node_.outputs.empty()) return std::nullopt;
  const format::ValueInfo* declared = workspace_.model().graph.FindValue(node_.outputs[0]);
  if (declared == nullptr || !declared->type.has_value()) return std::nullopt;
  return declared->type->elem_type;
}

bool NodePlan::EightBitOutput() const {
  if (node_.outputs.empty()) return false;
  format::Tensor like;
  const format::ValueInfo* declared = workspace_.model().graph.FindValue(node_.outputs[0]);
  if (declared == nullptr || !declared->type.has_value()) return true;  // that of input 0
  like.elem_type = declared->type->elem_type;
  like.quantization = declared->type->quantization;
  return format::BitWidth(like.elem_type) == 8 && PerTensorOf(like).has_value();
}

std::int32_t Operand::LargestMagnitude() const {
  const format::IntegerRange range = format::StorageRange(value->tensor.elem_type);
  const auto offset = static_cast<std::int64_t>(type.offset);
  return static_cast<std::int32_t>(std::max(offset - range.min, range.max - offset));
}

Result<Operand> EightBitOperand(const NodePlan& plan, std::size_t i) {
  QTX_ASSIGN_OR_RETURN(Value * value, plan.Input(i));
  const format::ElementType type = value->tensor.elem_type;
  if (type != format::ElementType::kInt8Q && type != format::ElementType::kUint8Q) {
    return plan.Unsupported("input '" + value->name + "' is " + std::string(format::Name(type)) +
                            ", expected INT8Q or UINT8Q");
  }
  auto parameters = PerTensorOf(value->tensor);
  if (!parameters.has_value())
    return plan.Because(At("input '" + value->name + "'", parameters.error()));
  return Operand{value, *parameters, type == format::ElementType::kInt8Q};
}

}  // namespace qtx::backend::engine
