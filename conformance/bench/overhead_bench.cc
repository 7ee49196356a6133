// What the harness itself costs a case: a backend that knows all answers is asked for those of the
// operator cases of level `core`, in this process and through pipes. `us_per_case` is everything
// but computing: building the model and its inputs, the requests, the comparison.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "draw.h"
#include "qtx/backend/serve.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/suite.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using Outputs = std::vector<format::Tensor>;

// To the inputs of a case, and to those that are drawn again: backend_protocol.S21.
struct Answers {
  std::vector<format::Tensor> inputs;  // of the case
  Outputs own, others;
};

struct Work {
  std::vector<Case> cases;                              // with their expectations written out
  std::map<std::string, Answers, std::less<>> answers;  // by id, which is the graph's name
};

Result<Answers> Compute(const Case& c) {
  QTX_ASSIGN_OR_RETURN(format::Model model, BuildModel(c));
  QTX_ASSIGN_OR_RETURN(const auto inputs, BuildInputs(c, model));
  const format::Model drawn_from = model;
  QTX_ASSIGN_OR_RETURN(auto interpreter,
                       reference::Interpreter::Prepare(std::move(model), "exact"));
  Answers answers;
  QTX_ASSIGN_OR_RETURN(answers.own, interpreter.Run(inputs));
  for (const auto& candidate : DrawAgain(drawn_from, inputs, 1)) {
    auto others = interpreter.Run(candidate);
    if (!others) continue;
    answers.others = *std::move(others);
    break;
  }
  answers.inputs = inputs;
  return answers;
}

Work Load() {
  Work work;
  const auto suite = LoadSuite(QTX_SOURCE_DIR "/conformance/cases");
  if (!suite.has_value()) return work;
  for (Case c : Select(suite->cases, {.filters = {}, .level = "core", .shard = {}})) {
    if (!c.op || !c.error.empty() || c.arithmetics.front() != "exact") continue;
    auto answers = Compute(c);
    if (!answers.has_value() || answers->own.size() != c.outputs.size()) continue;
    for (std::size_t i = 0; i < answers->own.size(); ++i) c.outputs[i].data = answers->own[i];
    c.arithmetics = {"exact"};
    work.answers.emplace(c.id, *std::move(answers));
    work.cases.push_back(std::move(c));
  }
  return work;
}

const Work& TheWork() {
  static const Work work = Load();
  return work;
}

class Answer : public backend::PreparedModel {
 public:
  explicit Answer(const Answers& answers) : answers_(answers) {}
  Result<Outputs> Run(std::span<const format::Tensor> inputs) override {
    return std::ranges::equal(inputs, answers_.inputs) ? answers_.own : answers_.others;
  }

 private:
  const Answers& answers_;
};

class Oracle : public backend::Backend {
 public:
  Result<backend::Description> Describe() override {
    return backend::Description{"oracle", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view) override {
    const auto known = TheWork().answers.find(model.graph.name);
    if (known == TheWork().answers.end()) return Error{ErrorCode::kInvalid, "", "unknown case"};
    return std::unique_ptr<backend::PreparedModel>(std::make_unique<Answer>(known->second));
  }
};

// An instance that outlives each run, so that starting it is not counted.
class Shared : public IsolatedBackend {
 public:
  explicit Shared(IsolatedBackend& backend) : backend_(backend) {}
  void BeginCase() override { backend_.BeginCase(); }
  std::string TakeErrorOutput() override { return backend_.TakeErrorOutput(); }
  std::optional<Error> TakeReleaseFault() override { return backend_.TakeReleaseFault(); }
  std::optional<Error> StartFault() const override { return backend_.StartFault(); }
  std::optional<Error> Close() override { return std::nullopt; }
  Result<backend::Description> Describe() override { return backend_.Describe(); }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    return backend_.Prepare(model, arithmetic);
  }

 private:
  IsolatedBackend& backend_;
};

void Time(benchmark::State& state, const BackendSource& source) {
  using Clock = std::chrono::steady_clock;
  const Work& work = TheWork();
  const std::vector<BackendSource> sources = {source};
  const Clock::time_point start = Clock::now();
  for (auto _ : state) {
    const Report report = RunSuite("cases", work.cases, sources, {});
    if (work.cases.empty() || !Conforms(report) || report.backends[0].cases.empty()) {
      return state.SkipWithError("a case does not pass");
    }
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double cases =
      static_cast<double>(work.cases.size()) * static_cast<double>(state.iterations());
  state.counters["cases_per_second"] = cases / seconds;
  state.counters["us_per_case"] = 1e6 * seconds / cases;
}

void InProcess(benchmark::State& state) {
  BackendSource source;
  source.name = "oracle";
  source.make = []() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Oracle>());
  };
  Time(state, source);
}
BENCHMARK(InProcess)->UseRealTime()->Unit(benchmark::kMillisecond);

void OutOfProcess(benchmark::State& state) {
  std::array<char, 4096> path{};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) < 0) {
    return state.SkipWithError("cannot find this program");
  }
  const BackendSource process = ProcessSource("oracle", {path.data(), "--serve"}, {});
  const auto backend = process.make();
  auto* const isolated = dynamic_cast<IsolatedBackend*>(backend->get());
  if (const auto started = isolated->Describe(); !started.has_value()) {
    return state.SkipWithError(started.error().message.c_str());
  }
  BackendSource source;
  source.name = "oracle";
  source.make = [isolated]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Shared>(*isolated));
  };
  Time(state, source);
}
BENCHMARK(OutOfProcess)->UseRealTime()->Unit(benchmark::kMillisecond);

// The reference on all its cases of that level: what a run costs with the computing.
void Reference(benchmark::State& state) {
  BackendSource source = ReferenceSource();
  Time(state, source);
}
BENCHMARK(Reference)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace qtx::conformance

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--serve") {
    qtx::conformance::TheWork();
    qtx::conformance::Oracle oracle;
    return qtx::backend::Serve(oracle);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  std::printf("%zu cases\n", qtx::conformance::TheWork().cases.size());
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
