#include "qtx/calibrate/calibrate.h"
#include "qtx/reference/interpreter.h"

namespace qtx::calibrate {
namespace {

class ReferenceRun : public Executor {
 public:
  explicit ReferenceRun(reference::Interpreter interpreter)
      : interpreter_(std::move(interpreter)) {}
  Result<void> Run(std::span<const format::Tensor> inputs, const Observer& observer) override {
    interpreter_.set_observer(observer);
    QTX_RETURN_IF_ERROR(interpreter_.Run(inputs));
    return {};
  }

 private:
  reference::Interpreter interpreter_;
};

}  // namespace

MakeExecutor ReferenceExecutor(const format::Model& model) {
  return [&model]() -> Result<std::unique_ptr<Executor>> {
    QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(model, "float32"));
    return std::unique_ptr<Executor>(std::make_unique<ReferenceRun>(std::move(interpreter)));
  };
}

}  // namespace qtx::calibrate
