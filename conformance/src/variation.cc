#include "variation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "redraw.h"
#include "reduce.h"

namespace qtx::conformance {
namespace {

using format::Attribute;
using format::AttributeType;
using format::ElementType;
using format::Quantization;

constexpr std::int64_t kMaxVariedElements = std::int64_t{1} << 14;  // of a varied model

std::string ListText(const std::vector<std::int64_t>& values) {
  std::string list = "[";
  for (const std::int64_t value : values) {
    list += (list.size() == 1 ? "" : ", ") + std::to_string(value);
  }
  return list + "]";
}

// ONNX's defaults of lists: no padding, steps of one.
std::int64_t DefaultOf(const std::string& name) {
  return name == "strides" || name == "dilations" || name == "group" ? 1 : 0;
}

void AddAttributes(const TestModel& test, std::size_t n, std::vector<Feature>& features) {
  for (std::size_t at = 0; at < test.nodes[n].attributes.size(); ++at) {
    const Attribute& attribute = test.nodes[n].attributes[at];
    if (attribute.name == "kernel_shape") continue;  // the weights' shape, or a size
    Feature feature{"with " + AttributeText(attribute), {}};
    TestModel without = test;
    auto& attributes = without.nodes[n].attributes;
    attributes.erase(attributes.begin() + static_cast<std::ptrdiff_t>(at));
    feature.without.push_back(std::move(without));
    if (attribute.type == AttributeType::kInts && !attribute.ints.empty()) {
      TestModel usual = test;
      std::ranges::fill(usual.nodes[n].attributes[at].ints, DefaultOf(attribute.name));
      feature.without.push_back(std::move(usual));
    }
    features.push_back(std::move(feature));
  }
}

void AddOptionalInputs(const TestModel& test, std::size_t n, std::vector<Feature>& features) {
  const std::vector<std::string>& inputs = test.nodes[n].inputs;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].empty()) continue;
    TestModel without = test;
    std::vector<std::string>& left = without.nodes[n].inputs;
    left[i].clear();
    while (!left.empty() && left.back().empty()) left.pop_back();
    std::erase_if(without.data,
                  [&without](const Datum& datum) { return !IsRead(without, datum.name); });
    features.push_back({"with input " + std::to_string(i) + " (" + inputs[i] + ")", {without}});
  }
}

// The same stored values, cut off to another type of integers.
bool SetType(ElementType type, format::Tensor& tensor) {
  auto other = format::MakeTensor(type, tensor.dims, tensor.quantization);
  if (!other) return false;
  const format::IntegerRange range = format::StorageRange(type);
  std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
  for (std::int64_t& value : values) value = std::clamp(value, range.min, range.max);
  if (other->quantization) {
    other->quantization->quant_min.reset();
    other->quantization->quant_max.reset();
    for (std::int32_t& offset : other->quantization->offset) {
      offset = static_cast<std::int32_t>(std::clamp<std::int64_t>(offset, range.min, range.max));
    }
  }
  format::PackIntegers(values, *other);
  tensor = *std::move(other);
  return true;
}

constexpr std::array kTypes = {ElementType::kInt8Q, ElementType::kUint8Q, ElementType::kInt16Q};

bool HasStoredIntegers(ElementType type) {
  return format::IsQuantized(type) && format::IsIntegerStorage(type);
}

void AddInputTypes(const TestModel& test, std::vector<Feature>& features) {
  for (std::size_t i = 0; i < test.data.size(); ++i) {
    const ElementType type = test.data[i].tensor.elem_type;
    if (!HasStoredIntegers(type)) continue;
    Feature feature{"where " + test.data[i].name + " is " + std::string(format::Name(type)), {}};
    for (const ElementType other : kTypes) {
      TestModel changed = test;
      if (other == type || !SetType(other, changed.data[i].tensor)) continue;
      feature.without.push_back(std::move(changed));
    }
    features.push_back(std::move(feature));
  }
}

void AddOutputTypes(const TestModel& test, std::vector<Feature>& features) {
  for (std::size_t i = 0; i < test.outputs.size(); ++i) {
    const auto& declared = test.outputs[i].type;
    if (!declared) continue;
    const bool is_real = declared->elem_type == ElementType::kFloat;
    if (!is_real && !HasStoredIntegers(declared->elem_type)) continue;
    const std::string name(format::Name(declared->elem_type));
    Feature feature{"where the output is " + name, {}};
    for (const ElementType other : kTypes) {
      TestModel changed = test;
      format::TensorType& type = *changed.outputs[i].type;
      if (is_real) type.quantization = Quantization{.scale = {1}};
      if (other == type.elem_type || !type.quantization) continue;
      type.elem_type = other;
      type.quantization->quant_min.reset();
      type.quantization->quant_max.reset();
      feature.without.push_back(std::move(changed));
    }
    features.push_back(std::move(feature));
  }
}

Quantization* ParametersOf(TestModel& test, std::size_t i) {
  if (i < test.data.size()) {
    auto& q = test.data[i].tensor.quantization;
    return q ? &*q : nullptr;
  }
  auto& type = test.outputs[i - test.data.size()].type;
  return type && type->quantization ? &*type->quantization : nullptr;
}

void AddParameters(const TestModel& test, std::vector<Feature>& features) {
  for (std::size_t i = 0; i < test.data.size() + test.outputs.size(); ++i) {
    TestModel copy = test;
    const Quantization* q = ParametersOf(copy, i);
    if (q == nullptr) continue;
    const std::string name =
        i < test.data.size() ? " of " + test.data[i].name : std::string(" of the output");
    const auto add = [&](const std::string& says, auto change) {
      TestModel without = test;
      change(*ParametersOf(without, i));
      std::string text = says;
      text += name;
      features.push_back({std::move(text), {std::move(without)}});
    };
    if (std::ranges::any_of(q->offset, [](auto offset) { return offset != 0; })) {
      add("with an offset", [](Quantization& p) { p.offset.clear(); });
    }
    if (q->quant_min || q->quant_max) {
      add("with a narrowed range", [](Quantization& p) {
        p.quant_min.reset();
        p.quant_max.reset();
      });
    }
    if (!q->axis.empty()) {
      add("with parameters along an axis", [](Quantization& p) {
        p.axis.clear();
        p.block_shape.clear();
        p.requantization.reset();
        p.scale.resize(std::min<std::size_t>(p.scale.size(), 1));
        p.offset.resize(std::min<std::size_t>(p.offset.size(), 1));
      });
    }
    if (std::ranges::any_of(q->offset, [&](auto o) { return o != q->offset[0]; })) {
      add("with different offsets",
          [](Quantization& p) { std::ranges::fill(p.offset, p.offset[0]); });
    }
    if (std::ranges::any_of(q->scale, [&](auto s) { return s != q->scale[0]; })) {
      add("with different scales", [](Quantization& p) { std::ranges::fill(p.scale, p.scale[0]); });
    }
  }
}

void AddConstants(const TestModel& test, std::vector<Feature>& features) {
  for (std::size_t i = 0; i < test.data.size(); ++i) {
    TestModel other = test;
    other.data[i].constant = !other.data[i].constant;
    features.push_back(
        {"where " + test.data[i].name + (test.data[i].constant ? " is a constant" : " is an input"),
         {std::move(other)}});
  }
}

// Integers that shapes and positions are given by: pads, starts, sizes.
void AddNumbers(const TestModel& test, std::vector<Feature>& features) {
  constexpr std::int64_t kMostNumbers = 8;
  for (std::size_t i = 0; i < test.data.size(); ++i) {
    const format::Tensor& tensor = test.data[i].tensor;
    const std::int64_t count = format::ElementCount(tensor);
    if (tensor.elem_type != ElementType::kInt64 || count > kMostNumbers) continue;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t value = tensor.As<std::int64_t>()[static_cast<std::size_t>(k)];
      Feature feature{
          "where " + test.data[i].name + "[" + std::to_string(k) + "] is " + std::to_string(value),
          {}};
      for (const std::int64_t other : {std::int64_t{0}, std::int64_t{1}}) {
        if (other == value) continue;
        TestModel changed = test;
        changed.data[i].tensor.As<std::int64_t>()[static_cast<std::size_t>(k)] = other;
        feature.without.push_back(std::move(changed));
      }
      features.push_back(std::move(feature));
    }
  }
}

// Sizes that separate multiples from others, beside `size`.
std::set<std::int64_t> SizesBeside(std::int64_t size) {
  std::set<std::int64_t> sizes = {size - 1, size + 1, size + 2, size + 3, size + 4};
  for (const std::int64_t step : {8, 16, 32}) {
    const std::int64_t multiple = (size + step) / step * step;
    sizes.insert({multiple, multiple + 1});
  }
  std::erase_if(sizes, [](std::int64_t s) { return s < 1; });
  return sizes;
}

}  // namespace

std::string AttributeText(const Attribute& attribute) {
  switch (attribute.type) {
    case AttributeType::kInt:
      return attribute.name + " " + std::to_string(attribute.i);
    case AttributeType::kInts:
      return attribute.name + " " + ListText(attribute.ints);
    case AttributeType::kString:
      return attribute.name + " " + attribute.s;
    case AttributeType::kFloat:
      return attribute.name + " " + fmt::format("{}", attribute.f);
    default:
      return attribute.name;
  }
}

std::vector<Feature> FeaturesOf(const TestModel& test) {
  std::vector<Feature> features;
  for (std::size_t n = 0; n < test.nodes.size(); ++n) {
    AddAttributes(test, n, features);
    AddOptionalInputs(test, n, features);
  }
  AddNumbers(test, features);
  AddParameters(test, features);
  AddInputTypes(test, features);
  AddOutputTypes(test, features);
  AddConstants(test, features);
  if (test.bare_outputs) {
    TestModel declared = test;
    declared.bare_outputs = false;
    features.push_back({"where the output's shape is not declared", {std::move(declared)}});
  }
  return features;
}

std::vector<SizedAxis> AxesOf(const DifferentialTester& tester, const TestModel& test) {
  std::vector<SizedAxis> axes;
  const std::int64_t elements = ElementsOf(test);
  for (std::size_t i = 0; i < test.data.size(); ++i) {
    if (!HasValues(test.data[i])) continue;
    for (std::size_t k = 0; k < test.data[i].tensor.dims.size(); ++k) {
      const std::int64_t size = test.data[i].tensor.dims[k];
      if (size < 1 || size > kMaxVariedSize) continue;
      SizedAxis axis{"axis " + std::to_string(k) + " of " + test.data[i].name, size, {}};
      std::set<std::int64_t> sizes = SizesBeside(size);
      std::erase_if(
          sizes, [&](std::int64_t other) { return elements / size * other > kMaxVariedElements; });
      axis.others = Resize(tester, test, i, k, sizes);
      axes.push_back(std::move(axis));
    }
  }
  return axes;
}

}  // namespace qtx::conformance
