// Adapter: the reference interpreter as a backend. It is here because reference and backends must
// not depend on each other.
#include <utility>

#include "qtx/conformance/runner.h"
#include "qtx/format/model.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/reference/interpreter.h"

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
  explicit ReferenceBackend(format::Features features) : features_(features) {}

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
    QTX_ASSIGN_OR_RETURN(reference::Interpreter interpreter,
                         reference::Interpreter::Prepare(model, arithmetic, {}, features_));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<InterpretedModel>(std::move(interpreter)));
  }

  bool RunsAtOnce() const override { return true; }

 private:
  format::Features features_;
};

}  // namespace

BackendSource ReferenceSource(format::Features features) {
  BackendSource source;
  source.name = "reference";
  source.is_reference = true;
  source.make = [features]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<ReferenceBackend>(features));
  };
  return source;
}

}  // namespace qtx::conformance
