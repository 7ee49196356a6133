#include "recoded.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "qtx/format/tensor_type.h"

namespace qtx::convert {
namespace {

using format::Quantization;

// Calls `visit` with each value that has parameters.
template <typename Visit>
void ForEachQuantization(const format::Model& model, const Visit& visit) {
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& value : *list) {
      if (value.type && value.type->quantization) visit(value.name, *value.type->quantization);
    }
  }
}

Result<format::Tensor> LoadFrom(const char* side, const format::ModelView& view,
                                const std::string& name) {
  auto tensor = format::LoadInitializer(view, name);
  if (!tensor.has_value()) return At(side, tensor.error());
  return tensor;
}

std::string CodeText(const format::Tensor& tensor, std::int64_t element) {
  return "[" + std::to_string(element) +
         "] = " + format::HexFloat(format::StoredValues(tensor)[static_cast<std::size_t>(element)]);
}

std::optional<Difference> CompareCodes(const std::string& place, const format::Tensor& a,
                                       const format::Tensor& b) {
  if (a.bytes == b.bytes) return std::nullopt;
  const std::vector<double> x = format::StoredValues(a), y = format::StoredValues(b);
  const auto [first, unused] = std::ranges::mismatch(x, y);
  if (first == x.end()) return std::nullopt;
  const std::int64_t element = first - x.begin();
  return Difference{place, "data", CodeText(a, element), CodeText(b, element)};
}

std::optional<Difference> CompareFloats(const std::string& place, const char* field,
                                        const std::vector<float>& a, const std::vector<float>& b) {
  if (a == b) return std::nullopt;
  const auto [x, y] = std::ranges::mismatch(a, b);
  const auto text = [](const std::vector<float>& all, auto at) {
    return at == all.end() ? std::to_string(all.size()) + " values"
                           : "[" + std::to_string(at - all.begin()) +
                                 "] = " + format::HexFloat(static_cast<double>(*at));
  };
  return Difference{place, field, text(a, x), text(b, y)};
}

std::vector<float> BaseOf(const Quantization& q) {
  return q.base_levels.empty() ? std::vector<float>() : q.base_levels[0].value;
}

}  // namespace

std::set<std::string> DifferentlyEncoded(const format::Model& a, const format::Model& b) {
  std::map<std::string, const Quantization*> of_a;
  ForEachQuantization(a, [&](const std::string& name, const auto& q) { of_a.emplace(name, &q); });
  std::set<std::string> names;
  ForEachQuantization(b, [&](const std::string& name, const auto& q) {
    const auto other = of_a.find(name);
    if (other != of_a.end() && other->second->encoding != q.encoding) names.insert(name);
  });
  return names;
}

std::set<std::string> FactorsOf(const format::Model& model, const std::set<std::string>& values) {
  std::set<std::string> factors;
  ForEachQuantization(model, [&](const std::string& name, const Quantization& q) {
    if (!values.contains(name)) return;
    for (const auto* levels : {&q.scale_levels, &q.base_levels}) {
      for (const format::BlockFactors& level : *levels) factors.insert(level.tensor);
    }
  });
  return factors;
}

Quantization WithoutPlaces(Quantization q) {
  q.encoding.reset();
  q.must_understand.clear();
  for (auto* levels : {&q.scale_levels, &q.base_levels}) {
    for (format::BlockFactors& level : *levels) level.tensor.clear();
  }
  return q;
}

Result<std::optional<Difference>> CompareRecoded(const format::ModelView& a,
                                                 const format::ModelView& b,
                                                 const std::string& name) {
  const std::string place = "initializer '" + name + "'";
  QTX_ASSIGN_OR_RETURN(const format::Tensor x, LoadFrom("a", a, name));
  QTX_ASSIGN_OR_RETURN(const format::Tensor y, LoadFrom("b", b, name));
  if (x.elem_type != y.elem_type || x.dims != y.dims) return std::optional<Difference>();
  if (auto difference = CompareCodes(place, x, y)) return difference;
  if (auto difference =
          CompareFloats(place, "scale", x.quantization->scale, y.quantization->scale)) {
    return difference;
  }
  return CompareFloats(place, "base", BaseOf(*x.quantization), BaseOf(*y.quantization));
}

}  // namespace qtx::convert
