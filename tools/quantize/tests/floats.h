// FLOAT constants of models made by hand.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::quantize {

inline format::Tensor Floats(format::Dims dims, const std::vector<float>& values) {
  format::Tensor tensor = *format::MakeTensor(format::ElementType::kFloat, std::move(dims));
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

inline std::vector<float> FloatsOf(const format::Model& model, const std::string& name) {
  const format::Tensor tensor = *format::Decode(*model.graph.FindInitializer(name));
  return {tensor.As<float>().begin(), tensor.As<float>().end()};
}

}  // namespace qtx::quantize
