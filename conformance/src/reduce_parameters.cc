#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "reduce.h"

namespace qtx::conformance {
namespace {

using format::Quantization;

// All quantized types of a model.
std::vector<Quantization*> TypesOf(TestModel& test) {
  std::vector<Quantization*> types;
  for (Datum& datum : test.data) {
    if (datum.tensor.quantization) types.push_back(&*datum.tensor.quantization);
  }
  for (auto* infos : {&test.values, &test.outputs}) {
    for (format::ValueInfo& info : *infos) {
      if (info.type && info.type->quantization) types.push_back(&*info.type->quantization);
    }
  }
  return types;
}

float NearestPowerOfTwo(float scale) {
  int exponent = 0;
  const float fraction = std::frexp(scale, &exponent);  // in [0.5, 1)
  return std::ldexp(1.0F, fraction < 0.75F ? exponent - 1 : exponent);
}

// A simplification of a type; not tried if it changes nothing.
using Simplify = void (*)(Quantization&);
constexpr Simplify kSimplifications[] = {
    [](Quantization& q) {  // removes redundant fields
      q.scheme = format::Scheme::kUnspecified;
      q.requantization.reset();
      q.quant_min.reset();
      q.quant_max.reset();
    },
    [](Quantization& q) {  // per tensor
      q.axis.clear();
      q.block_shape.clear();
      q.scale.resize(std::min<std::size_t>(q.scale.size(), 1));
      q.offset.resize(std::min<std::size_t>(q.offset.size(), 1));
      q.requantization.reset();
    },
    [](Quantization& q) { q.block_shape.clear(); },
    [](Quantization& q) { q.offset.clear(); },
    [](Quantization& q) { std::ranges::fill(q.scale, 1.0F); },
    [](Quantization& q) { std::ranges::transform(q.scale, q.scale.begin(), NearestPowerOfTwo); },
    [](Quantization& q) { q.quant_min.reset(); },
    [](Quantization& q) { q.quant_max.reset(); },
    [](Quantization& q) { q.requantization.reset(); },
};

// Real zero stays real zero: stored values move with their offset.
bool DropOffset(Search& search, std::size_t datum) {
  TestModel candidate = search.best();
  format::Tensor& tensor = candidate.data[datum].tensor;
  if (!tensor.quantization || tensor.quantization->offset.empty() ||
      !format::IsIntegerStorage(tensor.elem_type)) {
    return false;
  }
  const auto range = format::StorageRange(tensor.elem_type);
  const format::ParameterMap map(*tensor.quantization, tensor.dims);
  std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto parameter = map(static_cast<std::int64_t>(i));
    values[i] = std::clamp(values[i] - format::OffsetAt(*tensor.quantization, parameter), range.min,
                           range.max);
  }
  if (format::StorageOf(tensor.elem_type) != format::ElementType::kBipolar1) {
    format::PackIntegers(values, tensor);
  }
  tensor.quantization->offset.clear();
  return search.Try(std::move(candidate));
}

bool SimplifyTypes(Search& search) {
  bool changed = false;
  for (const Simplify simplify : kSimplifications) {
    TestModel all = search.best();
    for (Quantization* q : TypesOf(all)) simplify(*q);
    TestModel before = search.best();
    const std::size_t types = TypesOf(before).size();
    bool differs = false;
    for (std::size_t i = 0; i < types; ++i) differs |= *TypesOf(all)[i] != *TypesOf(before)[i];
    if (!differs) continue;
    if (types > 1 && search.Try(std::move(all))) {
      changed = true;
      continue;
    }
    for (std::size_t i = 0; i < types; ++i) {
      TestModel one = search.best();
      Quantization& q = *TypesOf(one)[i];
      const Quantization old = q;
      simplify(q);
      if (q != old) changed |= search.Try(std::move(one));
    }
  }
  return changed;
}

// ONNX's defaults of lists: no padding, steps of one.
std::int64_t Usual(const std::string& name) {
  return name == "strides" || name == "dilations" || name == "kernel_shape" || name == "group" ? 1
                                                                                               : 0;
}

// Changes attribute `at` of node `n` in a copy, and tries that.
bool TryAttribute(Search& search, std::size_t n, std::size_t at,
                  const std::function<void(format::Attribute&)>& change) {
  TestModel candidate = search.best();
  format::Attribute& attribute = candidate.nodes[n].attributes[at];
  const format::Attribute old = attribute;
  change(attribute);
  return attribute != old && search.Try(std::move(candidate));
}

bool SimplifyAttribute(Search& search, std::size_t n, std::size_t at) {
  const format::Attribute attribute = search.best().nodes[n].attributes[at];
  const std::int64_t usual = Usual(attribute.name);
  bool changed = TryAttribute(search, n, at, [usual](format::Attribute& a) {
    std::ranges::fill(a.ints, usual);
    if (a.type == format::AttributeType::kInt) a.i = usual;
    if (a.type == format::AttributeType::kFloat) a.f = 1;
  });
  if (changed) return true;
  for (std::size_t i = 0; i < attribute.ints.size(); ++i) {
    changed |= TryAttribute(search, n, at, [usual, i](format::Attribute& a) { a.ints[i] = usual; });
  }
  return changed;
}

bool SimplifyAttributes(Search& search) {
  bool changed = false;
  for (std::size_t n = 0; n < search.best().nodes.size(); ++n) {
    for (std::size_t at = search.best().nodes[n].attributes.size(); at-- > 0;) {
      TestModel without = search.best();
      auto& attributes = without.nodes[n].attributes;
      attributes.erase(attributes.begin() + static_cast<std::ptrdiff_t>(at));
      const bool gone = search.Try(std::move(without));
      changed |= gone || SimplifyAttribute(search, n, at);
    }
    TestModel plain = search.best();
    plain.nodes[n].origin.reset();
    plain.nodes[n].metadata.clear();
    plain.nodes[n].doc_string.clear();
    if (plain.nodes[n] != search.best().nodes[n]) changed |= search.Try(std::move(plain));
  }
  return changed;
}

// Element `i` of data `d`, to 1 or else to a power of two.
bool SimplifyFloat(Search& search, std::size_t d, std::size_t i) {
  const float value = search.best().data[d].tensor.As<float>()[i];
  if (!std::isfinite(value) || value <= 0) return false;
  for (const float simple : {1.0F, NearestPowerOfTwo(value)}) {
    if (value == simple) continue;
    TestModel candidate = search.best();
    candidate.data[d].tensor.As<float>()[i] = simple;
    if (search.Try(std::move(candidate))) return true;
  }
  return false;
}

// Scale inputs of stock operators.
bool SimplifyFloats(Search& search) {
  bool changed = false;
  for (std::size_t d = 0; d < search.best().data.size(); ++d) {
    if (search.best().data[d].tensor.elem_type != format::ElementType::kFloat) continue;
    // A success replaces the best model, so that nothing of it is held here.
    const std::size_t size = search.best().data[d].tensor.As<float>().size();
    for (std::size_t i = 0; i < std::min<std::size_t>(size, 16); ++i)
      changed |= SimplifyFloat(search, d, i);
  }
  return changed;
}

}  // namespace

bool SimplifyParameters(Search& search) {
  bool changed = SimplifyAttributes(search);
  for (std::size_t d = 0; d < search.best().data.size(); ++d) changed |= DropOffset(search, d);
  changed |= SimplifyTypes(search);
  changed |= SimplifyFloats(search);
  return changed;
}

}  // namespace qtx::conformance
