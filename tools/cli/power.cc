// qtx power: mutation testing of the suite with faulty backends, compared with ONNX's own node
// tests.
#include "qtx/conformance/power.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "faulty/faulty.h"
#include "model_cache.h"
#include "progress.h"
#include "provenance.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/model.h"
#include "qtx/format/print.h"
#include "qtx/format/shape.h"
#include "qtx/format/tensor.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using conformance::Case;
using conformance::FaultyBackend;
using conformance::PowerReport;

// Where Debian's libonnx-testdata puts them.
constexpr const char* kOnnxNodeTests = "/usr/share/libonnx-testdata/data/node";
// Those on quantization: 17 in ONNX 1.12.
const std::vector<std::string> kQuantized = {"*quantizelinear*", "*qlinear*", "*matmulinteger*",
                                             "*convinteger*"};

Result<std::vector<FaultyBackend>> ChooseFaults(const PowerOptions& options) {
  conformance::Shard part;
  if (!options.part.empty()) {
    QTX_ASSIGN_OR_RETURN(part, conformance::ParseShard("--part", options.part));
  }
  std::vector<FaultyBackend> chosen;
  std::int64_t position = 0;
  for (const backend::faulty::FaultInfo& info : backend::faulty::Faults()) {
    if (!conformance::GlobMatches(options.filter, info.name)) continue;
    if (position++ % part.count != part.index - 1) continue;
    const std::string name(info.name);
    QTX_ASSIGN_OR_RETURN(auto source, FindBackend("faulty:" + name));
    chosen.push_back({name, std::string(info.says), std::string(info.source), std::move(source),
                      std::string(info.diagnosis)});
  }
  if (chosen.empty())
    return Error{ErrorCode::kUsage, "--filter " + options.filter, "matches no fault"};
  return chosen;
}

Result<PowerReport> Measure(const std::string& folder, std::span<const Case> cases,
                            std::span<const FaultyBackend> faults, const PowerOptions& options) {
  QTX_ASSIGN_OR_RETURN(auto none, FindBackend("faulty:none"));
  const conformance::BackendSource correct[] = {conformance::ReferenceSource(), std::move(none)};
  conformance::RunOptions run;
  run.jobs = options.jobs > 0 ? options.jobs
                              : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const RunProgress progress(run, options.quiet);
  return conformance::MeasurePower(folder, cases, faults, correct, run);
}

// Faults of the list show in small cases; the large ones, for the tiles and threads of kernels,
// would take most of the time.
bool IsLarge(const Case& c) {
  constexpr std::int64_t kLarge = 1 << 9;
  return std::ranges::any_of(c.inputs, [](const conformance::CaseValue& input) {
    const auto dims = input.type.shape ? format::FixedDims(*input.type.shape) : std::nullopt;
    const auto count = dims ? format::ElementCount(*dims) : Result<std::int64_t>(0);
    return !input.data && (!count || *count > kLarge);
  });
}

Result<PowerReport> MeasureSuite(const PowerOptions& options,
                                 std::span<const FaultyBackend> faults) {
  const std::string folder = options.suite.empty() ? SuiteFolder() : options.suite;
  ModelCache models;
  QTX_ASSIGN_OR_RETURN(const conformance::Suite suite,
                       conformance::LoadSuite(folder, models.Loader()));
  std::vector<Case> cases = suite.cases;
  std::erase_if(cases, IsLarge);
  return Measure(folder, cases, faults, options);
}

// nullopt if the tests are neither named nor installed.
Result<std::optional<PowerReport>> MeasureOnnx(const PowerOptions& options,
                                               std::span<const FaultyBackend> faults) {
  const std::string folder =
      options.onnx_node_tests.empty() ? kOnnxNodeTests : options.onnx_node_tests;
  std::error_code error;
  if (options.onnx_node_tests.empty() && !std::filesystem::is_directory(folder, error)) {
    return std::optional<PowerReport>();
  }
  QTX_ASSIGN_OR_RETURN(const conformance::Suite suite, conformance::LoadTestData(folder));
  const auto cases =
      conformance::Select(suite.cases, {.filters = kQuantized, .level = "", .shard = {}});
  if (cases.empty()) {
    return Error{ErrorCode::kInvalid, folder, "found no test of a quantized operator"};
  }
  QTX_ASSIGN_OR_RETURN(PowerReport report, Measure(folder, cases, faults, options));
  return std::optional<PowerReport>(std::move(report));
}

void Print(const PowerReport& report, const std::optional<PowerReport>& onnx) {
  format::Print("{}\n{}", conformance::Summary(ThisProvenance()), conformance::ToText(report));
  if (!onnx) return;
  format::Print("\nONNX's own {} node tests on quantization catch {} of these {} faults:\n",
                onnx->cases, onnx->caught(), onnx->faults.size());
  for (const conformance::FaultPower& fault : onnx->faults) {
    if (!fault.caught_by.empty()) format::Print("  {} ({})\n", fault.name, fault.caught_by.size());
  }
}

}  // namespace

int Power(const PowerOptions& options) {
  const auto outputs =
      CheckOutputs({{"--json", options.json}},
                   {{"--suite", options.suite}, {"--onnx-node-tests", options.onnx_node_tests}});
  if (!outputs.has_value()) return Fail(outputs.error());
  if (options.mutants) return PowerOfMutants(options);
  const auto faults = ChooseFaults(options);
  if (!faults.has_value()) return Fail(faults.error());
  const auto report = MeasureSuite(options, *faults);
  if (!report.has_value()) return Fail(report.error());
  const auto onnx = MeasureOnnx(options, *faults);
  if (!onnx.has_value()) return Fail(onnx.error());
  if (options.SaysText()) Print(*report, *onnx);
  return Finish(options, conformance::HasPower(*report) ? kDone : kFailed, [&] {
    return MakeDocument("power", conformance::ToJson(*report, *onnx ? &**onnx : nullptr));
  });
}

}  // namespace qtx::cli
