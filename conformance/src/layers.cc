#include "qtx/conformance/layers.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "compare.h"
#include "differential_tester.h"
#include "guarded.h"
#include "qtx/format/encoding.h"
#include "qtx/format/levels.h"
#include "test_model.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

bool FitsDoubles(ElementType type) {
  return type != ElementType::kInt64 && type != ElementType::kUint64 &&
         type != ElementType::kString && type != ElementType::kComplex64 &&
         type != ElementType::kComplex128;
}

Measured Measure(const std::string& name, const Tensor& got, const Tensor& exact) {
  Distance distance;
  const auto difference = Compare(name, got, exact, std::nullopt);
  if (difference && !difference->mismatch.empty())
    return Error{ErrorCode::kProtocol, "", difference->mismatch};
  if (difference) distance.differing = difference->differing;
  if (FitsDoubles(exact.elem_type)) {
    format::ErrorSums sums;
    sums.Add(exact, got);
    distance.errors = sums.Measures();
  }
  return distance;
}

bool HasFactors(const format::ValueInfo* value) {
  return value != nullptr && value->type && value->type->quantization &&
         (format::HasLevels(*value->type->quantization) || format::IsEncoded(*value->type));
}

// `part` of `model`, with that model's own constants where their parameters have levels or an
// encoding: an arithmetic may go by these, and the tensors of a TestModel no longer have them.
format::Model WithFactors(const format::Model& model, format::Model part) {
  std::set<std::string> factored;
  for (format::ValueInfo& value : part.graph.values) {
    const format::ValueInfo* declared = model.graph.FindValue(value.name);
    const format::TensorData* constant = model.graph.FindInitializer(value.name);
    if (constant == nullptr || !HasFactors(declared)) continue;
    value = *declared;
    factored.insert(value.name);
  }
  if (factored.empty()) return part;
  // The constants themselves, and those that hold parameters, which no node reads.
  std::set<std::string> read;
  for (const format::Node& node : model.graph.nodes)
    std::ranges::copy(ReadsOf(node), std::inserter(read, read.end()));
  std::erase_if(part.graph.initializers, [&](const format::TensorData& constant) {
    return factored.contains(constant.name);
  });
  std::ranges::copy_if(model.graph.initializers, std::back_inserter(part.graph.initializers),
                       [&](const format::TensorData& constant) {
                         return factored.contains(constant.name) || !read.contains(constant.name);
                       });
  part.folder = model.folder;
  return part;
}

// Asks one backend; each question is a case of its own to a process.
class Questioner {
 public:
  Questioner(backend::Backend& backend, const std::string& arithmetic, const format::Model& model,
             const Observed& exact)
      : backend_(backend), arithmetic_(arithmetic), model_(model), exact_(exact) {}

  /// The distance of each output of `test`, by name.
  std::map<std::string, Measured> Ask(const TestModel& test) {
    std::map<std::string, Measured> distances;
    std::vector<Tensor> expected;
    for (const format::ValueInfo& output : test.outputs) {
      const auto exact = exact_.find(output.name);
      if (exact != exact_.end()) expected.push_back(exact->second);
    }
    const Result<std::vector<Tensor>> got = Answer(test, expected);
    for (std::size_t i = 0; i < test.outputs.size(); ++i) {
      const std::string& name = test.outputs[i].name;
      const Measured measured = !got.has_value()
                                    ? Measured(got.error())
                                    : conformance::Measure(name, (*got)[i], expected[i]);
      distances.emplace(name, measured);
    }
    return distances;
  }

 private:
  Result<std::vector<Tensor>> Answer(const TestModel& test, const std::vector<Tensor>& expected) {
    if (expected.size() != test.outputs.size())
      return Error{ErrorCode::kUnsupported, "", "an output that the reference does not give"};
    if (auto* isolated = dynamic_cast<IsolatedBackend*>(&backend_)) isolated->BeginCase();
    return Guarded([&]() -> Result<std::vector<Tensor>> {
      QTX_ASSIGN_OR_RETURN(
          const auto prepared,
          backend_.Prepare(WithFactors(model_, ToModel(test, expected)), arithmetic_));
      QTX_ASSIGN_OR_RETURN(auto outputs, prepared->Run(InputsOf(test)));
      if (outputs.size() == expected.size()) return outputs;
      return Error{ErrorCode::kProtocol, "",
                   "found " + std::to_string(outputs.size()) + " outputs, expected " +
                       std::to_string(expected.size())};
    });
  }

  backend::Backend& backend_;
  const std::string& arithmetic_;
  const format::Model& model_;
  const Observed& exact_;
};

Result<std::string> ArithmeticOf(const backend::Description& backend, std::string asked) {
  if (asked.empty() && !backend.arithmetics.empty()) return backend.arithmetics.front();
  if (std::ranges::find(backend.arithmetics, asked) != backend.arithmetics.end()) return asked;
  std::string names;
  for (const std::string& name : backend.arithmetics) names += (names.empty() ? "" : ", ") + name;
  return Error{ErrorCode::kUsage, "--arithmetic " + asked,
               "backend '" + backend.name + "' has " + names};
}

}  // namespace

Result<ExactLayers> ExactLayers::Compute(format::Model model, const std::vector<Tensor>& inputs) {
  QTX_ASSIGN_OR_RETURN(Observed values, Observe(model, inputs, "exact"));
  return ExactLayers(std::move(model), std::move(values));
}

Result<BackendDistances> ExactLayers::Measure(const BackendSource& source, std::string arithmetic,
                                              const Progress& progress) const {
  QTX_ASSIGN_OR_RETURN(const auto backend, source.make());
  BackendDistances result;
  QTX_ASSIGN_OR_RETURN(result.backend, backend->Describe());
  QTX_ASSIGN_OR_RETURN(result.arithmetic, ArithmeticOf(result.backend, std::move(arithmetic)));
  Questioner questioner(*backend, result.arithmetic, model_, values_);
  const auto& nodes = model_.graph.nodes;
  if (progress) progress(0, nodes.size() + 1, "the whole model");
  QTX_ASSIGN_OR_RETURN(TestModel whole, Extract(model_, 0, nodes.size(), values_));
  std::ranges::move(whole.values, std::back_inserter(whole.outputs));
  whole.values.clear();
  const auto in_model = questioner.Ask(whole);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (progress) progress(i + 1, nodes.size() + 1, nodes[i].name);
    QTX_ASSIGN_OR_RETURN(const TestModel alone, Extract(model_, i, i + 1, values_));
    for (const auto& [name, distance] : questioner.Ask(alone)) {
      const auto exact = values_.find(name);
      if (exact == values_.end()) continue;
      const auto of_whole = in_model.find(name);
      result.layers.push_back({i, name, exact->second.elem_type, exact->second.dims, distance,
                               of_whole == in_model.end()
                                   ? Measured(Error{ErrorCode::kUnsupported, "", "not declared"})
                                   : of_whole->second});
    }
  }
  return result;
}

}  // namespace qtx::conformance
