// Models of one node over FLOAT, and what their results are compared with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "float/float_model.h"
#include "peer/tests/support.h"

namespace qtx::backend::float_test {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;
using peer::AddConstant;
using peer::AddInput;
using peer::AddNode;
using peer::AddOutput;
using peer::Floats;
using peer::NewModel;

/// Numbers that are the same everywhere (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// Of [-1, 1), all 24 bits of a binary32 at random.
  float Real() { return static_cast<float>(Next() >> 40) * 0x1p-23F - 1; }
  std::int64_t Below(std::int64_t n) {
    return static_cast<std::int64_t>(Next() % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

inline Tensor RandomTensor(Dims dims, Random& random) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, std::move(dims));
  for (float& value : tensor.As<float>()) value = random.Real();
  return tensor;
}

inline Tensor Int64s(const std::vector<std::int64_t>& values) {
  Tensor tensor =
      *format::MakeTensor(ElementType::kInt64, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, tensor.As<std::int64_t>().begin());
  return tensor;
}

/// A result and the sum of its terms' magnitudes. The products of binary32 are exact in binary64;
/// their sum is not, by less than 2^-52 of `magnitude` a term.
struct Sum {
  double value = 0, magnitude = 0;
  void Add(double term) {
    value += term;
    magnitude += std::abs(term);
  }
};

/// |computed - exact| <= gamma_n * sum of magnitudes, gamma_n = n u / (1 - n u), u = 2^-24, n the
/// roundings of the chain: one for each fused multiply-add. Source: Higham, Accuracy and Stability
/// of Numerical Algorithms, 2nd edition, section 3.1 (the fused form drops the products'
/// roundings).
inline double Bound(std::int64_t roundings, double magnitude) {
  const double nu = static_cast<double>(roundings) * 0x1p-24;
  const double exact = static_cast<double>(roundings) * 0x1p-52;  // of the sums here
  return (nu / (1 - nu) + exact) * magnitude;
}

/// A model of one node "y" whose inputs x0, x1, .. are those tensors; `constants` of them, the last
/// ones, are initializers.
inline format::Model OneNode(const std::string& op, const std::vector<Tensor>& inputs,
                             std::size_t constants, std::vector<Attribute> attributes = {},
                             std::int64_t opset = 17) {
  format::Model model = NewModel();
  model.opset_imports[0].version = opset;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    names.push_back("x" + std::to_string(i));
    if (i + constants < inputs.size()) {
      AddInput(model, names[i], inputs[i].elem_type, inputs[i].dims);
    } else {
      AddConstant(model, names[i], inputs[i]);
    }
  }
  AddNode(model, op, names, "y", std::move(attributes));
  model.graph.outputs.push_back({.name = "y"});
  return model;
}

struct Setting {
  int threads = 1;
  std::string kernels = {};
};

inline Result<std::vector<Tensor>> RunModel(const format::Model& model,
                                            const std::vector<Tensor>& inputs,
                                            const Setting& setting = {}) {
  QTX_ASSIGN_OR_RETURN(const auto prepared,
                       FloatModel::Prepare(model, setting.threads, {}, setting.kernels));
  return prepared->Run(inputs);
}

/// The result of one node.
inline Tensor Compute(const std::string& op, const std::vector<Tensor>& inputs,
                      std::size_t constants = 0, std::vector<Attribute> attributes = {},
                      const Setting& setting = {}) {
  const std::vector<Tensor> given(inputs.begin(),
                                  inputs.end() - static_cast<std::ptrdiff_t>(constants));
  auto outputs = RunModel(OneNode(op, inputs, constants, std::move(attributes)), given, setting);
  if (!outputs.has_value()) {
    ADD_FAILURE() << outputs.error().where << ": " << outputs.error().message;
    return Floats({0}, {});
  }
  return std::move(outputs->at(0));
}

}  // namespace qtx::backend::float_test
