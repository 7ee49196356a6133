// oneDNN as a backend: a model becomes a list of primitives, with weights in the layout that these
// choose.
#include <omp.h>

#include <cstring>

#include "net.h"
#include "qtx/backend/options.h"

namespace qtx::backend {
namespace {

using onednn::Data;
using onednn::Net;
using peer::Graph;
using peer::Value;

// Catches oneDNN's exceptions.
template <typename F>
auto Guarded(const std::string& where, F f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    return Error{ErrorCode::kUnsupported, where, std::string("oneDNN: ") + error.what()};
  }
}

class Prepared : public PreparedModel {
 public:
  Prepared(std::unique_ptr<Graph> graph, int threads)
      : graph_(std::move(graph)), threads_(threads) {}

  Result<void> Plan() {
    omp_set_num_threads(threads_);
    for (const Value* input : graph_->inputs()) {
      if (!onednn::TypeOf(input->type())) {
        return Error{ErrorCode::kUnsupported, "input '" + input->name + "'",
                     "of type " + std::string(format::Name(input->type()))};
      }
      inputs_.push_back(net_.Input(*input));
    }
    QTX_RETURN_IF_ERROR(graph_->ForEachNode([&](const peer::Reader& node) {
      const std::string where = "node '" + node.node().name + "' (" + node.op() + ")";
      return Guarded(where, [&] { return onednn::AddNode(node, net_); });
    }));
    QTX_ASSIGN_OR_RETURN(values_, graph_->Outputs());
    for (const Value* value : values_) {
      QTX_ASSIGN_OR_RETURN(const Data data, net_.Of(*value));
      outputs_.push_back(net_.Output(data, value->dims()));
    }
    net_.Forget();
    graph_->Forget();
    return {};
  }

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    QTX_RETURN_IF_ERROR(Take(inputs));
    return Guarded("run", [&]() -> Result<std::vector<format::Tensor>> {
      net_.Run();
      std::vector<format::Tensor> outputs;
      for (std::size_t i = 0; i < outputs_.size(); ++i) {
        format::Tensor& tensor = outputs.emplace_back(values_[i]->tensor);
        const auto* bytes = static_cast<const std::byte*>(outputs_[i].mem.get_data_handle());
        tensor.bytes.assign(bytes, bytes + outputs_[i].desc().get_size());
      }
      return outputs;
    });
  }

  /// Measures the primitives without the copies of inputs and outputs to and from their layouts.
  Result<std::vector<double>> Measure(std::span<const format::Tensor> inputs,
                                      int repetitions) override {
    QTX_RETURN_IF_ERROR(Take(inputs));
    return Guarded("run", [&]() -> Result<std::vector<double>> {
      net_.Run();
      return peer::SecondsOf([&] { net_.RunInside(); }, repetitions);
    });
  }

 private:
  Result<void> Take(std::span<const format::Tensor> inputs) {
    QTX_RETURN_IF_ERROR(graph_->CheckInputs(inputs));
    omp_set_num_threads(threads_);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::memcpy(inputs_[i].mem.get_data_handle(), inputs[i].bytes.data(), inputs[i].bytes.size());
    }
    return {};
  }

  std::unique_ptr<Graph> graph_;
  int threads_;
  Net net_;
  std::vector<Data> inputs_, outputs_;
  std::vector<Value*> values_;
};

class OneDnn : public Backend {
 public:
  explicit OneDnn(int threads) : threads_(threads) {}

  Result<Description> Describe() override {
    const dnnl_version_t* v = dnnl_version();
    const std::string version =
        std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    return Description{"onednn",
                       version,
                       {onednn::Saturates() ? "onednn-avx2" : "onednn", "float32"},
                       std::string(onednn::Saturates() ? "no VNNI" : "VNNI") + ", threads " +
                           std::to_string(threads_)};
  }

  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                 std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(const Description own, Describe());
    if (!arithmetic.empty() && arithmetic != own.arithmetics[0] && arithmetic != "float32") {
      return Error{ErrorCode::kUnsupported, "arithmetic", "'" + std::string(arithmetic) + "'"};
    }
    QTX_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, Graph::Read(model));
    auto prepared = std::make_unique<Prepared>(std::move(graph), threads_);
    QTX_RETURN_IF_ERROR(Guarded("model", [&] { return prepared->Plan(); }));
    return prepared;
  }

 private:
  int threads_;
};

// oneDNN fixes the instruction set of a process at the first request.
Result<void> LimitIsa(const std::string& isa) {
  static const std::map<std::string, dnnl::cpu_isa> kIsas = {
      {"sse41", dnnl::cpu_isa::sse41},
      {"avx2", dnnl::cpu_isa::avx2},
      {"avx512_core", dnnl::cpu_isa::avx512_core},
      {"avx512_core_vnni", dnnl::cpu_isa::avx512_core_vnni}};
  if (isa.empty()) return {};
  const auto found = kIsas.find(isa);
  if (found == kIsas.end()) {
    return Options::Refuse("isa", isa, "sse41, avx2, avx512_core, avx512_core_vnni");
  }
  static const std::string kFirst = isa;
  static const dnnl::status kStatus = dnnl::set_max_cpu_isa(found->second);
  if (kFirst != isa || kStatus != dnnl::status::success) {
    return Options::Refuse("isa", isa, "the one this process already computes with");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Backend>> Make_onednn(std::string_view options) {
  QTX_ASSIGN_OR_RETURN(const Options given, Options::Parse(options, {"isa", "threads"}));
  QTX_ASSIGN_OR_RETURN(const int threads, given.Threads());
  QTX_RETURN_IF_ERROR(LimitIsa(given.Text("isa")));
  return std::make_unique<OneDnn>(threads);
}

}  // namespace qtx::backend
