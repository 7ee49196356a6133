// Writes the reports that report_browser_test.py looks at, each as NAME.html, NAME.xml and, but for
// the large one, NAME.json: `known`, made by hand, with every outcome and hostile texts; `wrong`, a
// run of some of the suite against a backend that says `exact` and computes `float32`; `large`,
// three backends by 3,000 cases.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "qtx/conformance/report.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/model.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

constexpr const char* kHostile =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&";

Tensor Int8(format::Dims dims, const std::vector<std::int32_t>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kInt8Q, std::move(dims),
                                      format::Quantization{.scale = {0.5F}, .offset = {3}});
  format::PackInt32(values, tensor);
  return tensor;
}

Tensor Floats(const std::vector<float>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat, {std::int64_t(values.size())});
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

CaseResult Result(std::string id, std::string op, Outcome outcome, std::string diagnosis = "") {
  CaseResult result;
  result.spec = op + ".S1";
  result.why = "tells `half_away` from ties to even";
  result.where = "ops/" + id + ".yaml:1";
  result.id = std::move(id);
  result.arithmetic = "exact";
  result.op = std::move(op);
  result.level = "core";
  result.tags = {"rounding"};
  result.outcome = outcome;
  result.diagnosis = std::move(diagnosis);
  result.seconds = 0.00125;
  return result;
}

// What the harness would have said of these values.
void Differ(CaseResult& result, Tensor got, Tensor expected, std::int64_t ulp = 0) {
  auto difference = Compare("y", got, expected, ulp);
  if (!difference) std::abort();
  result.diagnosis = Describe(*difference) + "; equals `half_away`";
  result.explained_by = {"half_away"};
  result.differences = {*std::move(difference)};
  result.evidence = Evidence{{{"x", expected}}, {{"y", expected}}, {{"y", got}}};
}

// Three of 12 elements: -1, +2 and +100.
CaseResult WrongIntegers() {
  CaseResult result = Result("conv/ties[n=1]", "Conv", Outcome::kFail);
  Differ(result, Int8({1, 2, 2, 3}, {0, 1, 2, 3, 3, 7, 6, 7, 8, 9, 10, 111}),
         Int8({1, 2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  return result;
}

// One ulp is tolerated: element 1 counts as equal, 2 is two ulp off, 3 is a NaN.
CaseResult WrongFloats() {
  CaseResult result = Result("softmax/near", "Softmax", Outcome::kFail);
  Differ(result, Floats({1.0F, 0x1.000002p0F, 0x1.000004p0F, std::nanf("")}),
         Floats({1.0F, 1.0F, 1.0F, 1.0F}), 1);
  return result;
}

CaseResult WrongShape() {
  CaseResult result = Result("reshape/dims", "Reshape", Outcome::kFail);
  Differ(result, Int8({3, 2}, {1, 2, 3, 4, 5, 6}), Int8({2, 3}, {1, 2, 3, 4, 5, 6}));
  return result;
}

CaseResult WrongHuge() {
  const std::vector<std::int32_t> expected(1 << 20, 0);
  std::vector<std::int32_t> got = expected;
  for (std::size_t i = 0; i < got.size(); i += 64) got[i] = -1;
  CaseResult result = Result("add/huge", "Add", Outcome::kFail);
  Differ(result, Int8({1 << 10, 1 << 10}, got), Int8({1 << 10, 1 << 10}, expected));
  return result;
}

void Count(BackendReport& row) {
  for (const CaseResult& result : row.cases) ++row.counts[static_cast<std::size_t>(result.outcome)];
}

BackendReport Row(std::string name, std::vector<CaseResult> cases) {
  BackendReport row;
  row.source = "cmd:./guest --mode 'it''s'";
  row.description = {std::move(name), "1.2", {"exact"}, "AVX2"};
  row.arithmetic = "exact";
  row.cases = std::move(cases);
  row.not_applicable = 5;
  row.seconds = 1.5;
  Count(row);
  return row;
}

Report Known() {
  BackendReport bad = Row(
      "npu", {WrongIntegers(), WrongFloats(), WrongShape(), WrongHuge(),
              Result("conv/even", "Conv", Outcome::kPass), Result("add/a", "Add", Outcome::kPass),
              Result("add/dead", "Add", Outcome::kCrash, "killed by SIGSEGV"),
              Result("mul/slow", "Mul", Outcome::kTimeout, "no answer in time"),
              Result("mul/noise", "Mul", Outcome::kProtocolError, kHostile),
              Result("relu/none", "Relu", Outcome::kUnsupported, "Relu: not here"),
              Result("abs/known", "Abs", Outcome::kExpectedFail, "expected: issue 7"),
              Result("abs/fixed", "Abs", Outcome::kUnexpectedPass, "passes, but is listed")});
  bad.cases[4].expectation = ExpectationSource::kThirdParty;
  bad.cases[4].within_bound = true;
  bad.findings = {
      {{"Conv", "Softmax"},
       "exact + half_away",
       "rounds half away from zero: `half_away`",
       2,
       2,
       3,
       {{"Conv", "Conv(x: INT8Q [1,1,5])", "only in channel 2 of 0 to 2"}, {"Softmax", "", ""}}},
      {{"Add"}, "", "no named arithmetic and no known fault gives these answers", 1, 0}};
  BackendReport good = Row("x86", {Result("conv/ties[n=1]", "Conv", Outcome::kPass),
                                   Result("relu/none", "Relu", Outcome::kPass)});
  BackendReport hostile = Row(std::string(kHostile) + '\0' + "\xff\x1b[31m",
                              {Result(std::string("it's/") + kHostile, kHostile, Outcome::kFail,
                                      std::string(1 << 20, 'x'))});
  hostile.findings = {{{kHostile}, kHostile, kHostile, 1, 1, 1, {{kHostile, kHostile, kHostile}}}};
  BackendReport mute;
  mute.source = mute.description.name = "mute";
  mute.error = Error{ErrorCode::kIo, "mute", kHostile};
  bad.cases[6].error_output =
      std::string("loading kernels\nassertion failed: k % 16 == 0 ") + kHostile;
  BackendReport elsewhere = good;
  elsewhere.description.device = "AMX";
  Report report;
  report.suite = "/src/conformance/cases";
  Provenance run{.date = "2026-11-24T11:30:00Z",
                 .version = "0.1.0",
                 .commit = std::string(40, 'a'),
                 .compiler = "GNU 12.2.0",
                 .build_type = "Release",
                 .libraries = {{"gmp", "6.2.1"}, {"mpfr", "4.2.0"}},
                 .processor = "A processor",
                 .threads = 2,
                 .instruction_sets = {"avx2", "fma"},
                 .command = {"validate", "--backend", "npu"}};
  report.merged = {run, run};
  report.merged[1].commit = std::string(40, 'b');
  report.merged[1].command = {"validate", "--backend", kHostile};
  report.backends = {bad, good, elsewhere, hostile, mute};
  report.stale_expectations = {"list.txt:3: gone/*"};
  return report;
}

// The reference, whatever it is asked for, in binary32.
class Binary32 final : public backend::Backend {
 public:
  explicit Binary32(std::unique_ptr<backend::Backend> reference)
      : reference_(std::move(reference)) {}
  qtx::Result<backend::Description> Describe() override {
    return backend::Description{"binary32", "0", {"exact"}, "portable"};
  }
  qtx::Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                               std::string_view) override {
    return reference_->Prepare(model, "float32");
  }

 private:
  std::unique_ptr<backend::Backend> reference_;
};

Report Wrong() {
  const std::string folder = QTX_SOURCE_DIR "/conformance/cases";
  const auto suite = LoadSuite(folder);
  if (!suite) std::abort();
  const Selection selection{
      .filters = {"add/*", "average_pool/*", "softmax/*", "quantize_linear/*", "sigmoid/*"},
      .level = "core",
      .shard = {}};
  const BackendSource reference = ReferenceSource();
  BackendSource wrong{.name = "binary32", .make = {}, .expected_failures = {}};
  wrong.make = [&]() -> qtx::Result<std::unique_ptr<backend::Backend>> {
    QTX_ASSIGN_OR_RETURN(auto made, reference.make());
    return std::make_unique<Binary32>(std::move(made));
  };
  const RunOptions options{.arithmetics = {"exact"}};
  return RunSuite(folder, Select(suite->cases, selection), std::vector{wrong, reference}, options);
}

Report Large() {
  Report report;
  report.suite = "/src/conformance/cases";
  CaseResult differs;
  Differ(differs, Int8({2, 2048}, std::vector<std::int32_t>(4096, 99)),
         Int8({2, 2048}, std::vector<std::int32_t>(4096, 100)));
  for (const char* name : {"arm", "npu", "x86"}) {
    std::vector<CaseResult> cases;
    for (int i = 0; i < 3000; ++i) {
      const std::string op = "Op" + std::to_string(i % 90);
      const std::string id = op + "/some_name_that_says_what[scheme=a,n=" + std::to_string(i) + "]";
      const bool fails = name == std::string("npu") && i % 2 == 0;
      CaseResult result = Result(id, op, fails ? Outcome::kFail : Outcome::kPass);
      result.why = "a tie goes to even before the offset is added, operator and sweep " +
                   std::to_string(i / 10);
      if (fails) {
        result.diagnosis = differs.diagnosis;
        result.explained_by = differs.explained_by;
        result.differences = differs.differences;
        result.evidence = differs.evidence;
      }
      cases.push_back(std::move(result));
    }
    report.backends.push_back(Row(name, std::move(cases)));
  }
  return report;
}

bool WritePage(const std::string& stem, const Report& report) {
  return format::WriteFileAtomically(stem + ".html", ToHtml(report)) &&
         format::WriteFileAtomically(stem + ".xml", ToJunit(report));
}

bool Write(const std::string& stem, const Report& report) {
  return WritePage(stem, report) && format::WriteFileAtomically(stem + ".json", ToJson(report));
}

}  // namespace
}  // namespace qtx::conformance

int main(int argc, char** argv) {
  using namespace qtx::conformance;
  if (argc != 2) {
    std::fputs("usage: qtx_test_report_maker FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  const bool written = Write(folder + "known", Known()) && Write(folder + "wrong", Wrong()) &&
                       WritePage(folder + "large", Large());
  return written ? 0 : 4;
}
