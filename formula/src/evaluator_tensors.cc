// Elements, parameters, sizes and types of tensors.
#include <algorithm>
#include <array>
#include <utility>

#include "evaluator.h"
#include "qtx/format/levels.h"
#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

using format::ElementType;

bool IsRealOperand(ElementType type) { return format::kRealTypes.Has(type); }

bool IsNegative(double value) { return value < 0; }

bool AsksSizes(Function function) {
  return function >= Function::kInside && function <= Function::kValues;
}

Value AxesOf(const Operand& operand) {
  return ListOf(operand.is_quantized() ? operand.quantization()->axis : format::Dims());
}

bool StoresNegatives(ElementType type) {
  return format::IsIntegerStorage(type) && format::StorageRange(type).min < 0;
}

// The declared multipliers, each with its shift.
Value PairsOf(const Operand& operand) {
  std::vector<Value> pairs;
  if (operand.quantization() && operand.quantization()->requantization) {
    const format::Requantization& declared = *operand.quantization()->requantization;
    for (std::size_t i = 0; i < declared.multiplier.size(); ++i) {
      pairs.emplace_back(std::vector<Value>{Value(std::int64_t{declared.multiplier[i]}),
                                            Value(std::int64_t{declared.shift[i]})});
    }
  }
  return Value(std::move(pairs));
}

template <typename T>
Value ListOfValues(const std::vector<T>& table) {
  std::vector<Value> values;
  for (const T value : table) values.push_back(FromDouble(static_cast<double>(value)));
  return Value(std::move(values));
}

formula::Part PartOf(Function function) {
  switch (function) {
    case Function::kStored:
      return formula::Part::kStored;
    case Function::kExactReal:
      return formula::Part::kReal;
    case Function::kIsNegative:
      return formula::Part::kSign;
    case Function::kScale:
      return formula::Part::kScale;
    case Function::kOffset:
      return formula::Part::kOffset;
    case Function::kFineScale:
      return formula::Part::kFineScale;
    case Function::kCoarseScale:
      return formula::Part::kCoarseScale;
    case Function::kFineBase:
      return formula::Part::kFineBase;
    case Function::kCoarseBase:
      return formula::Part::kCoarseBase;
    default:
      return formula::Part::kBase;
  }
}

Value PartOfParameter(const Operand& operand, formula::Part part, std::int64_t parameter) {
  switch (part) {
    case formula::Part::kScale:
      return operand.Scale(parameter);
    case formula::Part::kBase:
      return Value(operand.Base(parameter));
    case formula::Part::kFineScale:
      return operand.FineScale(parameter);
    case formula::Part::kCoarseScale:
      return operand.CoarseScale(parameter);
    case formula::Part::kFineBase:
      return operand.FineBase(parameter);
    case formula::Part::kCoarseBase:
      return operand.CoarseBase(parameter);
    default:
      return Value(operand.Offset(parameter));
  }
}

}  // namespace

// The one tensor that a value stands for.
Result<int> Evaluator::TensorOf(const Code& code, const Value& value) {
  const auto* tensors = value.tensors();
  if (tensors == nullptr) return Refuse(code, "found " + KindOf(value) + ", expected a tensor");
  if (tensors->count != 1 && tensors->variadic) {
    return Refuse(code, "expected the number of a tensor in brackets");
  }
  return tensors->first;
}

Error Evaluator::Open(const Code& code, const Operand& operand) const {
  return Refuse(code, "the sizes of '" + operand.name() + "' are not known");
}

Result<std::int64_t> Evaluator::BroadcastElement(const Code& code, const Operand& operand) {
  if (!operand.has_dims()) return Open(code, operand);
  if (operand.size() == 1) return 0;
  ++broadcasts_;
  const auto element = operand.Broadcast(at_);
  if (!element) return Refuse(code, operand.name() + " does not broadcast to the output");
  return *element;
}

// The value of x[i]: the exact real, or what the arithmetic takes it for.
Result<Value> Evaluator::Read(const Code& code, int operand, std::int64_t element) {
  const Operand& tensor = OperandAt(operand);
  if (!tensor.has_elements()) return Refuse(code, "found an element of a tensor that is not known");
  auto& known = read_[Slot(operand)];
  if (known.empty()) known.resize(Slot(tensor.slots()));
  auto& slot = known[Slot(tensor.SlotOf(element))];
  if (slot) return *slot;
  if (!tensor.is_quantized() || !program_.operand) {
    slot = tensor.Real(element);
    return *slot;
  }
  const std::int64_t parameter = tensor.Parameter(element);
  const std::size_t first = arguments_.size();
  arguments_.push_back(tensor.Unscaled(element));
  arguments_.back().of_element = false;  // no operation is applied within `operand`
  arguments_.push_back(tensor.Scale(parameter));
  arguments_.emplace_back(tensor.Offset(parameter));
  QTX_ASSIGN_OR_RETURN(Value value, CallRoutine(code, *program_.operand, first));
  QTX_ASSIGN_OR_RETURN(value, InRealType(code, tensor.real_type(), std::move(value)));
  value.of_element = true;
  // quantization.S8.
  if (const mpq_class base = tensor.Base(parameter); base != 0) {
    QTX_ASSIGN_OR_RETURN(value, CombineNumbers(code, Code::Op::kAdd, value, Value(base)));
    if (program_.operation) {
      QTX_ASSIGN_OR_RETURN(value, CallReading(code, *program_.operation, std::move(value)));
    }
    QTX_ASSIGN_OR_RETURN(value, InRealType(code, tensor.real_type(), std::move(value)));
    value.of_element = true;
  }
  if (!precision_.undecided) slot = value;
  return value;
}

Result<void> Evaluator::AddIndices(const Code& code, std::size_t from, Indices& at) {
  const std::size_t first = arguments_.size();
  QTX_RETURN_IF_ERROR(AddItems(code, from, arguments_));
  for (std::size_t i = first; i < arguments_.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const long index, Integer(code, arguments_[i]));
    at.Add(index);
  }
  arguments_.resize(first);
  return {};
}

Result<Value> Evaluator::Index(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const Value base, Eval(code.children[0]));
  Indices indices;
  QTX_RETURN_IF_ERROR(AddIndices(code, 1, indices));
  const std::span<const std::int64_t> at = indices.span();
  if (const auto* list = base.list()) {
    if (at.size() == 1 && at[0] >= 0 && at[0] < std::ssize(*list)) return (*list)[Slot(at[0])];
    return Refuse(code, "found index " + format::ToString(at) + " of a list of " +
                            std::to_string(list->size()));
  }
  const auto* tensors = base.tensors();
  if (tensors == nullptr) {
    return Refuse(code, "found " + KindOf(base) + ", expected a tensor or a list");
  }
  if (tensors->variadic) {
    if (at.size() == 1 && at[0] >= 0 && at[0] < tensors->count) {
      return Value(Tensors{tensors->first + static_cast<int>(at[0]), 1, false, true});
    }
    return Refuse(code,
                  "found tensor " + format::ToString(at) + " of " + std::to_string(tensors->count));
  }
  return PartAt(code, tensors->first, formula::Part::kValue, &indices);
}

Result<Value> Evaluator::PartAt(const Code& code, int operand, formula::Part part,
                                const Indices* at) {
  const Operand& tensor = OperandAt(operand);
  if (!tensor.has_elements()) return Refuse(code, "found an element of a tensor that is not known");
  std::int64_t element = 0;
  if (at == nullptr) {
    QTX_ASSIGN_OR_RETURN(element, BroadcastElement(code, tensor));
  } else {
    if (at->size() != tensor.dims().size()) {
      return Refuse(code, "found " + std::to_string(at->size()) + " indices, expected " +
                              std::to_string(tensor.dims().size()));
    }
    const auto found = tensor.At(at->span());
    if (!found) {
      return Refuse(code, "found index " + format::ToString(at->span()) + " of " + tensor.name() +
                              ", whose shape is " + format::ToString(tensor.dims()));
    }
    element = *found;
  }
  if (part == formula::Part::kValue) return Read(code, operand, element);
  if (part == formula::Part::kSign) return Value(tensor.IsNegative(element));
  if (part == formula::Part::kStored) return tensor.Stored(element);
  Value real = tensor.Real(element);
  real.of_element = false;  // no operation of the arithmetic is applied to it
  return real;
}

// By the number of the parameter (x_scale[p]), or by coordinates (scale(x, p...)).
Result<Value> Evaluator::Parameter(const Code& code, const Operand& operand, formula::Part part,
                                   const Indices* at, bool number) {
  if (!operand.is_quantized()) return Refuse(code, operand.name() + " is not quantized");
  std::int64_t parameter = 0;
  if (operand.per_tensor()) {
    parameter = 0;
    if (number && at != nullptr && (at->size() != 1 || at->span()[0] < 0)) {
      return Refuse(code, "expected the number of one parameter");
    }
  } else if (at != nullptr && number) {
    const std::int64_t one = at->size() == 1 ? at->span()[0] : -1;
    if (one < 0 || one >= operand.parameters()) {
      return Refuse(code, "found parameter " + format::ToString(at->span()) + " of " +
                              operand.name() + ", which has " +
                              std::to_string(operand.parameters()));
    }
    parameter = one;
  } else if (at != nullptr) {
    const auto element = operand.At(at->span());
    if (!element) return Refuse(code, operand.name() + " has no such element");
    parameter = operand.Parameter(*element);
  } else {
    QTX_ASSIGN_OR_RETURN(const std::int64_t element, BroadcastElement(code, operand));
    parameter = operand.Parameter(element);
  }
  return PartOfParameter(operand, part, parameter);
}

Result<Value> Evaluator::Part(const Code& code) {
  const bool of_output = code.index != 0;
  const int operand = of_output ? output_ : code.tensors.first;
  if (operand < 0) return Refuse(code, "found a part of an output where none is computed");
  const Operand& tensor = OperandAt(operand);
  if (code.part == formula::Part::kMin) return Value(tensor.Least());
  if (code.part == formula::Part::kMax) return Value(tensor.Greatest());
  Indices indices;
  if (!code.children.empty()) QTX_RETURN_IF_ERROR(AddIndices(code, 0, indices));
  const Indices* at = code.children.empty() ? nullptr : &indices;
  if (code.part == formula::Part::kScale || code.part == formula::Part::kOffset) {
    return Parameter(code, tensor, code.part, at, true);
  }
  return PartAt(code, operand, code.part, at);
}

Result<Value> Evaluator::TypeOf(const Code& code, const Operand& operand) const {
  const ElementType type = operand.type();
  const ElementTable* table = operand.table();
  switch (code.function) {
    case Function::kType:
      return Value(table != nullptr ? table->name : std::string(format::Name(type)));
    case Function::kTypeCode:
      return Value(static_cast<std::int64_t>(type));
    case Function::kRealTypeOf:
      return Value(std::string(format::Name(operand.real_type())));
    case Function::kBits:
      return Value(std::int64_t{format::BitWidth(type)});
    case Function::kParameters:
      return Value(operand.parameters());
    case Function::kScaleLevels:
      return Value(operand.scale_levels());
    case Function::kIsQuantized:
      return Value(operand.is_quantized());
    case Function::kIsPerTensor:
      return Value(operand.per_tensor());
    case Function::kAxes:
      return AxesOf(operand);
    case Function::kIsInteger:
      return Value(table == nullptr && format::IsIntegerStorage(type));
    case Function::kIsSigned:
      return Value(table == nullptr ? StoresNegatives(type)
                                    : std::ranges::any_of(table->values, IsNegative));
    case Function::kIsReal:
      return Value(IsRealOperand(type));
    case Function::kIsInitializer:
      return Value(operand.is_initializer());
    case Function::kRequantization:
      return PairsOf(operand);
    case Function::kHasIntegerForm:
      return Value(operand.is_quantized() && format::HasIntegerForm(*operand.quantization()));
    case Function::kTable:
      if (table != nullptr) return ListOfValues(table->values);
      if (!operand.is_quantized() || operand.quantization()->code_book.empty()) {
        return Refuse(code, "found " + std::string(format::Name(type)) +
                                ", expected a code book, or a type that an overlay gives by a "
                                "table");
      }
      return ListOfValues(operand.quantization()->code_book);
    case Function::kHasTable:
      return Value(table != nullptr ||
                   (operand.is_quantized() && !operand.quantization()->code_book.empty()));
    case Function::kLeast:
      return Value(operand.Least());
    default:
      return Value(operand.Greatest());
  }
}

Result<Value> Evaluator::PartOfElement(const Code& code, int operand) {
  Indices indices;
  if (code.children.size() > 1) QTX_RETURN_IF_ERROR(AddIndices(code, 1, indices));
  const Indices* at = code.children.size() > 1 ? &indices : nullptr;
  const formula::Part part = PartOf(code.function);
  if (part < formula::Part::kScale) return PartAt(code, operand, part, at);
  return Parameter(code, OperandAt(operand), part, at, false);
}

Result<Value> Evaluator::ApplyToTensor(const Code& code) {
  QTX_ASSIGN_OR_RETURN(const Value first, Eval(code.children[0]));
  if (code.function == Function::kValues && first.list() != nullptr) return first;
  if (code.function == Function::kCountOf) {
    const auto* tensors = first.tensors();
    if (tensors == nullptr) return Refuse(code, "found " + KindOf(first) + ", expected a tensor");
    return Value(std::int64_t{tensors->count});
  }
  QTX_ASSIGN_OR_RETURN(const int operand, TensorOf(code.children[0], first));
  if (operand < 0) return Refuse(code, "found an output where none is computed");
  const Operand& tensor = OperandAt(operand);
  if (IsOfElement(code.function)) return PartOfElement(code, operand);
  if (AsksSizes(code.function) && !tensor.has_dims()) return Open(code, tensor);
  switch (code.function) {
    case Function::kInside: {
      Indices indices;
      QTX_RETURN_IF_ERROR(AddIndices(code, 1, indices));
      const std::span<const std::int64_t> at = indices.span();
      if (at.size() != tensor.dims().size()) {
        return Refuse(code, "found " + std::to_string(at.size()) + " indices, expected " +
                                std::to_string(tensor.dims().size()));
      }
      return Value(tensor.At(at).has_value());
    }
    case Function::kShape:
      return ListOf(tensor.dims());
    case Function::kSize: {
      QTX_ASSIGN_OR_RETURN(const Value number, Eval(code.children[1]));
      QTX_ASSIGN_OR_RETURN(const long axis, Integer(code.children[1], number));
      if (axis >= 0 && axis < std::ssize(tensor.dims())) return Value(tensor.dims()[Slot(axis)]);
      return Refuse(code, "found axis " + std::to_string(axis) + " of " + tensor.name() +
                              ", expected one below " + std::to_string(tensor.dims().size()));
    }
    case Function::kRank:
      return Value(std::ssize(tensor.dims()));
    case Function::kElements:
      return Value(tensor.size());
    case Function::kValues: {
      std::vector<Value> values;
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        QTX_ASSIGN_OR_RETURN(values.emplace_back(), Read(code, operand, i));
        values.back().of_element = false;
      }
      return Value(std::move(values));
    }
    default:
      return TypeOf(code, tensor);
  }
}

}  // namespace qtx::formula
