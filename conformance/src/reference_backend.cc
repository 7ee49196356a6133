// Adapter: the reference interpreter as a backend. It is here because reference and backends must
// not depend on each other.
#include <utility>

#include "qtx/conformance/runner.h"
#include "qtx/format/model.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/reference/interpreter.h"
#include "qtx/reference/profile.h"

namespace qtx::conformance {
namespace {

class InterpretedModel : public backend::PreparedModel {
 public:
  explicit InterpretedModel(reference::Interpreter interpreter)
      : interpreter_(std::move(interpreter)) {}
  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    return interpreter_.Run(inputs);
  }

 private:
  reference::Interpreter interpreter_;
};

class ReferenceBackend : public backend::Backend {
 public:
  ReferenceBackend(format::Features features, const reference::Profile* profile)
      : features_(features), profile_(profile) {}

  Result<backend::Description> Describe() override {
    backend::Description description;
    description.name = "reference";
    description.version = QTX_VERSION;
    description.device = "portable";
    for (const reference::Arithmetic& arithmetic : reference::Arithmetics()) {
      description.arithmetics.emplace_back(arithmetic.name);
    }
    for (const reference::Alias& alias : reference::Aliases()) {
      description.arithmetics.emplace_back(alias.name);
    }
    return description;
  }

  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    reference::Interpreter::NodeArithmetics by_node;
    if (profile_ != nullptr) by_node = reference::Assign(*profile_, model).by_node;
    QTX_ASSIGN_OR_RETURN(reference::Interpreter interpreter,
                         reference::Interpreter::Prepare(model, arithmetic, by_node, features_));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<InterpretedModel>(std::move(interpreter)));
  }

  bool RunsAtOnce() const override { return true; }

 private:
  format::Features features_;
  const reference::Profile* profile_;  // nullptr: none
};

}  // namespace

BackendSource ReferenceSource(format::Features features, std::string_view profile) {
  BackendSource source;
  source.name = profile.empty() ? "reference" : "reference:profile=" + std::string(profile);
  source.is_reference = profile.empty();
  source.make = [features,
                 name = std::string(profile)]() -> Result<std::unique_ptr<backend::Backend>> {
    const reference::Profile* found = nullptr;
    if (!name.empty()) {
      QTX_ASSIGN_OR_RETURN(found, reference::FindProfile(name));
    }
    return std::unique_ptr<backend::Backend>(std::make_unique<ReferenceBackend>(features, found));
  };
  return source;
}

}  // namespace qtx::conformance
