// What is known of the values of a node, and what errors say of it.
#include <algorithm>

#include "qtx/format/limits.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

std::string Place(const char* what, const std::vector<ValueRule>& rules,
                  const std::vector<std::string>& names, std::size_t i) {
  std::string place = std::string(what) + "[" + std::to_string(i) + "]";
  if (i < names.size() && !names[i].empty()) return place + " '" + names[i] + "'";
  return i < rules.size() ? place + " '" + std::string(rules[i].name) + "'" : place;
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

}  // namespace qtx::format::catalogue
