#include "rules.h"

#include <algorithm>
#include <cmath>

namespace qtx::format::catalogue {
namespace {

std::string NameOf(ElementType type) { return std::string(Name(type)); }

// Whether `type` is known and not in `types`.
bool Outside(TypeSet types, ElementType type) {
  return type != ElementType::kUndefined && !types.Has(type);
}

// All of `values` are real operands, or all of one type of `one`. `place` names one of them.
Result<void> RealOrOneOf(const std::vector<const ValueFacts*>& values, TypeSet one,
                         const std::function<std::string(std::size_t)>& place) {
  ElementType first = ElementType::kUndefined;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ElementType type = values[i]->type;
    if (!values[i]->given || type == ElementType::kUndefined) continue;
    if (Outside(kRealTypes | one, type)) {
      return Refuse(place(i),
                    "found type " + NameOf(type) + ", expected " + TypeNames(kRealTypes | one));
    }
    if (first == ElementType::kUndefined) {
      first = type;
    } else if (kRealTypes.Has(first) ? !kRealTypes.Has(type) : type != first) {
      return Refuse(place(i), "found type " + NameOf(type) + " beside " + NameOf(first) +
                                  ", expected real operands or one plain type");
    }
  }
  return {};
}

}  // namespace

ClauseRule RealOrOne(Indices inputs, Indices outputs, TypeSet one) {
  return [=](const Application& a) {
    std::vector<const ValueFacts*> values;
    for (const std::size_t i : inputs) values.push_back(&a.Input(i));
    for (const std::size_t i : outputs) values.push_back(&a.Output(i));
    return RealOrOneOf(values, one, [&](std::size_t i) {
      return i < inputs.size() ? InputPlace(a, inputs[i])
                               : OutputPlace(a, outputs[i - inputs.size()]);
    });
  };
}

ClauseRule AllRealOrOne(TypeSet one) {
  return [=](const Application& a) {
    std::vector<const ValueFacts*> values;
    for (const ValueFacts& input : a.inputs) values.push_back(&input);
    for (const ValueFacts& output : a.outputs) values.push_back(&output);
    return RealOrOneOf(values, one, [&](std::size_t i) {
      return i < a.inputs.size() ? InputPlace(a, i) : OutputPlace(a, i - a.inputs.size());
    });
  };
}

ClauseRule OutputsFollowInput(std::size_t input) {
  return [=](const Application& a) -> Result<void> {
    const ElementType from = a.Input(input).type;
    if (from == ElementType::kUndefined) return {};
    if (!kAnyType.Has(from)) return BadInput(a, input, "type " + NameOf(from), "one of numbers");
    for (std::size_t i = 0; i < a.outputs.size(); ++i) {
      const ElementType type = a.outputs[i].type;
      if (type == ElementType::kUndefined) continue;
      if (kRealTypes.Has(from) ? kRealTypes.Has(type) : type == from) continue;
      return BadOutput(a, i, "type " + NameOf(type) + " from " + NameOf(from),
                       kRealTypes.Has(from) ? "a real operand" : NameOf(from));
    }
    return {};
  };
}

ClauseRule InputTypes(std::size_t i, TypeSet types) {
  return [=](const Application& a) -> Result<void> {
    const ValueFacts& value = a.Input(i);
    if (!value.given || !Outside(types, value.type)) return {};
    return BadInput(a, i, "type " + NameOf(value.type), TypeNames(types));
  };
}

ClauseRule OutputTypes(std::size_t i, TypeSet types) {
  return [=](const Application& a) -> Result<void> {
    const ValueFacts& value = a.Output(i);
    if (!value.given || !Outside(types, value.type)) return {};
    return BadOutput(a, i, "type " + NameOf(value.type), TypeNames(types));
  };
}

ClauseRule RankIs(std::size_t i, std::size_t rank) {
  return [=](const Application& a) -> Result<void> {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr || dims->size() == rank) return {};
    return BadInput(a, i, "shape " + ShapeText(*dims), "rank " + std::to_string(rank));
  };
}

ClauseRule RankAtLeast(std::size_t i, std::size_t rank) {
  return [=](const Application& a) -> Result<void> {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr || dims->size() >= rank) return {};
    return BadInput(a, i, "shape " + ShapeText(*dims), "rank " + std::to_string(rank) + " or more");
  };
}

ClauseRule IsScalar(std::size_t i) {
  return [=](const Application& a) -> Result<void> {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr || dims->empty() || !Differ(*dims, {1})) return {};
    return BadInput(a, i, "shape " + ShapeText(*dims), "one element, rank 0 or shape [1]");
  };
}

ClauseRule CanBroadcast(Indices inputs) {
  return [=](const Application& a) -> Result<void> {
    Dims result;
    for (const std::size_t i : inputs) {
      const Dims* dims = DimsOf(a.Input(i));
      if (dims == nullptr) continue;
      auto both = BroadcastOf(result, *dims);
      if (!both.has_value()) return At(InputPlace(a, i), std::move(both).error());
      result = *std::move(both);
    }
    return {};
  };
}

ClauseRule BroadcastsTo(std::size_t i, std::size_t to) {
  return [=](const Application& a) -> Result<void> {
    const Dims* from = DimsOf(a.Input(i));
    const Dims* goal = DimsOf(a.Input(to));
    if (from == nullptr || goal == nullptr) return {};
    const auto both = BroadcastOf(*from, *goal);
    if (both.has_value() && !Differ(*both, *goal)) return {};
    return BadInput(a, i, "shape " + ShapeText(*from),
                    "one that broadcasts to " + ShapeText(*goal) + " without enlarging it");
  };
}

ClauseRule IsList(std::size_t i, TypeSet types) {
  return Both({InputTypes(i, types), RankIs(i, 1)});
}

ClauseRule InputSince(std::size_t i, std::int64_t since) {
  return [=](const Application& a) -> Result<void> {
    if (!a.Input(i).given || a.opset >= since) return {};
    Error error = Refuse(InputPlace(a, i), "opset " + std::to_string(a.opset) +
                                               " does not have it; it is of " +
                                               std::to_string(since) + " and later");
    error.clause = "graph.C5";
    return error;
  };
}

Result<void> CheckAxes(const ListArgument& axes, std::int64_t rank) {
  if (!axes.values) {
    if (!Known(rank) || axes.length <= rank) return {};
    return Refuse(axes.place, "found " + std::to_string(axes.length) + " axes, expected at most " +
                                  std::to_string(rank));
  }
  std::vector<std::int64_t> sorted = *axes.values;
  for (std::int64_t& axis : sorted) {
    if (!Known(rank)) break;
    if (axis < -rank || axis >= rank) {
      return Refuse(axes.place, "found axis " + std::to_string(axis) + ", expected a value in [-" +
                                    std::to_string(rank) + ", " + std::to_string(rank) + ")");
    }
    if (axis < 0) axis += rank;
  }
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return {};
  return Refuse(axes.place, "found axis " + std::to_string(*twice) + " twice, expected it once");
}

ClauseRule AxisInRange(std::string_view attribute, std::size_t input, bool end_too) {
  return [=](const Application& a) -> Result<void> {
    const Dims* dims = DimsOf(a.Input(input));
    if (dims == nullptr) return {};
    const auto rank = static_cast<std::int64_t>(dims->size());
    const std::int64_t axis = a.Int(attribute);
    if (axis >= -rank && axis < rank + (end_too ? 1 : 0)) return {};
    return BadAttribute(attribute, std::to_string(axis),
                        "a value in [-" + std::to_string(rank) + ", " + std::to_string(rank) +
                            (end_too ? "]" : ")"));
  };
}

ClauseRule IntWithin(std::string_view attribute, std::int64_t least, std::int64_t greatest) {
  return [=](const Application& a) -> Result<void> {
    const std::int64_t value = a.Int(attribute);
    if (value >= least && value <= greatest) return {};
    return BadAttribute(attribute, std::to_string(value),
                        greatest == INT64_MAX
                            ? "at least " + std::to_string(least)
                            : std::to_string(least) + " to " + std::to_string(greatest));
  };
}

ClauseRule StringOneOf(std::string_view attribute, std::vector<std::string_view> values) {
  return [=](const Application& a) -> Result<void> {
    const std::string value = a.String(attribute);
    if (std::ranges::find(values, value) != values.end()) return {};
    std::string expected;
    for (const std::string_view one : values) {
      expected += (expected.empty() ? "" : ", ") + std::string(one);
    }
    return BadAttribute(attribute, "'" + value + "'", "one of " + expected);
  };
}

ClauseRule IsFinite(std::string_view attribute) {
  return [=](const Application& a) -> Result<void> {
    const float value = a.Float(attribute);
    if (std::isfinite(value)) return {};
    return BadAttribute(attribute, std::to_string(value), "a finite value");
  };
}

ClauseRule IsFiniteNotNegative(std::string_view attribute) {
  return [=](const Application& a) -> Result<void> {
    const float value = a.Float(attribute);
    if (std::isfinite(value) && value >= 0) return {};
    return BadAttribute(attribute, std::to_string(value), "a finite value of at least 0");
  };
}

ClauseRule Both(std::vector<ClauseRule> rules) {
  return [rules = std::move(rules)](const Application& a) -> Result<void> {
    for (const ClauseRule& rule : rules) QTX_RETURN_IF_ERROR(rule(a));
    return {};
  };
}

Result<void> Anything(const Application&) { return {}; }

Result<std::vector<std::optional<Dims>>> ShapeOfFirst(const Application& a) {
  return std::vector<std::optional<Dims>>{a.Input(0).dims};
}

Result<std::vector<std::optional<Dims>>> ShapeOfBroadcast(const Application& a) {
  Dims result;
  for (const ValueFacts& input : a.inputs) {
    if (!input.dims) return std::vector<std::optional<Dims>>{std::nullopt};
    QTX_ASSIGN_OR_RETURN(result, BroadcastOf(result, *input.dims));
  }
  return std::vector<std::optional<Dims>>{std::move(result)};
}

ElementType Int64Type(const Application&, std::size_t) { return ElementType::kInt64; }
ElementType Int32Type(const Application&, std::size_t) { return ElementType::kInt32; }

}  // namespace qtx::format::catalogue
