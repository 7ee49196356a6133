// Draws of a node by the row of its operator alone: inputs, outputs and attributes are drawn among
// what operators use, and the row refuses what this one does not.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

#include "fuzz_maker.h"

namespace qtx::conformance {
namespace {

using format::Attribute;
using format::AttributeType;
using format::Dims;
using format::ElementType;
using format::Tensor;
using format::ValueRule;

constexpr int kMaxDraws = 100;                  // for one input or attribute
constexpr std::int64_t kMostSpliced = 1 << 20;  // elements of a shape of parts of two

// Values of ONNX's attributes of type STRING and STRINGS.
constexpr const char* kWords[] = {"constant",
                                  "edge",
                                  "reflect",
                                  "wrap",
                                  "SAME_UPPER",
                                  "SAME_LOWER",
                                  "VALID",
                                  "NOTSET",
                                  "none",
                                  "tanh",
                                  "DCR",
                                  "CRD",
                                  "add",
                                  "mul",
                                  "min",
                                  "max",
                                  "nearest",
                                  "linear",
                                  "cubic",
                                  "half_pixel",
                                  "half_pixel_symmetric",
                                  "pytorch_half_pixel",
                                  "align_corners",
                                  "asymmetric",
                                  "round_prefer_floor",
                                  "round_prefer_ceil",
                                  "floor",
                                  "ceil",
                                  "stretch",
                                  "not_larger",
                                  "not_smaller",
                                  "forward",
                                  "reverse",
                                  "bidirectional",
                                  "Sigmoid",
                                  "Tanh",
                                  "Relu",
                                  "up",
                                  "down",
                                  "LEFT",
                                  "RIGHT"};

// Types of outputs that no rule of a row gives.
constexpr ElementType kOutputTypes[] = {
    ElementType::kFloat, ElementType::kUint8,  ElementType::kInt8, ElementType::kInt64,
    ElementType::kInt32, ElementType::kUint16, ElementType::kInt16};

Dims Spliced(const Dims& first, std::size_t count, const Dims& second, std::size_t from) {
  Dims dims(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(count));
  dims.insert(dims.end(), second.begin() + static_cast<std::ptrdiff_t>(from), second.end());
  return dims;
}

}  // namespace

bool Maker::Make() {
  NameOutputs();
  refusal_ = Refusal();
  AddAttributes(0);
  if (const FuzzRecipe recipe = FindFuzzRecipe(schema_.op_type)) recipe(*this);
  const std::size_t count = schema_.inputs.size();
  if (next_ == 0 && count > 0) AddInput(0);
  AddAttributes(50);
  while (next_ < count) {
    const std::size_t before = next_;
    AddInput(before);
    if (next_ == before) return false;
  }
  if (count > 0 && schema_.inputs.back().variadic) {
    for (std::int64_t more = Between(0, 3); more > 0; --more) AddInput(count - 1);
  }
  while (!draft_.node.inputs.empty() && draft_.node.inputs.back().empty()) {
    draft_.node.inputs.pop_back();
  }
  return Refusal().empty();
}

void Maker::NameOutputs() {
  const std::size_t last = schema_.outputs.size() - 1;
  Outputs(last + (schema_.outputs[last].variadic ? static_cast<std::size_t>(Between(1, 3)) : 1));
  const std::uint64_t percent = Chance(60) ? 100 : 40;  // of the optional ones that are left out
  for (std::size_t i = 0; i <= last; ++i) {
    if (schema_.outputs[i].optional && Chance(percent)) draft_.node.outputs[i].clear();
  }
  while (!draft_.node.outputs.empty() && draft_.node.outputs.back().empty()) {
    draft_.node.outputs.pop_back();
  }
}

void Maker::AddInput(std::size_t i) {
  const ValueRule& rule = schema_.inputs[i];
  const bool is_first = next_ == 0;
  if (rule.optional && !IsMissed(rule.name) && Chance(50)) return Absent();
  if (Chance(is_first ? 100 : 40)) {
    for (std::size_t tries = 0; tries < 4 && !known_.empty(); ++tries) {
      if (Offer(known_[random_.Below(known_.size())].name)) return;
    }
  }
  for (int tries = 0; tries < kMaxDraws; ++tries) {
    const ElementType type = DrawType(tries);
    const bool is_index = type == ElementType::kInt64 || type == ElementType::kInt32;
    if (!is_first && is_index && Chance(85)) {
      if (Offer(DrawTensor(type), Chance(85))) return;
      continue;
    }
    const Dims dims = is_first ? Shape(0, 5) : DimsLikeOthers();
    std::optional<std::int64_t> axis;
    if (!Fits(type, dims)) continue;
    if (!dims.empty() && Chance(is_first ? 15 : 40)) axis = Between(0, std::ssize(dims) - 1);
    Tensor tensor = Filled(type, dims, axis);
    if (!is_first && type == ElementType::kFloat && Chance(80)) {  // perhaps scales
      for (float& value : tensor.As<float>()) value = Scale();
    }
    if (Offer(std::move(tensor), !is_first && Chance(50))) return;
  }
  if (rule.optional) Absent();
}

bool Maker::IsMissed(std::string_view name) const {
  return refusal_.find(name) != std::string::npos;
}

void Maker::AddAttributes(std::uint64_t percent) {
  for (const format::AttributeRule& rule : schema_.attributes) {
    if (!Has(rule.name) || draft_.node.Find(rule.name) != nullptr) continue;
    if (!IsMissed(rule.name) && !Chance(percent)) continue;
    for (int tries = 0; tries < kMaxDraws; ++tries) {
      auto attribute = DrawAttribute(rule);
      if (attribute && Offer(*std::move(attribute))) break;
    }
  }
}

std::int64_t Maker::DrawInt(const format::AttributeRule& rule) {
  const Dims dims = DimsOfOther();
  switch (random_.Below(6)) {
    case 0:
      return Between(-std::ssize(dims), std::ssize(dims));
    case 1:
      return dims.empty() ? 1 : dims[random_.Below(dims.size())];
    case 2:
      return Between(2, 4);
    case 3:
      return static_cast<std::int64_t>(DrawType(0));  // the code of a type
    case 4:
      if (const auto* value = std::get_if<std::int64_t>(&rule.otherwise)) return *value;
      [[fallthrough]];
    case 5:
      return Chance(20) ? traits_.opset : Between(0, 1);
    default:
      return Between(0, 1);
  }
}

std::optional<Attribute> Maker::DrawAttribute(const format::AttributeRule& rule) {
  const std::string name(rule.name);
  const auto word = [this] { return std::string(kWords[random_.Below(std::size(kWords))]); };
  switch (rule.type) {
    case AttributeType::kInt:
      return Attribute::Int(name, DrawInt(rule));
    case AttributeType::kInts:
      return Attribute::Ints(name, Integers());
    case AttributeType::kFloat:
      return Attribute::Float(name, Chance(80) ? Scale() : -Scale());
    case AttributeType::kFloats:
      return Attribute::Floats(name, {Scale(), -Scale()});
    case AttributeType::kString:
      return Attribute::String(name, word());
    case AttributeType::kTensor: {
      Attribute attribute;
      attribute.name = name;
      attribute.type = rule.type;
      attribute.t = format::ToTensorData(
          name, Filled(Chance(50) ? ElementType::kFloat : ElementType::kInt64, Shape(0, 3), {}));
      return attribute;
    }
    default:
      return std::nullopt;
  }
}

// The sizes of an input that was drawn before; any that the first one may have.
Dims Maker::DimsOfOther() {
  if (next_ == 0) return Shape(1, 4);
  const Datum* other = Find(draft_.node.inputs[random_.Below(next_)]);
  return other == nullptr ? Dims() : other->tensor.dims;
}

// Sizes as inputs have them beside others: equal, broadcast, of a parameter along an axis, of a
// right-hand matrix, of parts of two shapes.
Dims Maker::DimsLikeOthers() {
  const Dims dims = DimsOfOther();
  if (dims.empty()) return Chance(70) ? Dims() : Shape(0, 2);
  const Dims more = DimsOfOther();
  const std::size_t axis = random_.Below(dims.size());
  Dims changed = dims;
  switch (random_.Below(10)) {
    case 0:
    case 9:
      return {};
    case 1:
      return {dims[axis]};
    case 2:
      return BroadcastTo(dims);
    case 3:
      return Spliced({}, 0, dims, axis);
    case 4:
      changed = Spliced(dims, axis, more, random_.Below(more.size() + 1));
      return format::ElementCount(changed).value_or(kMostSpliced + 1) > kMostSpliced ? dims
                                                                                     : changed;
    case 5:
      changed[axis] = Size(9);
      return changed;
    case 6:
      changed.back() = Size(33);
      if (dims.size() > 1) changed[dims.size() - 2] = dims.back();
      return changed;
    case 7:
      return {dims.back(), Size(33)};
    default:
      return dims;
  }
}

// Integers as lists of axes, sizes or positions have them.
std::vector<std::int64_t> Maker::Integers() {
  const Dims dims = DimsOfOther();
  const std::int64_t rank = std::ssize(dims);
  const std::int64_t axes = rank > 2 && Chance(50) ? rank - 2 : rank;  // of a window, or all
  std::vector<std::int64_t> values;
  const auto fill = [&](std::int64_t count, std::int64_t low, std::int64_t high) {
    for (; count > 0; --count) values.push_back(Between(low, high));
  };
  switch (random_.Below(8)) {
    case 0:  // some axes
      for (std::int64_t i = 0; i < rank; ++i) {
        if (Chance(50)) values.push_back(Chance(30) ? i - rank : i);
      }
      return values;
    case 1:  // a permutation of all axes
      fill(rank, 0, 0);
      std::iota(values.begin(), values.end(), std::int64_t{0});
      for (std::size_t i = values.size(); i > 1; --i) {
        std::swap(values[i - 1], values[random_.Below(i)]);
      }
      return values;
    case 2:  // sizes
      values.assign(dims.end() - static_cast<std::ptrdiff_t>(axes), dims.end());
      return Chance(50) ? values : BroadcastTo(values);
    case 3:  // strides, repeats
      fill(axes, 1, 3);
      return values;
    case 4:  // pads
      fill(2 * axes, Chance(15) ? -1 : 0, 2);
      return values;
    case 5:  // axes of one more rank
      return {Between(-rank - 1, rank)};
    case 6:
      return Factors(
          std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()));
    default: {  // positions
      const std::int64_t size = dims.empty() ? 1 : dims[random_.Below(dims.size())];
      fill(Between(1, 6), Chance(50) ? -size : 0, size - 1);
      return values;
    }
  }
}

// Numbers whose product is `count`, -1 perhaps in the place of one.
std::vector<std::int64_t> Maker::Factors(std::int64_t count) {
  std::vector<std::int64_t> factors;
  for (const std::int64_t divisor : {2, 3, 5}) {
    if (count % divisor != 0 || Chance(40)) continue;
    factors.push_back(divisor);
    count /= divisor;
  }
  factors.insert(factors.begin() + Between(0, std::ssize(factors)), Chance(50) ? -1 : count);
  return factors;
}

// Integers(), as a list, as their first alone, or as positions in another tensor's shape.
Tensor Maker::DrawTensor(ElementType type) {
  std::vector<std::int64_t> values = Integers();
  Dims dims = {std::ssize(values)};
  if (!values.empty() && Chance(20)) dims.clear();
  if (Chance(15)) {
    dims = Chance(50) ? DimsLikeOthers() : Dims{Between(1, 3), Between(1, 3)};
    const Dims other = DimsOfOther();
    const std::int64_t most = other.empty() ? 1 : *std::ranges::min_element(other);
    values.resize(static_cast<std::size_t>(format::ElementCount(dims).value_or(0)));
    for (std::int64_t& value : values) value = Between(-most, most - 1);
  }
  auto tensor = format::MakeTensor(type, dims);
  if (!tensor) return Tensor{};
  values.resize(static_cast<std::size_t>(format::ElementCount(*tensor)));
  format::PackIntegers(values, *tensor);
  return *std::move(tensor);
}

std::optional<OutputChoice> Maker::ChoiceOf(std::size_t i) const {
  format::Application asked = Asked();
  asked.outputs[i].given = true;
  const auto accepts = [&](ElementType type) {
    format::Application a = asked;
    a.outputs[i].type = type;
    return format::CheckApplication(a).has_value();
  };
  if (accepts(ElementType::kFloat) && accepts(ElementType::kInt8Q)) {
    return OutputChoice{.is_free = true, .fixed = {}};
  }
  const ElementType type = format::TypeOfOutput(asked, i);
  OutputChoice choice{.is_free = false, .fixed = {.elem_type = type}};
  if (type != ElementType::kUndefined && accepts(type)) {
    for (const std::string& name : draft_.node.inputs) {
      const Datum* input = Find(name);
      if (input == nullptr || input->tensor.elem_type != type) continue;
      choice.fixed.quantization = input->tensor.quantization;
      break;
    }
    return choice;
  }
  for (const ElementType other : kOutputTypes) {
    choice.fixed.elem_type = other;
    if (accepts(other)) return choice;
  }
  return std::nullopt;
}

}  // namespace qtx::conformance
