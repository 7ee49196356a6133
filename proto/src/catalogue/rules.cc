#include "rules.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/limits.h"

namespace qtx::format::catalogue {
namespace {

std::string NameOf(ElementType type) { return std::string(Name(type)); }

std::string Place(const char* what, const std::vector<ValueRule>& rules,
                  const std::vector<std::string>& names, std::size_t i) {
  std::string place = std::string(what) + "[" + std::to_string(i) + "]";
  if (i < names.size() && !names[i].empty()) return place + " '" + names[i] + "'";
  return i < rules.size() ? place + " '" + std::string(rules[i].name) + "'" : place;
}

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

std::string AttributeTypeName(AttributeType type) {
  static constexpr std::string_view kNames[] = {
      "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
      "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
      "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  const auto code = static_cast<std::size_t>(type);
  return code < std::size(kNames) ? std::string(kNames[code])
                                  : std::to_string(static_cast<int>(type));
}

std::string TypeNames(TypeSet types) {
  std::vector<std::string_view> names;
  TypeSet named;
  const auto add_all_of = [&](TypeSet group, std::string_view name) {
    if ((types | group) != types) return;
    names.push_back(name);
    named = named | group;
  };
  add_all_of(kRealTypes, "a real operand");
  add_all_of(kPlainIntegers, "a plain integer");
  for (int code = 1; code < 1200; ++code) {
    const ElementType type{code};
    if (!types.Has(type) || named.Has(type) || !ElementTypeFromCode(code)) continue;
    names.push_back(Name(type));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string InputPlace(const Application& a, std::size_t i) {
  return Place("input", a.schema.inputs, a.node.inputs, i);
}

std::string OutputPlace(const Application& a, std::size_t i) {
  return Place("output", a.schema.outputs, a.node.outputs, i);
}

Error Refuse(std::string where, std::string message) {
  return Error{ErrorCode::kInvalid, std::move(where), std::move(message)};
}

Error BadInput(const Application& a, std::size_t i, const std::string& found,
               const std::string& expected) {
  return Refuse(InputPlace(a, i), "found " + found + ", expected " + expected);
}

Error BadOutput(const Application& a, std::size_t i, const std::string& found,
                const std::string& expected) {
  return Refuse(OutputPlace(a, i), "found " + found + ", expected " + expected);
}

Error BadAttribute(std::string_view name, const std::string& found, const std::string& expected) {
  return Refuse("attribute '" + std::string(name) + "'",
                "found " + found + ", expected " + expected);
}

Error UndefinedAttribute(std::string_view name, const std::string& value) {
  return Error{ErrorCode::kUnsupported, "attribute '" + std::string(name) + "'",
               "found " + value + ", which this version of the text does not define"};
}

const Dims* DimsOf(const ValueFacts& value) {
  return value.given && value.dims ? &*value.dims : nullptr;
}

bool Differ(const Dims& a, const Dims& b) {
  return a.size() != b.size() ||
         !std::ranges::equal(a, b, [](std::int64_t x, std::int64_t y) { return !Differ(x, y); });
}

bool AllKnown(const Dims& dims) { return std::ranges::all_of(dims, Known); }

std::optional<std::vector<std::int64_t>> IntegersOf(const ValueFacts& value) {
  if (value.constant == nullptr || !kPlainIntegers.Has(value.constant->elem_type)) {
    return std::nullopt;
  }
  // An initializer of another type than its declaration may have another shape, too.
  if (value.dims != value.constant->dims) return std::nullopt;
  return UnpackIntegers(*value.constant);
}

std::optional<std::vector<double>> FloatsOf(const ValueFacts& value) {
  static constexpr TypeSet kFloats = {ElementType::kFloat, ElementType::kFloat16,
                                      ElementType::kBfloat16, ElementType::kDouble,
                                      ElementType::kFloat8E8M0};
  if (value.constant == nullptr || !kFloats.Has(value.constant->elem_type)) return std::nullopt;
  return StoredValues(*value.constant);
}

std::string ShapeText(const Dims& dims) {
  std::string text = "[";
  for (const std::int64_t size : dims) {
    if (text.size() > 1) text += ',';
    text += Known(size) ? std::to_string(size) : "?";
  }
  return text + "]";
}

Result<Dims> BroadcastOf(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {  // i counts axes from the last
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (Differ(x, y) && x != 1 && y != 1) {
      return Refuse("", "shapes " + ShapeText(a) + " and " + ShapeText(b) +
                            " cannot be broadcast: sizes " + std::to_string(x) + " and " +
                            std::to_string(y));
    }
    std::int64_t size = kUnknownSize;
    if (x == y || y == 1 || (Known(x) && x != 1)) size = x;
    if (x == 1 || (Known(y) && y != 1)) size = y;
    result[result.size() - 1 - i] = size;
  }
  return result;
}

std::size_t AxisOf(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

std::int64_t SumOf(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return a == 0 ? b : a;
  return Known(a) && Known(b) && a <= INT64_MAX - b ? a + b : kUnknownSize;
}

std::int64_t ProductOf(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a == 1 || b == 1) return a == 1 ? b : a;
  return Known(a) && Known(b) && a <= INT64_MAX / b ? a * b : kUnknownSize;
}

std::int64_t EitherOf(std::int64_t a, std::int64_t b) {
  return Known(a) || (!Known(b) && a != kUnknownSize) ? a : b;
}

std::int64_t CountOf(std::span<const std::int64_t> sizes) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    count = ProductOf(count, size);
    if (count == kUnknownSize) break;  // stays so, for there is no 0
  }
  return count;
}

std::int64_t RankOf(const ValueFacts& value) {
  const Dims* dims = DimsOf(value);
  return dims == nullptr ? kUnknownSize : static_cast<std::int64_t>(dims->size());
}

std::int64_t LengthOf(const ValueFacts& value) {
  const Dims* dims = DimsOf(value);
  return dims != nullptr && dims->size() == 1 ? dims->front() : kUnknownSize;
}

std::optional<Dims> DimsOfRank(std::int64_t rank) {
  if (!Known(rank) || rank > kMaxRank) return std::nullopt;
  return Dims(static_cast<std::size_t>(rank), kUnknownSize);
}

ListArgument ListOf(const Application& a, std::size_t i, std::string_view attribute) {
  const ValueFacts& input = a.Input(i);
  ListArgument list{.given = input.given, .place = InputPlace(a, i)};
  if (input.given) {
    list.values = IntegersOf(input);
    list.length = RankOf(input) == 0 ? 1 : LengthOf(input);
    if (list.length == 0) list.values.emplace();
  } else if (const Attribute* found = a.Find(attribute)) {
    list.values = found->ints;
    list.given = true;
    list.place = "attribute '" + std::string(attribute) + "'";
  }
  if (list.values) list.length = static_cast<std::int64_t>(list.values->size());
  return list;
}

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
