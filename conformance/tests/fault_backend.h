// Backends for tests: the reference, with a known fault in each of some operators.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "candidate.h"
#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// op_type to name of the fault.
using FaultOf = std::map<std::string, std::string>;

class FaultModel : public backend::PreparedModel {
 public:
  FaultModel(format::Model model, const Fault* fault) : model_(std::move(model)), fault_(fault) {}

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    const Question question{model_, {inputs.begin(), inputs.end()}};
    const reference::Arithmetic& exact = **reference::FindArithmetic("exact");
    auto answer = Answer(question, exact, fault_);
    const bool idle = !answer && fault_ != nullptr;  // the fault does not apply to this model
    return idle ? Answer(question, exact, nullptr) : std::move(answer);
  }

 private:
  format::Model model_;
  const Fault* fault_;
};

class FaultInstance : public backend::Backend {
 public:
  explicit FaultInstance(FaultOf faults) : faults_(std::move(faults)) {}
  Result<backend::Description> Describe() override {
    return backend::Description{"faulty", "1", {"exact"}, "test"};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view) override {
    const auto wanted = faults_.find(model.graph.nodes[0].op_type);
    const Fault* fault = nullptr;
    for (const Candidate& candidate : Candidates("exact")) {
      const bool named = wanted != faults_.end() && candidate.fault != nullptr &&
                         candidate.fault->name == wanted->second;
      if (named && fault == nullptr) fault = candidate.fault;
    }
    return std::unique_ptr<backend::PreparedModel>(std::make_unique<FaultModel>(model, fault));
  }

 private:
  FaultOf faults_;
};

inline BackendSource FaultBackend(const FaultOf& faults) {
  BackendSource source;
  source.name = "faulty";
  source.make = [faults]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<FaultInstance>(faults));
  };
  return source;
}

}  // namespace qtx::conformance
