// Backends for tests: the reference, with what one operator answers changed by a function.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// One run of a model whose last node is of the operator, as seen by the function that spoils it.
struct WrongRun {
  std::vector<format::Tensor> inputs;  // of that node, constants included, where known
  std::vector<std::int64_t> stored;    // of its first output, integers
  std::optional<Error> error;          // set: the answer
};

using Spoil = std::function<void(WrongRun& run)>;

class WrongModel : public backend::PreparedModel {
 public:
  WrongModel(format::Model model, std::unique_ptr<backend::PreparedModel> right, std::string op,
             Spoil spoil)
      : model_(std::move(model)),
        right_(std::move(right)),
        op_(std::move(op)),
        spoil_(std::move(spoil)) {}

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    QTX_ASSIGN_OR_RETURN(std::vector<format::Tensor> outputs, right_->Run(inputs));
    for (const format::Node& node : model_.graph.nodes) {
      if (node.op_type != op_ || !format::IsIntegerStorage(outputs[0].elem_type)) continue;
      WrongRun run;
      for (const std::string& name : node.inputs) {
        if (auto constant = format::LoadInitializer(model_, name)) {
          run.inputs.push_back(*std::move(constant));
          continue;
        }
        for (std::size_t i = 0; i < model_.graph.inputs.size(); ++i) {
          if (model_.graph.inputs[i].name == name) run.inputs.push_back(inputs[i]);
        }
      }
      run.stored = format::UnpackIntegers(outputs[0]);
      if (run.stored.empty()) continue;
      spoil_(run);
      if (run.error) return *run.error;
      format::PackIntegers(run.stored, outputs[0]);
    }
    return outputs;
  }

 private:
  format::Model model_;
  std::unique_ptr<backend::PreparedModel> right_;
  std::string op_;
  Spoil spoil_;
};

class WrongBackendInstance : public backend::Backend {
 public:
  WrongBackendInstance(std::unique_ptr<backend::Backend> right, std::string op, Spoil spoil)
      : right_(std::move(right)), op_(std::move(op)), spoil_(std::move(spoil)) {}
  Result<backend::Description> Describe() override {
    return backend::Description{"wrong", "1", {"exact"}, "test"};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(auto right, right_->Prepare(model, arithmetic));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<WrongModel>(model, std::move(right), op_, spoil_));
  }

 private:
  std::unique_ptr<backend::Backend> right_;
  std::string op_;
  Spoil spoil_;
};

/// The first output of every model that has a node of `op` is changed by `spoil`.
inline BackendSource WrongBackend(const std::string& op, const Spoil& spoil) {
  BackendSource source;
  source.name = "wrong";
  source.make = [op, spoil]() -> Result<std::unique_ptr<backend::Backend>> {
    QTX_ASSIGN_OR_RETURN(auto right, ReferenceSource().make());
    return std::unique_ptr<backend::Backend>(
        std::make_unique<WrongBackendInstance>(std::move(right), op, spoil));
  };
  return source;
}

}  // namespace qtx::conformance
