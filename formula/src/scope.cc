#include "scope.h"

#include <algorithm>
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
  scope.has_own_scales_ = !call.scales_are_inputs;
  scope.op_type_ = call.node->op_type;
  scope.origin_ = call.node->origin;
  scope.AddInputs(call);
  scope.AddOutputs(call);
  QTX_RETURN_IF_ERROR(scope.AddAttributes(call));
  return scope;
}

// The tensors of place `i` of `count`: those that `add` adds, one or, where the place is variadic,
// all from there on.
template <typename Add>
Tensors Scope::Place(std::size_t i, std::size_t count, bool variadic, const Add& add) {
  Tensors tensors{static_cast<int>(operands_.size()), 0, variadic, true};
  const std::size_t end = variadic ? count : std::min(i + 1, count);
  for (std::size_t k = i; k < end; ++k) tensors.count += add(k) ? 1 : 0;
  return tensors;
}

bool Scope::AddInput(const Call& call, std::size_t k) {
  const std::string name = k < call.node->inputs.size() ? call.node->inputs[k] : "";
  const bool typed = k < call.input_types.size() && call.input_types[k].given;
  if (call.inputs[k] != nullptr) {
    operands_.emplace_back(name, *call.inputs[k],
                           k < call.tables.size() ? call.tables[k] : nullptr);
  } else if (typed) {
    operands_.push_back(Declared(name, call.input_types[k]));
    if (call.input_types[k].dims) operands_.back().set_dims(*call.input_types[k].dims);
  } else {
    return false;
  }
  if (k < call.initializers.size() && call.initializers[k]) operands_.back().set_initializer();
  if (k < call.factors.size()) operands_.back().set_factors(call.factors[k]);
  return true;
}

void Scope::AddInputs(const Call& call) {
  const std::size_t count = call.inputs.size();
  const std::size_t places = call.schema == nullptr ? count : call.schema->inputs.size();
  for (std::size_t i = 0; i < places; ++i) {
    const bool variadic = call.schema != nullptr && call.schema->inputs[i].variadic;
    inputs_.push_back(Place(i, count, variadic, [&](std::size_t k) { return AddInput(call, k); }));
  }
}

void Scope::AddOutputs(const Call& call) {
  const std::size_t count = call.outputs.size();
  const std::size_t places = call.schema == nullptr ? count : call.schema->outputs.size();
  const auto add = [&](std::size_t k) {
    if (!call.outputs[k].given) return false;
    const std::string name = k < call.node->outputs.size() ? call.node->outputs[k] : "";
    operands_.push_back(Declared(name, call.outputs[k]));
    return true;
  };
  for (std::size_t i = 0; i < places; ++i) {
    const bool variadic = call.schema != nullptr && call.schema->outputs[i].variadic;
    outputs_.push_back(Place(i, count, variadic, add));
  }
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
