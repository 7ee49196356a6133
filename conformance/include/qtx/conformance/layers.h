// How far backends are from `exact`, node by node of a model: each node alone on exact values, and
// each value of the whole model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/error_measures.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// How far a value is from the exact one of the same type and shape.
struct Distance {
  std::int64_t differing = 0;  // elements of other bits; NaN are alike
  // Of numbers that doubles hold, against the exact ones; none of INT64, UINT64 and STRING.
  std::optional<format::ErrorMeasures> errors;
};

/// A Distance, or why there is none: what the backend declined, or an answer of another form.
using Measured = Result<Distance>;

/// An output of a node.
struct LayerDistance {
  std::size_t node = 0;  // its index in the graph
  std::string value;
  format::ElementType elem_type{};  // of the exact value
  format::Dims dims;
  Measured alone;     // from a model of this node, whose inputs are the exact values
  Measured in_model;  // from the whole model, with every value as an output
};

struct BackendDistances {
  backend::Description backend;
  std::string arithmetic;
  std::vector<LayerDistance> layers;  // in the order of the nodes
};

/// The exact values of a model for one sample, to which backends are held.
class ExactLayers {
 public:
  /// Errors: those of the reference.
  static Result<ExactLayers> Compute(format::Model model,
                                     const std::vector<format::Tensor>& inputs);

  /// Called with the number of questions that were asked, and of all.
  using Progress = std::function<void(std::size_t done, std::size_t all, const std::string& node)>;

  /// Asks the backend for the whole model and for each node. An empty `arithmetic` is its first.
  /// Errors: those of the source and of Describe; kUsage for an arithmetic that it does not have.
  Result<BackendDistances> Measure(const BackendSource& source, std::string arithmetic,
                                   const Progress& progress = {}) const;

  const format::Model& model() const { return model_; }

 private:
  ExactLayers(format::Model model, std::map<std::string, format::Tensor> values)
      : model_(std::move(model)), values_(std::move(values)) {}

  format::Model model_;
  std::map<std::string, format::Tensor> values_;  // by name, with the inputs
};

}  // namespace qtx::conformance
