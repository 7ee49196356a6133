// A model as steps over numbered values.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "float/operator.h"
#include "float/ops/batch_normalization.h"
#include "qtx/format/catalogue.h"
#include "qtx/format/check.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::backend::floats {

/// What follows a convolution and is computed with it.
struct Fusion {
  Normalization normalization;
  Epilogue epilogue;
};

/// Checks the clauses of a node's operator at run time, when shapes and computed inputs are known.
/// Skips the check if shapes are those of the last run and no integer input is computed.
class ClauseCheck {
 public:
  /// `constant`: for each input whether it is a constant.
  ClauseCheck(const format::OpSchema& schema, const format::Node& node, std::int64_t opset,
              std::vector<bool> constant)
      : schema_(schema), node_(node), opset_(opset), constant_(std::move(constant)) {}
  /// May be called from several threads at once.  Errors: kInvalid with the clause.
  Result<void> operator()(Inputs inputs);

 private:
  const format::OpSchema& schema_;
  const format::Node& node_;
  std::int64_t opset_;
  std::vector<bool> constant_;
  std::mutex mutex_;
  std::vector<format::Dims> before_;  // dims of the inputs that passed the last check
};

struct Step {
  const format::Node* node = nullptr;
  std::int64_t opset = 0;
  const Operator* op = nullptr;  // nullptr: computed by the fallback, or a constant
  ClauseCheck* check = nullptr;  // nullptr: the operator has no clauses
  const Fusion* fusion = nullptr;
  std::vector<std::int64_t> inputs;   // values; -1 is absent
  std::vector<std::int64_t> outputs;  // likewise
  std::vector<std::int64_t> last;     // values whose last use this step is
  bool constant = false;
};

/// Not to be copied or moved: steps point into it.
struct Plan {
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::vector<format::Node> nodes;
  std::vector<format::ValueInfo> inputs;  // those that are given
  std::vector<std::string> names;         // of values
  std::vector<std::int64_t> input_values, output_values;
  std::vector<std::unique_ptr<format::Tensor>> constants;  // of each value; nullptr: computed
  std::vector<std::unique_ptr<Operator>> operators;        // of each node; may be nullptr
  std::vector<std::unique_ptr<ClauseCheck>> checks;
  std::vector<std::unique_ptr<Fusion>> fusions;
  std::vector<Step> steps;        // one for each node
  std::vector<Step> fused_steps;  // with convolutions and what follows them fused
};

/// `checked`: the proof of `model`.  Errors: as FloatModel::Prepare.
Result<std::unique_ptr<Plan>> MakePlan(const format::Model& model,
                                       const format::CheckedModel& checked, const Kernels& kernels,
                                       bool has_fallback);

inline constexpr const char* kNoKernelForTypes =
    "there is no float kernel for inputs of these types";

/// "node 'conv1' (Conv)"; a node without name has that of its first output.
std::string Place(const format::Node& node);

}  // namespace qtx::backend::floats
