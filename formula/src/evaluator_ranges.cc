// Sums and other ranges, folds, and conditions.
#include <algorithm>
#include <utility>

#include "evaluator.h"
#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

using Op = Code::Op;

}  // namespace

Result<Value> Evaluator::Range(const Code& code) {
  Value total;
  switch (code.op) {
    case Op::kProduct:
      total = Value(std::int64_t{1});
      break;
    case Op::kLeast:
      total = Value(Number(Infinity{1}));
      break;
    case Op::kGreatest:
      total = Value(Number(Infinity{-1}));
      break;
    case Op::kAll:
    case Op::kAny:
      total = Value(code.op == Op::kAll);
      break;
    default:
      total = Value(std::int64_t{0});
  }
  std::vector<Value> list;
  QTX_ASSIGN_OR_RETURN(const bool more, Each(code, 0, code.children.size() - 1, total, list));
  if (!more && code.op == Op::kAll) return Value(false);
  if (!more && code.op == Op::kAny) return Value(true);
  return code.op == Op::kListOf ? Value(std::move(list)) : total;
}

// Children: the limits, the first value, the body; the last local is the value so far.
Result<Value> Evaluator::Fold(const Code& code) {
  const std::size_t indices = code.children.size() - 2;
  QTX_ASSIGN_OR_RETURN(Value total, Eval(code.children[indices]));
  std::vector<Value> list;
  QTX_RETURN_IF_ERROR(Each(code, 0, indices, total, list));
  return total;
}

// False ends all loops.
Result<bool> Evaluator::Each(const Code& code, std::size_t index, std::size_t indices, Value& total,
                             std::vector<Value>& list) {
  if (index == indices) return Accumulate(code, total, list);
  QTX_ASSIGN_OR_RETURN(const Value limit, Eval(code.children[index]));
  const std::size_t slot = locals_.size();
  locals_.emplace_back(std::int64_t{0});
  Result<bool> more = true;
  if (code.rest[index]) {
    more = EachCoordinates(code, index, indices, total, list, limit);
  } else {
    QTX_ASSIGN_OR_RETURN(const long end, Integer(code.children[index], limit));
    for (long i = 0; i < end && more.has_value() && *more; ++i) {
      QTX_RETURN_IF_ERROR(Step(code));
      locals_[slot] = Value(std::int64_t{i});
      more = Each(code, index + 1, indices, total, list);
    }
  }
  locals_.resize(slot);
  return more;
}

// The last coordinate changes first.
Result<bool> Evaluator::EachCoordinates(const Code& code, std::size_t index, std::size_t indices,
                                        Value& total, std::vector<Value>& list,
                                        const Value& sizes) {
  const auto* limits = sizes.list();
  if (limits == nullptr) return Refuse(code, "found " + KindOf(sizes) + ", expected a list");
  format::Dims dims;
  for (const Value& limit : *limits) {
    QTX_ASSIGN_OR_RETURN(dims.emplace_back(), Integer(code.children[index], limit));
    if (dims.back() <= 0) return true;
  }
  const std::size_t slot = locals_.size() - 1;
  format::Dims at(dims.size(), 0);
  for (;;) {
    QTX_RETURN_IF_ERROR(Step(code));
    locals_[slot] = Value(std::vector<Value>(at.begin(), at.end()));
    QTX_ASSIGN_OR_RETURN(const bool more, Each(code, index + 1, indices, total, list));
    if (!more) return false;
    std::size_t axis = at.size();
    while (axis > 0 && ++at[axis - 1] == dims[axis - 1]) at[--axis] = 0;
    if (axis == 0) return true;
  }
}

Result<bool> Evaluator::Accumulate(const Code& code, Value& total, std::vector<Value>& list) {
  QTX_RETURN_IF_ERROR(Step(code));
  const Code& body = code.children.back();
  if (code.op == Op::kAll || code.op == Op::kAny || code.op == Op::kCount) {
    QTX_ASSIGN_OR_RETURN(const bool holds, Truth(body));
    if (code.op == Op::kCount && holds) total = Value(*total.integer() + 1);
    return code.op == Op::kCount || holds == (code.op == Op::kAll);
  }
  const std::size_t top = locals_.size();
  if (code.op == Op::kFold) locals_.push_back(total);
  QTX_ASSIGN_OR_RETURN(Value term, Eval(body));
  locals_.resize(top);
  QTX_ASSIGN_OR_RETURN(term, Plain(body, std::move(term)));
  if (code.op == Op::kFold) {
    total = std::move(term);
  } else if (code.op == Op::kListOf) {
    if (list.size() == kMostOfList) return TooLong(code);
    list.push_back(std::move(term));
  } else if (code.op == Op::kSum || code.op == Op::kProduct) {
    QTX_ASSIGN_OR_RETURN(
        total, Combine(code, code.op == Op::kSum ? Op::kAdd : Op::kMultiply, total, term));
  } else {
    QTX_ASSIGN_OR_RETURN(const auto order, Order(body, term, total));
    const bool of_element = total.of_element || term.of_element;
    if (!order) {
      total = Value(Number(Nan{}));
    } else if (code.op == Op::kLeast ? *order < 0 : *order > 0) {
      total = std::move(term);
    }
    total.of_element = of_element;
  }
  return true;
}

Result<bool> Evaluator::Truth(const Code& code) {
  if (code.cache < 0) return FreshTruth(code);
  QTX_ASSIGN_OR_RETURN(const Value value, Eval(code));
  if (const auto* truth = value.condition()) return *truth;
  return Refuse(code, "found " + KindOf(value) + ", expected a condition");
}

Result<bool> Evaluator::FreshTruth(const Code& code) {
  QTX_RETURN_IF_ERROR(Step(code));
  switch (code.op) {
    case Op::kNot: {
      QTX_ASSIGN_OR_RETURN(const bool truth, Truth(code.children[0]));
      return !truth;
    }
    case Op::kAnd:
    case Op::kOr: {
      QTX_ASSIGN_OR_RETURN(const bool first, Truth(code.children[0]));
      if (first == (code.op == Op::kOr)) return first;
      return Truth(code.children[1]);
    }
    case Op::kEqual:
    case Op::kUnequal:
    case Op::kLess:
    case Op::kAtMost:
    case Op::kGreater:
    case Op::kAtLeast:
      return Relation(code);
    default:
      break;
  }
  if (code.op == Op::kApply &&
      (code.function == Function::kIsNan || code.function == Function::kIsFinite)) {
    QTX_ASSIGN_OR_RETURN(const Number number, NumberOf(code.children[0]));
    if (code.function == Function::kIsNan) return IsNan(number);
    return !IsNan(number) && !std::holds_alternative<Infinity>(number);
  }
  QTX_ASSIGN_OR_RETURN(const Value value, Eval(code));
  if (const auto* truth = value.condition()) return *truth;
  return Refuse(code, "found " + KindOf(value) + ", expected a condition");
}

// Less, equal or greater; nullopt beside a NaN.
Result<std::optional<int>> Evaluator::Order(const Code& code, const Value& a, const Value& b) {
  const auto *left = a.integer(), *right = b.integer();
  if (left != nullptr && right != nullptr) {
    return std::optional((*left > *right) - (*left < *right));
  }
  Number x_storage, y_storage;
  QTX_ASSIGN_OR_RETURN(const Number* x, NumberAt(code, a, x_storage));
  QTX_ASSIGN_OR_RETURN(const Number* y, NumberAt(code, b, y_storage));
  return Compare(*x, *y, precision_);
}

Result<bool> Evaluator::AreEqual(const Code& code, const Value& a, const Value& b) {
  const auto *left = a.list(), *right = b.list();
  if (left != nullptr && right != nullptr) {
    if (left->size() != right->size()) return false;
    for (std::size_t i = 0; i < left->size(); ++i) {
      QTX_ASSIGN_OR_RETURN(const bool equal, AreEqual(code, (*left)[i], (*right)[i]));
      if (!equal) return false;
    }
    return true;
  }
  const auto *text = a.text(), *other = b.text();
  if (text != nullptr && other != nullptr) return *text == *other;
  const auto *truth = a.condition(), *second = b.condition();
  if (truth != nullptr && second != nullptr) return *truth == *second;
  QTX_ASSIGN_OR_RETURN(const auto order, Order(code, a, b));
  return order == 0;  // NaN is unequal to all, as IEEE 754 has it
}

Result<bool> Evaluator::Relation(const Code& code) {
  QTX_ASSIGN_OR_RETURN(Value a, Eval(code.children[0]));
  QTX_ASSIGN_OR_RETURN(Value b, Eval(code.children[1]));
  if (a.tensors() != nullptr) {
    QTX_ASSIGN_OR_RETURN(a, Plain(code.children[0], std::move(a)));
  }
  if (b.tensors() != nullptr) {
    QTX_ASSIGN_OR_RETURN(b, Plain(code.children[1], std::move(b)));
  }
  if (code.op == Op::kEqual || code.op == Op::kUnequal) {
    QTX_ASSIGN_OR_RETURN(const bool equal, AreEqual(code, a, b));
    return equal == (code.op == Op::kEqual);
  }
  QTX_ASSIGN_OR_RETURN(const auto order, Order(code, a, b));
  if (!order) return false;
  switch (code.op) {
    case Op::kLess:
      return *order < 0;
    case Op::kAtMost:
      return *order <= 0;
    case Op::kGreater:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

}  // namespace qtx::formula
