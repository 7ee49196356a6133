#include "bisect.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "compare.h"

namespace qtx::conformance {
namespace {

using format::Tensor;

class Bisection {
 public:
  Bisection(DifferentialTester& tester, const format::Model& model, const Observed& observed,
            VerdictKind whole, const Budget& budget)
      : tester_(tester), model_(model), observed_(observed), whole_(whole), budget_(budget) {}

  /// From now on outputs of parts have no declared shapes.
  void BareOutputs() { bare_outputs_ = true; }

  /// The first node that is wrong in a run of the model with every value as an output, if it fails
  /// alone.
  Result<std::optional<Part>> FirstWrong() {
    QTX_ASSIGN_OR_RETURN(TestModel all, Extract(model_, 0, model_.graph.nodes.size(), observed_));
    std::ranges::move(all.values, std::back_inserter(all.outputs));
    all.values.clear();
    const auto expected = Expected(all);
    if (!expected) return std::nullopt;
    const Verdict verdict = tester_.Run(all, *expected);
    if (verdict.got.size() != expected->size()) return std::nullopt;
    std::set<std::string> wrong;
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const std::string& name = all.outputs[i].name;
      if (Compare(tester_.tolerance_case(), name, verdict.got[i], (*expected)[i])) {
        wrong.insert(name);
      }
    }
    const auto gives_wrong = [&wrong](const format::Node& node) {
      return std::ranges::any_of(node.outputs,
                                 [&](const auto& name) { return wrong.contains(name); });
    };
    const auto& nodes = model_.graph.nodes;
    const auto node = std::ranges::find_if(nodes, gives_wrong);
    if (node == nodes.end()) return std::nullopt;
    const auto at = static_cast<std::size_t>(node - nodes.begin());
    QTX_ASSIGN_OR_RETURN(Part part, Try(at, at + 1));
    return part.verdict.kind == whole_ ? std::optional(std::move(part)) : std::nullopt;
  }

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

  /// The first node that alone gives no answer within kPatience. Leaves a limit for many nodes.
  Result<std::optional<Part>> FirstLate() {
    constexpr int kTimes = 20;  // as long as the slowest of the nodes that have answered
    constexpr std::chrono::milliseconds kLeast{500};
    std::chrono::milliseconds limit = kLeast;
    for (std::size_t i = 0; i < model_.graph.nodes.size() && !tester_.Spent(budget_); ++i) {
      std::optional<Part> late;
      for (const auto patience : {limit, std::chrono::milliseconds(kPatience)}) {
        tester_.LimitTime(patience);
        const auto start = std::chrono::steady_clock::now();
        QTX_ASSIGN_OR_RETURN(Part part, Try(i, i + 1));
        const auto taken = std::chrono::steady_clock::now() - start;
        if (part.verdict.kind == VerdictKind::kTimeout) {
          late = std::move(part);
          continue;
        }
        late.reset();
        limit = std::max(limit, std::chrono::duration_cast<std::chrono::milliseconds>(
                                    std::min<decltype(taken)>(kTimes * taken, kPatience)));
        break;
      }
      if (late) return late;
    }
    tester_.LimitTime(limit);
    return std::nullopt;
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
    part.test.bare_outputs = bare_outputs_;
    const auto expected = Expected(part.test);
    part.verdict = expected ? tester_.Run(part.test, *expected) : tester_.Run(part.test);
    return part;
  }

  // What the reference gave for the outputs; nullopt where it was not seen.
  std::optional<std::vector<Tensor>> Expected(const TestModel& test) const {
    std::vector<Tensor> expected;
    for (const format::ValueInfo& output : test.outputs) {
      const auto found = observed_.find(output.name);
      if (found == observed_.end()) return std::nullopt;
      expected.push_back(found->second);
    }
    return expected;
  }

  DifferentialTester& tester_;
  const format::Model& model_;
  const Observed& observed_;
  VerdictKind whole_;
  const Budget& budget_;
  bool bare_outputs_ = false;
};

}  // namespace

Result<Part> FindFailingPart(DifferentialTester& tester, const format::Model& model,
                             const std::vector<Tensor>& inputs, VerdictKind whole,
                             const Budget& budget) {
  QTX_ASSIGN_OR_RETURN(const Observed observed, Observe(model, inputs, tester.arithmetic()));
  Bisection bisection(tester, model, observed, whole, budget);
  const bool is_late = whole == VerdictKind::kTimeout;
  QTX_ASSIGN_OR_RETURN(std::optional<Part> part,
                       is_late ? bisection.FirstLate() : bisection.FirstWrong());
  if (!part && !is_late) {
    QTX_ASSIGN_OR_RETURN(part, bisection.OneNode());
  }
  if (!part) {
    QTX_ASSIGN_OR_RETURN(part, bisection.ManyNodes());
  }
  if (!part && !is_late) {
    bisection.BareOutputs();
    QTX_ASSIGN_OR_RETURN(part, bisection.OneNode());
  }
  if (!part) {
    return Error{ErrorCode::kInvalid, "",
                 "the whole model fails, but no run of its nodes fails alone"};
  }
  return *std::move(part);
}

}  // namespace qtx::conformance
