#include "bisect.h"

#include <algorithm>
#include <utility>

#include "qtx/format/scopes.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using format::Tensor;

// Every value of the model, as the reference computes it.
Result<Observed> Observe(const format::Model& model, const std::vector<Tensor>& inputs,
                         const std::string& arithmetic) {
  Observed observed;
  std::size_t next = 0;
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) == nullptr && next < inputs.size()) {
      observed[info.name] = inputs[next++];
    }
  }
  QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(model, arithmetic));
  interpreter.set_observer([&observed](const std::string& name, const Tensor& tensor) {
    if (!format::IsOfBody(name)) observed[name] = tensor;
  });
  QTX_RETURN_IF_ERROR(interpreter.Run(inputs));
  return observed;
}

class Bisection {
 public:
  Bisection(DifferentialTester& tester, const format::Model& model, const Observed& observed,
            VerdictKind whole, const Budget& budget)
      : tester_(tester), model_(model), observed_(observed), whole_(whole), budget_(budget) {}

  /// The first node that fails with the model's kind of failure; else the first that fails.
  Result<std::optional<Part>> OneNode() {
    std::optional<Part> other;
    for (std::size_t i = 0; i < model_.graph.nodes.size() && !tester_.Spent(budget_); ++i) {
      QTX_ASSIGN_OR_RETURN(Part part, Try(i, i + 1));
      if (part.verdict.kind == whole_) return std::optional<Part>(std::move(part));
      if (IsFault(part.verdict.kind) && !other) other = std::move(part);
    }
    return other;
  }

  /// The shortest run of nodes that ends where the shortest failing prefix does. A prefix that
  /// contains a failing one is taken to fail as well.
  Result<std::optional<Part>> ManyNodes() {
    std::optional<Part> best;
    std::size_t right = 0;  // the longest prefix known to be right
    for (std::size_t last = model_.graph.nodes.size(); last > right && !tester_.Spent(budget_);) {
      QTX_ASSIGN_OR_RETURN(Part part, Try(0, last));
      if (IsFault(part.verdict.kind)) {
        best = std::move(part);
      } else {
        right = last;
      }
      if (!best) return best;
      last = right + (best->last - right) / 2;
    }
    if (!best) return best;
    for (std::size_t first = best->last - 1; first-- > 0 && !tester_.Spent(budget_);) {
      QTX_ASSIGN_OR_RETURN(Part part, Try(first, best->last));
      if (part.verdict.kind == best->verdict.kind) return std::optional<Part>(std::move(part));
    }
    return best;
  }

 private:
  Result<Part> Try(std::size_t first, std::size_t last) {
    Part part{{}, {}, first, last};
    QTX_ASSIGN_OR_RETURN(part.test, Extract(model_, first, last, observed_));
    part.verdict = tester_.Run(part.test);
    return part;
  }

  DifferentialTester& tester_;
  const format::Model& model_;
  const Observed& observed_;
  VerdictKind whole_;
  const Budget& budget_;
};

}  // namespace

Result<Part> FindFailingPart(DifferentialTester& tester, const format::Model& model,
                             const std::vector<Tensor>& inputs, VerdictKind whole,
                             const Budget& budget) {
  QTX_ASSIGN_OR_RETURN(const Observed observed, Observe(model, inputs, tester.arithmetic()));
  Bisection bisection(tester, model, observed, whole, budget);
  QTX_ASSIGN_OR_RETURN(std::optional<Part> part, bisection.OneNode());
  if (!part) {
    QTX_ASSIGN_OR_RETURN(part, bisection.ManyNodes());
  }
  if (!part) {
    return Error{ErrorCode::kInvalid, "",
                 "the whole model fails, but no run of its nodes fails alone"};
  }
  return *std::move(part);
}

}  // namespace qtx::conformance
