#include "shapes.h"

#include <algorithm>
#include <set>

#include "run.h"

namespace qtx::calibrate {
namespace {

using format::Dims;
using format::Shape;
using format::Tensor;
using AllDims = std::map<std::string, Dims>;

constexpr std::size_t kMaxOpenSizes = 16;  // each takes a run

// An open size and the places (input, dimension) that have it.
struct OpenSize {
  std::string symbol;  // empty: one place without a name
  std::vector<std::pair<std::size_t, std::size_t>> places;
};

std::vector<OpenSize> OpenSizes(const format::Model& model) {
  std::vector<OpenSize> sizes;
  const auto inputs = RequiredInputs(model);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->type || !inputs[i]->type->shape) continue;
    const Shape& shape = *inputs[i]->type->shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d].value) continue;
      const auto known = std::ranges::find_if(sizes, [&](const OpenSize& size) {
        return !size.symbol.empty() && size.symbol == shape[d].symbol;
      });
      if (known != sizes.end()) {
        known->places.emplace_back(i, d);
      } else {
        sizes.push_back({shape[d].symbol, {{i, d}}});
      }
    }
  }
  return sizes;
}

Result<AllDims> DimsOf(const std::vector<Tensor>& inputs, Executor& executor) {
  AllDims all;
  QTX_RETURN_IF_ERROR(executor.Run(inputs, [&all](const std::string& value, const Tensor& tensor) {
    all[value] = tensor.dims;
  }));
  return all;
}

// Zero inputs in the sample's shapes with one size changed.
Result<AllDims> RunChanged(const std::vector<Tensor>& inputs, const OpenSize& size, std::int64_t to,
                           Executor& executor) {
  std::vector<Tensor> changed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Dims dims = inputs[i].dims;
    for (const auto& [input, dimension] : size.places) {
      if (input == i && dimension < dims.size()) dims[dimension] = to;
    }
    QTX_ASSIGN_OR_RETURN(Tensor zeros, format::MakeTensor(inputs[i].elem_type, std::move(dims)));
    changed.push_back(std::move(zeros));
  }
  return DimsOf(changed, executor);
}

// Marks sizes that differ between two runs, in which a size changed from `from` to `to`.
void Mark(const AllDims& before, const AllDims& after, const OpenSize& size,
          std::pair<std::int64_t, std::int64_t> change, std::map<std::string, Shape>& shapes) {
  for (const auto& [value, dims] : before) {
    Shape& shape = shapes[value];
    const auto other = after.find(value);
    const bool comparable = other != after.end() && other->second.size() == dims.size();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (comparable && other->second[d] == dims[d]) continue;
      const bool follows = comparable && shape[d].value && dims[d] == change.first &&
                           other->second[d] == change.second;
      shape[d] = {.value = {}, .symbol = follows ? size.symbol : ""};
    }
  }
}

void ForgetAll(std::map<std::string, Shape>& shapes) {
  for (auto& [value, shape] : shapes) std::ranges::fill(shape, format::Dimension());
}

}  // namespace

bool HasOpenSizes(const format::Model& model) { return !OpenSizes(model).empty(); }

Result<std::map<std::string, Shape>> ProbeShapes(const format::Model& model,
                                                 const std::vector<Tensor>& inputs,
                                                 Executor& executor) {
  QTX_ASSIGN_OR_RETURN(const AllDims before, DimsOf(inputs, executor));
  std::map<std::string, Shape> shapes;
  for (const auto& [value, dims] : before) shapes[value] = format::ToShape(dims);
  const std::vector<OpenSize> sizes = OpenSizes(model);
  if (sizes.size() > kMaxOpenSizes) ForgetAll(shapes);
  for (const OpenSize& size : sizes) {
    const auto [input, dimension] = size.places[0];
    if (sizes.size() > kMaxOpenSizes || dimension >= inputs[input].dims.size()) continue;
    const std::int64_t from = inputs[input].dims[dimension];
    // Adds 1, or doubles if strides or groups do not permit that.
    std::int64_t to = from + 1;
    auto after = RunChanged(inputs, size, to, executor);
    if (!after.has_value()) {
      to = 2 * from;
      after = RunChanged(inputs, size, to, executor);
    }
    if (!after.has_value()) {
      ForgetAll(shapes);
      break;
    }
    Mark(before, *after, size, {from, to}, shapes);
  }
  return shapes;
}

}  // namespace qtx::calibrate
