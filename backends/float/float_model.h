// Fast execution of FLOAT models, as a backend (`--backend float`) and as a library for
// calibration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend {

/// A prepared model over FLOAT values. Run is const and may be called from several threads at
/// once. Results are the same bits for every number of threads, set of kernels and processor, with
/// and without an observer (README.md says in which order sums are taken).
class FloatModel : public PreparedModel {
 public:
  /// Computes a node that has no kernel here, or whose inputs are of types that the kernel does not
  /// take. An absent input is nullptr. Returns one tensor for each of the node's outputs.
  using Fallback = std::function<Result<std::vector<format::Tensor>>(
      const format::Node& node, std::int64_t opset, std::span<const format::Tensor* const> inputs)>;
  /// Called with every value that is not an initializer: the inputs, then each node's outputs as
  /// soon as they are computed; in the thread that called Run.
  using Observer = std::function<void(const std::string& value, const format::Tensor& tensor)>;

  /// `threads` >= 1, the caller's among them. `kernels`: the name of a set that this processor has,
  /// or empty for the best.
  /// Errors: kUnsupported for a quantized value, or for a node without kernel when there is no
  /// fallback; kInvalid for a model that breaks the spec, with the clause, or another name of
  /// kernels.
  static Result<std::unique_ptr<FloatModel>> Prepare(const format::Model& model, int threads,
                                                     Fallback fallback = {},
                                                     std::string_view kernels = "");
  ~FloatModel() override;

  /// `inputs` in the order of graph.input without initializers, of the declared types; a dimension
  /// that is not a number takes any size, one name the same size everywhere.
  /// Errors: kInvalid for inputs that do not fit, or of shapes that break a clause, kUnsupported
  /// for types that neither kernel nor fallback takes, kTooLarge; with the node.
  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override;
  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs,
                                          const Observer& observer) const;

 private:
  struct State;
  explicit FloatModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Names of the kernels that this processor has, the best first.
std::vector<std::string> FloatKernels();

}  // namespace qtx::backend
