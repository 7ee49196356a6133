#include "nnef/quant.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "errors.h"

namespace qtx::convert::nnef {
namespace {

using format::Dims;
using format::ElementType;
using format::IntegerRange;
using format::Quantization;
using format::TensorType;

struct Algorithm {
  std::string_view name;
  std::vector<std::string_view> parameters;
};

const std::array<Algorithm, 4>& Algorithms() {
  static const std::array<Algorithm, 4> kAlgorithms = {
      Algorithm{"zero_point_linear_quantize",
                {"zero_point", "scale", "bits", "signed", "symmetric"}},
      Algorithm{"min_max_linear_quantize", {"min", "max", "bits", "signed", "symmetric"}},
      Algorithm{"linear_quantize", {"min", "max", "bits"}},
      Algorithm{"logarithmic_quantize", {"max", "bits"}},
  };
  return kAlgorithms;
}

std::string Place(const Invocation& entry) {
  return "line " + std::to_string(entry.line) + ": \"" + entry.results[0].text + "\"";
}

// The numbers of a parameter, and the axis that they are along: a list in k lists is along axis k.
struct Numbers {
  std::vector<double> values;
  std::optional<std::int64_t> axis;  // nullopt: one number for all
  bool whole = true;
};

class Entry {
 public:
  static Result<Entry> Of(const Invocation& call) {
    const auto& all = Algorithms();
    const auto* algorithm = std::ranges::find(all, call.op, &Algorithm::name);
    if (algorithm == all.end())
      return Unsupported(Place(call), "found '" + call.op.substr(0, 64) +
                                          "', expected one of the quantizing operators of NNEF");
    Entry entry(call);
    bool named = false;
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const auto& [name, value] = call.arguments[i];
      named = named || !name.empty();
      const bool known =
          name.empty() ? !named && i < algorithm->parameters.size()
                       : name == "channel_axis" || std::ranges::find(algorithm->parameters, name) !=
                                                       algorithm->parameters.end();
      if (!known)
        return Invalid(Place(call), "found argument '" + name + "', expected those of " + call.op);
      const std::string key = name.empty() ? std::string(algorithm->parameters[i]) : name;
      if (entry.Find(key) != nullptr) return Invalid(Place(call), "'" + key + "' is given twice");
      entry.arguments_.emplace_back(key, &value);
    }
    for (const std::string_view name : algorithm->parameters) {
      if (entry.Find(name) == nullptr)
        return Invalid(Place(call),
                       "found no '" + std::string(name) + "', which " + call.op + " has to have");
    }
    return entry;
  }

  const Value* Find(std::string_view name) const {
    for (const auto& [key, value] : arguments_) {
      if (key == name) return value;
    }
    return nullptr;
  }

  Result<bool> Flag(std::string_view name) const {
    const Value* value = Find(name);
    if (value->kind == Value::Kind::kBool) return value->number != 0;
    return Wrong(name, "true or false");
  }

  Result<std::int64_t> Bits() const {
    const Value* value = Find("bits");
    if (value->integer && value->whole >= 1 && value->whole <= 32) return value->whole;
    return Wrong("bits", "an integer of 1 to 32");
  }

  Result<Numbers> NumbersOf(std::string_view name) const {
    Numbers numbers;
    QTX_RETURN_IF_ERROR(Collect(name, *Find(name), 0, numbers));
    const Value* axis = Find("channel_axis");
    if (axis == nullptr || numbers.axis.value_or(1) != 0) return numbers;
    if (!axis->integer) return Wrong("channel_axis", "an integer");
    numbers.axis = axis->whole;
    return numbers;
  }

  Error Wrong(std::string_view name, const std::string& expected) const {
    return Invalid(Place(*call_), std::string(name) + ": expected " + expected);
  }
  std::string Where() const { return Place(*call_); }

 private:
  explicit Entry(const Invocation& call) : call_(&call) {}

  Result<void> Collect(std::string_view name, const Value& value, std::int64_t depth,
                       Numbers& numbers) const {
    if (value.kind == Value::Kind::kNumber) {
      numbers.values.push_back(value.number);
      numbers.whole = numbers.whole && value.integer;
      return {};
    }
    if (!value.IsList()) return Wrong(name, "a number or a list of numbers");
    if (value.items.size() > 1) {
      if (numbers.axis) return Wrong(name, "parameters along one axis");
      numbers.axis = depth;
    }
    for (const Value& item : value.items) {
      if (numbers.axis == depth && item.IsList() && item.items.size() != 1)
        return Wrong(name, "parameters along one axis");
      QTX_RETURN_IF_ERROR(Collect(name, item, depth + 1, numbers));
    }
    if (value.items.empty()) return Wrong(name, "a number or a list of numbers");
    return {};
  }

  const Invocation* call_;
  std::vector<std::pair<std::string, const Value*>> arguments_;
};

struct Form {
  std::int64_t bits = 8;
  bool is_signed = false, symmetric = false;

  IntegerRange Range() const {
    const std::int64_t half = std::int64_t{1} << (bits - 1);
    if (!is_signed) return {0, 2 * half - 1};
    return {symmetric ? 1 - half : -half, half - 1};
  }
};

// The narrowest storage with all integers of a range.
std::optional<ElementType> StorageFor(const IntegerRange& range, bool is_signed) {
  using enum ElementType;
  constexpr std::array kSigned = {kInt2Q, kInt4Q, kInt8Q, kInt16Q, kInt32Q};
  constexpr std::array kUnsigned = {kUint2Q, kUint4Q, kUint8Q, kUint16Q, kInt32Q};
  for (const ElementType type : is_signed ? kSigned : kUnsigned) {
    const IntegerRange storage = format::StorageRange(type);
    if (storage.min <= range.min && storage.max >= range.max) return type;
  }
  return std::nullopt;
}

Result<TensorType> Empty(const Entry& entry, const Form& form, const Dims& dims) {
  const IntegerRange range = form.Range();
  const auto storage = StorageFor(range, form.is_signed);
  if (!storage)
    return Unsupported(entry.Where(), std::to_string(form.bits) +
                                          " unsigned bits, for which no quantized type is");
  TensorType type;
  type.elem_type = *storage;
  type.shape = format::ToShape(dims);
  type.quantization.emplace();
  const IntegerRange all = format::StorageRange(*storage);
  if (range.min != all.min) type.quantization->quant_min = range.min;
  if (range.max != all.max) type.quantization->quant_max = range.max;
  return type;
}

// Both lists as long as the longer, and the axis of both.
Result<void> Align(const Entry& entry, Numbers& a, Numbers& b, const Dims& dims, Quantization& q) {
  const std::size_t count = std::max(a.values.size(), b.values.size());
  for (Numbers* numbers : {&a, &b}) {
    if (numbers->values.size() == 1) numbers->values.resize(count, numbers->values[0]);
    if (numbers->values.size() != count)
      return Invalid(entry.Where(), "found lists of " + std::to_string(a.values.size()) + " and " +
                                        std::to_string(b.values.size()) + " parameters");
  }
  if (a.axis && b.axis && a.axis != b.axis)
    return Invalid(entry.Where(), "found lists of parameters along two axes");
  if (count == 1) return {};
  const std::int64_t axis = a.axis ? *a.axis : *b.axis;
  const bool fits = axis >= 0 && axis < std::ssize(dims) &&
                    dims[static_cast<std::size_t>(axis)] == static_cast<std::int64_t>(count);
  if (!fits)
    return Invalid(entry.Where(), "found " + std::to_string(count) + " parameters along axis " +
                                      std::to_string(axis) + ", expected as many as shape " +
                                      format::ToString(dims) + " has there");
  q.axis = {axis};
  return {};
}

Result<float> Scale(const Entry& entry, double scale, bool& rounded) {
  const auto single = static_cast<float>(scale);
  rounded = rounded || static_cast<double>(single) != scale;
  if (std::isfinite(single) && single > 0) return single;
  return Invalid(entry.Where(),
                 "found scale " + Decimal(scale) + ", expected a finite binary32 above 0");
}

void NoteScale(const std::string& name, bool rounded, Ledger& ledger) {
  if (rounded) {
    ledger.Changed(name, "scale", "rounded to binary32");
  } else {
    ledger.Kept(name, "scale");
  }
}

Result<std::optional<TensorType>> ZeroPoint(const Entry& entry, const Form& form, const Dims& dims,
                                            const std::string& name, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Empty(entry, form, dims));
  Quantization& q = *type.quantization;
  QTX_ASSIGN_OR_RETURN(Numbers scales, entry.NumbersOf("scale"));
  QTX_ASSIGN_OR_RETURN(Numbers zeros, entry.NumbersOf("zero_point"));
  QTX_RETURN_IF_ERROR(Align(entry, scales, zeros, dims, q));
  bool rounded = false;
  for (std::size_t i = 0; i < scales.values.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const float scale, Scale(entry, scales.values[i], rounded));
    q.scale.push_back(scale);
    const double zero = zeros.values[i];
    const bool fits = zeros.whole && zero >= std::numeric_limits<std::int32_t>::min() &&
                      zero <= std::numeric_limits<std::int32_t>::max();
    if (!fits) return entry.Wrong("zero_point", "integers of 32 bits");
    q.offset.push_back(static_cast<std::int32_t>(zero));
  }
  if (std::ranges::all_of(q.offset, [](std::int32_t offset) { return offset == 0; }))
    q.offset.clear();
  NoteScale(name, rounded, ledger);
  ledger.Kept(name, "offset");
  return std::optional(std::move(type));
}

// The integer that stands for real zero, if scale and it give min and max as binary32.
std::optional<std::int32_t> OffsetOf(double min, double max, double steps, double lowest) {
  const double from_lowest = std::nearbyint(-min * steps / (max - min));
  const double offset = lowest + from_lowest;
  if (!(std::abs(offset) <= std::numeric_limits<std::int32_t>::max())) return std::nullopt;
  const double scale = (max - min) / steps;
  const auto same = [](double a, double b) {
    return std::abs(a - b) <= std::abs(b) * 0x1p-23 ||
           static_cast<float>(a) == static_cast<float>(b);
  };
  const bool holds = same(-from_lowest * scale, min) && same((steps - from_lowest) * scale, max);
  return holds ? std::optional(static_cast<std::int32_t>(offset)) : std::nullopt;
}

Result<std::optional<TensorType>> MinMax(const Entry& entry, const Form& form, const Dims& dims,
                                         bool stored, const std::string& name, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(TensorType type, Empty(entry, form, dims));
  Quantization& q = *type.quantization;
  QTX_ASSIGN_OR_RETURN(Numbers mins, entry.NumbersOf("min"));
  QTX_ASSIGN_OR_RETURN(Numbers maxs, entry.NumbersOf("max"));
  QTX_RETURN_IF_ERROR(Align(entry, mins, maxs, dims, q));
  const IntegerRange range = form.Range();
  const auto steps = static_cast<double>(range.max - range.min);
  const auto lowest = static_cast<double>(range.min);
  std::vector<float> bases;
  bool rounded = false, whole = true;
  for (std::size_t i = 0; i < mins.values.size(); ++i) {
    const double min = mins.values[i], max = maxs.values[i];
    if (!(min < max) || steps == 0) return entry.Wrong("min", "less than max");
    QTX_ASSIGN_OR_RETURN(const float scale, Scale(entry, (max - min) / steps, rounded));
    q.scale.push_back(scale);
    const auto offset = OffsetOf(min, max, steps, lowest);
    whole = whole && offset.has_value();
    q.offset.push_back(offset.value_or(0));
    bases.push_back(static_cast<float>(min - lowest * static_cast<double>(scale)));
  }
  if (!whole && !stored) {
    QTX_RETURN_IF_ERROR(ledger.Lose("parameters", name, "quantization",
                                    "min and max give real zero no integer, which a value that is "
                                    "computed has to have"));
    return std::optional<TensorType>();
  }
  if (!whole) q.base_levels.push_back({.value = bases});
  if (!whole || std::ranges::all_of(q.offset, [](std::int32_t offset) { return offset == 0; }))
    q.offset.clear();
  NoteScale(name, rounded, ledger);
  ledger.Changed(name, "min, max", whole ? "as scale and offset" : "as scale and base");
  return std::optional(std::move(type));
}

template <typename T>
std::string ListOf(const std::vector<T>& values, std::int64_t axis,
                   std::string (*text)(const T& value)) {
  if (values.size() == 1) return text(values[0]);
  const auto depth = static_cast<std::size_t>(axis) + 1;
  std::string list(depth, '[');
  for (const T& value : values) {
    if (list.back() != '[') list += ", ";
    list += text(value);
  }
  list.append(depth, ']');
  return list;
}

std::string ScaleText(const float& scale) { return Decimal(static_cast<double>(scale)); }
std::string OffsetText(const std::int32_t& offset) { return std::to_string(offset); }

// The bits and flags that have this range.
std::optional<Form> FormOf(const IntegerRange& range) {
  for (std::int64_t bits = 1; bits <= 32; ++bits) {
    for (const bool is_signed : {true, false}) {
      for (const bool symmetric : {false, true}) {
        const Form form{bits, is_signed, symmetric};
        if (form.Range() == range && (is_signed || !symmetric)) return form;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string Decimal(double value) {
  std::array<char, 40> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), written.ptr);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

Result<std::optional<TensorType>> TypeOf(const Invocation& call, const Dims& dims, bool stored,
                                         Ledger& ledger) {
  const std::string& name = call.results[0].text;
  QTX_ASSIGN_OR_RETURN(const Entry entry, Entry::Of(call));
  Form form;
  QTX_ASSIGN_OR_RETURN(form.bits, entry.Bits());
  if (call.op == "logarithmic_quantize") {
    QTX_RETURN_IF_ERROR(ledger.Lose("parameters", name, "quantization",
                                    "logarithmic_quantize, whose powers of two no type has"));
    return std::optional<TensorType>();
  }
  if (entry.Find("signed") != nullptr) {
    QTX_ASSIGN_OR_RETURN(form.is_signed, entry.Flag("signed"));
    QTX_ASSIGN_OR_RETURN(form.symmetric, entry.Flag("symmetric"));
  }
  if (entry.Find("scale") != nullptr) return ZeroPoint(entry, form, dims, name, ledger);
  return MinMax(entry, form, dims, stored, name, ledger);
}

Result<std::string> EntryOf(const std::string& name, const TensorType& type) {
  const Quantization& q = *type.quantization;
  const bool plain = format::IsIntegerStorage(type.elem_type) && q.base_levels.empty() &&
                     q.scale_levels.empty() && q.code_book.empty() &&
                     type.elem_type != ElementType::kBipolar1Q;
  if (!plain || q.axis.size() > 1 ||
      std::ranges::any_of(q.block_shape, [](std::int64_t block) { return block != 1; }))
    return Unsupported("", "type " + format::ToString(type) +
                               "; NNEF has integers with scales per tensor or along one axis");
  const auto form = FormOf(format::StoredRange(type.elem_type, q));
  if (!form)
    return Unsupported("", "range " + std::to_string(format::StoredRange(type.elem_type, q).min) +
                               " to " + std::to_string(format::StoredRange(type.elem_type, q).max) +
                               ", which is none of a number of bits");
  const std::int64_t axis = q.axis.empty() ? 0 : q.axis[0];
  std::vector<std::int32_t> offset = q.offset;
  if (offset.empty()) offset = {0};
  if (std::ranges::all_of(offset, [&](std::int32_t o) { return o == offset[0]; })) offset.resize(1);
  return "\"" + name +
         "\": zero_point_linear_quantize(zero_point = " + ListOf(offset, axis, OffsetText) +
         ", scale = " + ListOf(q.scale, axis, ScaleText) +
         ", bits = " + std::to_string(form->bits) +
         ", signed = " + (form->is_signed ? "true" : "false") +
         ", symmetric = " + (form->symmetric ? "true" : "false") + ");\n";
}

}  // namespace qtx::convert::nnef
