// XNNPACK as a backend: a model becomes a list of operators, weights packed in Prepare.
#include <algorithm>

#include "net.h"
#include "qtx/backend/options.h"

namespace qtx::backend {
namespace {

using peer::Graph;
using peer::Value;
using xnnpack::Data;
using xnnpack::Layout;
using xnnpack::Net;

class Prepared : public PreparedModel {
 public:
  Prepared(std::unique_ptr<Graph> graph, int threads) : graph_(std::move(graph)), net_(threads) {}

  Result<void> Plan() {
    for (const Value* input : graph_->inputs()) {
      if (!input->is_float() && !input->is_byte()) {
        return Error{ErrorCode::kUnsupported, "input '" + input->name + "'",
                     "of type " + std::string(format::Name(input->type()))};
      }
      inputs_.push_back(net_.New(*input, Layout::kPlain));
      net_.Set(*input, inputs_.back());
    }
    QTX_RETURN_IF_ERROR(graph_->ForEachNode(
        [&](const peer::Reader& node) { return xnnpack::AddNode(node, net_); }));
    QTX_ASSIGN_OR_RETURN(values_, graph_->Outputs());
    for (const Value* value : values_) {
      QTX_ASSIGN_OR_RETURN(const Data data, net_.Output(*value));
      outputs_.push_back(data);
    }
    graph_->Forget();
    return {};
  }

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    QTX_RETURN_IF_ERROR(Take(inputs));
    QTX_RETURN_IF_ERROR(xnnpack::Check(net_.Run(), "run"));
    std::vector<format::Tensor> outputs;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      format::Tensor& tensor = outputs.emplace_back(values_[i]->tensor);
      const auto count = static_cast<std::size_t>(format::ElementCount(tensor));
      tensor.bytes.assign(outputs_[i].bytes,
                          outputs_[i].bytes + count * xnnpack::WidthOf(*values_[i]));
    }
    return outputs;
  }

  /// Measures the operators without the copies of inputs and outputs to and from channels last.
  Result<std::vector<double>> Measure(std::span<const format::Tensor> inputs,
                                      int repetitions) override {
    QTX_RETURN_IF_ERROR(Take(inputs));
    QTX_RETURN_IF_ERROR(xnnpack::Check(net_.Run(), "run"));
    return peer::SecondsOf([&] { net_.RunInside(); }, repetitions);
  }

 private:
  Result<void> Take(std::span<const format::Tensor> inputs) {
    QTX_RETURN_IF_ERROR(graph_->CheckInputs(inputs));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::ranges::copy(inputs[i].bytes, inputs_[i].bytes);
    }
    return {};
  }

  std::unique_ptr<Graph> graph_;
  Net net_;
  std::vector<Data> inputs_, outputs_;
  std::vector<Value*> values_;
};

class Xnnpack : public Backend {
 public:
  explicit Xnnpack(int threads) : threads_(threads) {}

  Result<Description> Describe() override {
    return Description{"xnnpack",
                       QTX_XNNPACK_VERSION,
                       {"xnnpack", "float32"},
                       "threads " + std::to_string(threads_)};
  }

  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                 std::string_view arithmetic) override {
    if (!arithmetic.empty() && arithmetic != "xnnpack" && arithmetic != "float32") {
      return Error{ErrorCode::kUnsupported, "arithmetic", "'" + std::string(arithmetic) + "'"};
    }
    QTX_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, Graph::Read(model));
    auto prepared = std::make_unique<Prepared>(std::move(graph), threads_);
    QTX_RETURN_IF_ERROR(prepared->Plan());
    return prepared;
  }

 private:
  int threads_;
};

}  // namespace

Result<std::unique_ptr<Backend>> Make_xnnpack(std::string_view options) {
  QTX_ASSIGN_OR_RETURN(const Options given, Options::Parse(options, {"threads"}));
  QTX_ASSIGN_OR_RETURN(const int threads, given.Threads());
  QTX_RETURN_IF_ERROR(xnnpack::Check(xnn_initialize(nullptr), "XNNPACK"));
  return std::make_unique<Xnnpack>(threads);
}

}  // namespace qtx::backend
