// Every rule of spec/format/ and spec/ops/, applied to a model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qtx/format/feature.h"
#include "qtx/format/inference.h"
#include "qtx/format/model.h"

namespace qtx::format {

/// One broken rule: "quantization.C3", "graph.value_info[2] 'w': quantization.offset", "found 3
/// ...".
struct Finding {
  std::string rule;
  std::string where;
  std::string message;
};

/// All findings, in the order of the file; empty for a conforming model. `where` is prefixed by
/// `file`.  Source: the clauses of spec/format/ and spec/ops/, and of the proposals of
/// `features`.
std::vector<Finding> Check(const Model& model, const std::string& file = "model",
                           Features features = Features::Current());

class CheckedModel;

/// Whether the model can be computed: its first finding as an error that names the clause, or the
/// first node that asks for what ONNX defines and this version of the text does not.
/// Errors: kInvalid; kUnsupported, where there is no finding.
Result<CheckedModel> CheckFirst(const Model& model, Features features = Features::Current());

/// The proof that a model can be computed, which CheckFirst alone gives, and the types and shapes
/// that were inferred on the way. Keeps no reference to the model.
class CheckedModel {
 public:
  const Inference& inference() const { return inference_; }

 private:
  friend Result<CheckedModel> CheckFirst(const Model& model, Features features);
  explicit CheckedModel(Inference inference) : inference_(std::move(inference)) {}
  Inference inference_;
};

/// The rules that Check implements, for the test that compares them with the spec's clauses.
std::vector<std::string> CheckedRules();

}  // namespace qtx::format
