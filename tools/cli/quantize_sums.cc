#include "quantize_sums.h"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "float_executor.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/format/scopes.h"

namespace qtx::cli {
namespace {

using format::Tensor;

// Computes one value of a model.
class ValueRun {
 public:
  // `model` must outlive the result.
  static Result<ValueRun> Prepare(const format::Model& model, std::string value) {
    const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    QTX_ASSIGN_OR_RETURN(FloatExecution execution, FloatExecution::Prepare(model, threads));
    QTX_ASSIGN_OR_RETURN(auto executor, execution.make()());
    return ValueRun(model, std::move(execution), std::move(executor), std::move(value));
  }

  Result<Tensor> Run(std::span<const Tensor> inputs) {
    Tensor found;
    std::size_t next = 0;
    for (const format::ValueInfo& info : model_.graph.inputs) {
      if (model_.graph.FindInitializer(info.name) != nullptr) continue;
      if (info.name == value_ && next < inputs.size()) return inputs[next];
      ++next;
    }
    QTX_RETURN_IF_ERROR(executor_->Run(inputs, [&](const std::string& name, const Tensor& tensor) {
      if (name == value_) found = tensor;
    }));
    return found;
  }

 private:
  ValueRun(const format::Model& model, FloatExecution execution,
           std::unique_ptr<calibrate::Executor> executor, std::string value)
      : model_(model),
        execution_(std::move(execution)),
        executor_(std::move(executor)),
        value_(std::move(value)) {}

  const format::Model& model_;
  FloatExecution execution_;
  std::unique_ptr<calibrate::Executor> executor_;
  std::string value_;
};

// Of the rows [X, Y]: X^T X and X^T Y.
quantize::Gram Split(const calibrate::Gram& joint) {
  const std::vector<double> sums = joint.Reals();
  const std::int64_t width = joint.size, size = width / 2;
  quantize::Gram gram{.size = size};
  std::size_t next = 0;
  for (std::int64_t group = 0; group < joint.Groups(); ++group) {
    for (std::int64_t i = 0; i < width; ++i) {
      for (std::int64_t j = i; j < width; ++j, ++next) {
        if (i < size) (j < size ? gram.sums : gram.cross).push_back(sums[next]);
      }
    }
  }
  return gram;
}

}  // namespace

quantize::MeasureSums SumsOver(const calibrate::Samples& samples, const std::string& model_name,
                               WorkProgress& progress) {
  return [&](const format::Model& real, const format::Model& changed,
             const format::Node& node) -> Result<quantize::Gram> {
    const format::FlatModel flat(real);
    QTX_ASSIGN_OR_RETURN(calibrate::Gram joint, calibrate::PlanJointGram(flat.model(), node));
    QTX_ASSIGN_OR_RETURN(auto of_real, ValueRun::Prepare(real, node.inputs[0]));
    QTX_ASSIGN_OR_RETURN(auto of_changed, ValueRun::Prepare(changed, node.inputs[0]));
    for (std::int64_t i = 0; i < samples.size(); ++i) {
      progress.Set(static_cast<std::size_t>(i), static_cast<std::size_t>(samples.size()),
                   "measuring '" + node.inputs[0] + "'");
      const auto sample = samples.Read(i);
      if (!sample.has_value()) return At(samples.Name(i), sample.error().error);
      QTX_ASSIGN_OR_RETURN(const Tensor y, of_real.Run(*sample));
      QTX_ASSIGN_OR_RETURN(const Tensor x, of_changed.Run(*sample));
      if (auto added = calibrate::AddTo(joint, x, y); !added.has_value())
        return At(model_name, At("with sample '" + samples.Name(i) + "'", added.error()));
    }
    return Split(joint);
  };
}

}  // namespace qtx::cli
