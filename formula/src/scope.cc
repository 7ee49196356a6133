#include "scope.h"

#include <utility>

namespace qtx::formula {
namespace {

using format::AttributeType;

std::optional<Value> DefaultOf(const format::AttributeRule& rule) {
  if (const auto* i = std::get_if<std::int64_t>(&rule.otherwise)) return Value(*i);
  if (const auto* f = std::get_if<float>(&rule.otherwise)) return Value(mpq_class(*f));
  if (const auto* s = std::get_if<std::string_view>(&rule.otherwise)) {
    return Value(std::string(*s));
  }
  return std::nullopt;
}

template <typename T, typename Convert>
Value EachOf(const std::vector<T>& elements, const Convert& convert) {
  std::vector<Value> list;
  for (const T& element : elements) list.push_back(convert(element));
  return Value(std::move(list));
}

Value FloatValue(float f) {
  // NaN and infinities are refused by clauses where they have no meaning.
  if (f != f) return Number(Nan{});
  if (f - f != 0) return Number(Infinity{f < 0 ? -1 : 1});
  return mpq_class(f);
}

std::optional<Value> ValueOf(const format::Attribute& attribute) {
  switch (attribute.type) {
    case AttributeType::kInt:
      return Value(attribute.i);
    case AttributeType::kFloat:
      return FloatValue(attribute.f);
    case AttributeType::kString:
      return Value(attribute.s);
    case AttributeType::kInts:
      return EachOf(attribute.ints, [](std::int64_t i) { return Value(i); });
    case AttributeType::kFloats:
      return EachOf(attribute.floats, FloatValue);
    case AttributeType::kStrings:
      return EachOf(attribute.strings, [](const std::string& s) { return Value(s); });
    default:
      return std::nullopt;
  }
}

Operand Declared(const std::string& name, const ValueType& type) {
  Operand operand(name, type.type, type.quantization, type.table);
  operand.set_declared(type.dims);
  return operand;
}

}  // namespace

Result<Scope> Scope::Make(const Call& call) {
  Scope scope;
  scope.opset_ = call.opset;
  scope.op_type_ = call.node->op_type;
  scope.origin_ = call.node->origin;
  const std::size_t rules =
      call.schema == nullptr ? call.inputs.size() : call.schema->inputs.size();
  for (std::size_t i = 0; i < rules; ++i) {
    const bool variadic = call.schema != nullptr && call.schema->inputs[i].variadic;
    const std::size_t end = variadic ? call.inputs.size() : i + 1;
    Tensors tensors{static_cast<int>(scope.operands_.size()), 0, variadic, true};
    for (std::size_t k = i; k < end && k < call.inputs.size(); ++k) {
      const std::string name = k < call.node->inputs.size() ? call.node->inputs[k] : "";
      if (call.inputs[k] != nullptr) {
        const ElementTable* table = k < call.tables.size() ? call.tables[k] : nullptr;
        scope.operands_.emplace_back(name, *call.inputs[k], table);
      } else if (k < call.input_types.size() && call.input_types[k].given) {
        scope.operands_.push_back(Declared(name, call.input_types[k]));
        if (call.input_types[k].dims) scope.operands_.back().set_dims(*call.input_types[k].dims);
      } else {
        continue;
      }
      if (k < call.initializers.size() && call.initializers[k]) {
        scope.operands_.back().set_initializer();
      }
      ++tensors.count;
    }
    scope.inputs_.push_back(tensors);
  }
  const std::size_t outputs =
      call.schema == nullptr ? call.outputs.size() : call.schema->outputs.size();
  for (std::size_t i = 0; i < outputs; ++i) {
    const bool variadic = call.schema != nullptr && call.schema->outputs[i].variadic;
    const std::size_t end = variadic ? call.outputs.size() : i + 1;
    Tensors tensors{static_cast<int>(scope.operands_.size()), 0, variadic, true};
    for (std::size_t k = i; k < end && k < call.outputs.size(); ++k) {
      if (!call.outputs[k].given) continue;
      const std::string name = k < call.node->outputs.size() ? call.node->outputs[k] : "";
      scope.operands_.push_back(Declared(name, call.outputs[k]));
      ++tensors.count;
    }
    scope.outputs_.push_back(tensors);
  }
  QTX_RETURN_IF_ERROR(scope.AddAttributes(call));
  return scope;
}

Result<void> Scope::AddAttributes(const Call& call) {
  if (call.schema != nullptr) {
    for (const format::AttributeRule& rule : call.schema->attributes) {
      auto& value = attributes_[std::string(rule.name)];
      // One that this opset lacks has the default of the opset that brings it.
      const bool has = opset_ >= rule.since && opset_ <= rule.until;
      if (has || !value) value = DefaultOf(rule);
    }
  }
  for (const format::Attribute& attribute : call.node->attributes) {
    auto& value = attributes_[attribute.name];
    if (attribute.type != AttributeType::kTensor) {
      value = ValueOf(attribute);
      continue;
    }
    if (!attribute.t) continue;
    QTX_ASSIGN_OR_RETURN(const format::Tensor tensor, format::Decode(*attribute.t));
    value = Value(Tensors{static_cast<int>(operands_.size()), 1, false, true});
    operands_.emplace_back(attribute.name, tensor);
  }
  return {};
}

const Value* Scope::Attribute(std::string_view name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() || !found->second ? nullptr : &*found->second;
}

bool Scope::IsAttribute(std::string_view name) const {
  return attributes_.find(name) != attributes_.end();
}

void Scope::SetDims(std::size_t output, format::Dims dims) {
  const Tensors& tensors = outputs_[output];
  for (int i = 0; i < tensors.count; ++i) {
    operands_[static_cast<std::size_t>(tensors.first + i)].set_dims(dims);
  }
}

}  // namespace qtx::formula
