// Every MUST of the protocol that binds a backend, each broken alone by a guest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"

namespace qtx::conformance::protocol_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kOneCase =
    "{id: a, spec: identity.S1, why: w, op: {type: Identity},"
    " inputs: {x: {type: int8q, scale: 0x1p-3, data: [1, -2, 3]}},"
    " expect: {y: {type: int8q, scale: 0x1p-3, data: [1, -2, 3]}}}\n";
// Two inputs of three elements of 4 bits, whose last byte has unused ones; reals; parameters along
// one of two equal axes; another model of the first operator.
constexpr const char* kMoreCases =
    "---\n{id: b, spec: cast_like.S1, why: w, op: {type: CastLike, opset: 15},"
    " inputs: {x: {type: int4q, scale: 0.5, data: [1, -2, 3]},"
    " like: {type: int4q, scale: 0.5, data: [0, 0, 0]}},"
    " expect: {y: {type: int4q, scale: 0.5, data: [1, -2, 3]}}}\n"
    "---\n{id: c, spec: reshape.S1, why: w, op: {type: Reshape},"
    " inputs: {x: {type: float, data: [1.0, -2.0]}, to: {type: int64, data: [2], initializer: "
    "true}}, expect: {y: {type: float, data: [1.0, -2.0]}}}\n"
    "---\n{id: d, spec: dropout.S1, why: w, op: {type: Dropout}, inputs: {x: {type: int8q, axis:"
    " [0], scale: [0.5, 0.25], shape: [2, 2], data: [1, 2, 3, 4]}}, expect: {y: {type: int8q,"
    " axis: [0], scale: [0.5, 0.25], shape: [2, 2], data: [1, 2, 3, 4]}}}\n"
    "---\n{id: e, spec: identity.S1, why: w, op: {type: Identity},"
    " inputs: {x: {type: int8q, scale: 0.5, data: [1, -2, 3, 4]}},"
    " expect: {y: {type: int8q, scale: 0.5, data: [1, -2, 3, 4]}}}\n";

BackendReport RunLiar(const std::string& lie, std::int64_t memory_limit = 0,
                      const char* more = "") {
  const auto cases = ParseCases(std::string(kOneCase) + more, "protocol_test");
  EXPECT_TRUE(cases.has_value());
  const std::vector<BackendSource> sources = {*ProcessSource(
      std::string(QTX_TEST_LIAR) + " " + lie, {.timeout = 20s, .memory_limit = memory_limit})};
  return RunSuite("suite", *cases, sources, {}).backends.at(0);
}

TEST(Protocol, FindsNoFaultInAServerThatKeepsIt) {
  const BackendReport row = RunLiar("");
  EXPECT_FALSE(row.error.has_value()) << row.error->Text();
  EXPECT_EQ(row.count(Outcome::kPass), 1) << row.cases.at(0).diagnosis;
  for (const Error& fault : row.protocol_faults) ADD_FAILURE() << fault.Text();
  EXPECT_TRUE(Conforms(row));
}

struct Lie {
  const char* name;
  const char* clause;  // "S5"
  const char* message;
};

class ProtocolFault : public testing::TestWithParam<Lie> {};

TEST_P(ProtocolFault, IsTheOneThatTheProbeFinds) {
  const Lie& lie = GetParam();
  const BackendReport row = RunLiar(lie.name);
  ASSERT_FALSE(row.protocol_faults.empty());
  for (const Error& fault : row.protocol_faults) {
    EXPECT_EQ(fault.clause, std::string("backend_protocol.") + lie.clause) << fault.Text();
  }
  EXPECT_THAT(row.protocol_faults[0].Text(), HasSubstr(lie.message));
  EXPECT_FALSE(Conforms(row));
}

TEST(Protocol, FindsNoFaultInAServerOfSeveralModels) {
  const BackendReport row = RunLiar("", 0, kMoreCases);
  EXPECT_EQ(row.count(Outcome::kPass), 5);
  for (const CaseResult& c : row.cases) EXPECT_EQ(c.outcome, Outcome::kPass) << c.diagnosis;
  for (const Error& fault : row.protocol_faults) ADD_FAILURE() << fault.Text();
  EXPECT_TRUE(Conforms(row));
}

// What one model with one input does not show.
class FaultOfModels : public testing::TestWithParam<Lie> {};

TEST_P(FaultOfModels, IsFoundByTheProbe) {
  const Lie& lie = GetParam();
  const BackendReport row = RunLiar(lie.name, 0, kMoreCases);
  EXPECT_EQ(row.count(Outcome::kPass), 5);
  ASSERT_FALSE(row.protocol_faults.empty());
  EXPECT_EQ(row.protocol_faults[0].clause, std::string("backend_protocol.") + lie.clause);
  EXPECT_THAT(row.protocol_faults[0].Text(), HasSubstr(lie.message));
  EXPECT_FALSE(Conforms(row));
}

INSTANTIATE_TEST_SUITE_P(
    Lies, FaultOfModels,
    testing::Values(Lie{"latest_model", "S9", "Run after Prepare of another model"},
                    Lie{"wrong_with_four", "S9", "found another answer than before"},
                    Lie{"first_input", "S13", "in input 1"},
                    Lie{"any_axis", "S13", "along other axes or of other blocks: found Run"},
                    Lie{"wrong_after_one_of_its_operator", "S9",
                        "found another answer than before"},
                    Lie{"unused_bits", "S14", "an unused bit set: found Run"},
                    Lie{"parameters_of_reals", "S14", "parameters of a type that has none"},
                    Lie{"forgets_after_no_request", "S9", "Run after what is no request"},
                    Lie{"wrong_with_three_models", "S9", "found another answer than before"},
                    Lie{"reads_once", "S9", "status 5 before it answered"}),
    [](const auto& test) { return std::string(test.param.name); });

// Source: backend_protocol.S1, backend_protocol.S5 to S14; backend_protocol.S22,
// backend_protocol.S23, backend_protocol.S24 and backend_protocol.S26.
INSTANTIATE_TEST_SUITE_P(
    Lies, ProtocolFault,
    testing::Values(
        Lie{"describe_changes", "S7", "found another answer"},
        Lie{"refusal_of_other_code", "S5",
            "found Error of code INVALID, expected Error of code PROTOCOL"},
        Lie{"error_of_no_code", "S5", "found 77, expected 0 to 5"},
        Lie{"exits_after_error", "S5", "status 0 before it answered"},
        Lie{"status_of_bad_length", "S5", "found status 0, expected a status other than 0"},
        Lie{"any_model", "S8", "Prepare of what is not a model: found Prepare"},
        Lie{"any_arithmetic", "S8", "an arithmetic that does not exist: found Prepare"},
        Lie{"any_count", "S9", "an input too many: found Run"},
        Lie{"never_releases", "S10", "Run after Release: found Run"},
        Lie{"wrong_after_an_error", "S9", "found another answer than before"},
        Lie{"earlier_answer_after_error", "S9", "other inputs after what was refused"},
        Lie{"wrong_after_1000_runs", "S9", "found another answer than before"},
        Lie{"wrong_each_500th_run", "S9", "found another answer than before"},
        Lie{"wrong_after_300_handles", "S9", "handles of one model: found another"},
        Lie{"wrong_when_repeated", "S9", "found another answer than"},
        Lie{"wrong_after_describe", "S9", "Run after Describe: found another answer"},
        Lie{"dies_after_2000_requests", "S9", "is gone"},
        Lie{"start_of_an_arithmetic", "S8", "'exact-x', an arithmetic that does not"},
        Lie{"no_arithmetic", "S8", "Prepare in ''"},
        Lie{"one_time", "S8", "with no other model left: found Error"},
        Lie{"counts_handles", "S8", "Prepare after Release: found the handle of"},
        Lie{"handle_of_16_bits", "S11", "Run of unknown handle 65537: found Run"},
        Lie{"any_handle_timed", "S11", "with repetitions: found Run"},
        Lie{"last_handle_stays", "S10", "Run after Release of the last model: found Run"},
        Lie{"releases_what_ran", "S10", "Release of a model that never ran"},
        Lie{"refuses_reals", "S13", "reals for quantized inputs: found Error"},
        Lie{"stored_type", "S13", "the type of what it stores: found Run"},
        Lie{"long_seconds", "S22", "since the answer took"},
        Lie{"at_most_eight_seconds", "S22", "found 8 seconds, expected 33"},
        Lie{"arithmetic_in_capitals", "S8", "Prepare in 'EXACT'"},
        Lie{"arithmetic_to_nul", "S8", "an arithmetic that does not exist: found Prepare"},
        Lie{"other_arithmetics", "S8", "Prepare in 'float32', which it does not name"},
        Lie{"sign_of_type", "S13", "a type of another sign: found Run"},
        Lie{"scale_by_tolerance", "S13", "the next binary32: found Run"},
        Lie{"half_away", "S13", "reals for quantized inputs: found another answer"},
        Lie{"wrong_with_sixteen", "S9", "found another answer than before"},
        Lie{"wrong_after_a_pause", "S9", "Run after a pause: found another answer"},
        Lie{"heartbeat", "S9", "answered before a request was sent"},
        Lie{"any_type", "S13", "another type: found Run"},
        Lie{"any_shape", "S13", "another shape: found Run"},
        Lie{"any_scale", "S13", "another scale: found Run"},
        Lie{"any_offset", "S13", "another offset: found Run"},
        Lie{"any_size", "S13", "another size: found Run"},
        Lie{"describe_counts_models", "S7", "Describe with models: found another"},
        Lie{"cut_off_model", "S8", "a model that is cut off: found Prepare"},
        Lie{"cut_off_latest", "S8", "a model that is cut off: found Prepare"},
        Lie{"byte_after_model", "S8", "a model with a byte after it: found Prepare"},
        Lie{"shortest_length", "S1", "a length in five bytes: "},
        Lie{"handle_of_zero", "S11", "unknown handle 0: found Run"},
        Lie{"handle_after_last", "S11", "Run of unknown handle"},
        Lie{"no_type", "S14", "an element type that there is not: found Error of code INVALID"},
        Lie{"short_tensor", "S14", "a byte too few: found Run"},
        Lie{"product_of_dims", "S14", "dims of 2^64 elements without a byte: found Run"},
        Lie{"infinite_scale", "S14", "an infinite scale: found Run"},
        Lie{"any_number_of_scales", "S14", "more scales"},
        Lie{"no_parameters", "S14", "without its parameters: found Run"},
        Lie{"unchecked_tensor", "S14", "a byte too many: found Run"},
        Lie{"seconds_missing", "S22", "found 1 seconds, expected 2"},
        Lie{"wrong_when_measured", "S9", "Run with repetitions: found another"},
        Lie{"neither_seconds_nor_outputs", "S22", "found 0 seconds"},
        Lie{"status_with_models", "S6", "with a model left, after an error: found status 3"},
        Lie{"status_unasked", "S6", "the end of an empty input: found status 3"},
        Lie{"status_at_end", "S6", "found status 3, expected 0"},
        Lie{"killed_at_end", "S6", "SIGKILL"}, Lie{"late_exit", "S6", "did not exit in time"},
        Lie{"speaks_at_end", "S4", "found 3 bytes unasked"}),
    [](const auto& test) { return std::string(test.param.name); });

#ifndef __SANITIZE_ADDRESS__  // which reserves more than any limit allows
// Its memory grows by a MiB each run: no rule forbids that, and a limit shows it.
TEST(Protocol, FindsALeakUnderALimitOfMemory) {
  EXPECT_TRUE(Conforms(RunLiar("leaks")));
  const BackendReport row = RunLiar("leaks", std::int64_t{512} << 20);
  ASSERT_FALSE(row.protocol_faults.empty());
  EXPECT_THAT(row.protocol_faults[0].where, HasSubstr("run "));
  EXPECT_FALSE(Conforms(row));
}
#endif

// These break it with the case under way.
class ProtocolError : public testing::TestWithParam<Lie> {};

TEST_P(ProtocolError, IsTheOutcomeOfItsCase) {
  const Lie& lie = GetParam();
  const BackendReport row = RunLiar(lie.name);
  if (row.error) {
    EXPECT_EQ(row.error->code, ErrorCode::kProtocol);
    EXPECT_THAT(row.error->Text(), HasSubstr(lie.message));
  } else {
    EXPECT_EQ(row.cases.at(0).outcome, Outcome::kProtocolError) << row.cases[0].diagnosis;
    EXPECT_THAT(row.cases.at(0).diagnosis, HasSubstr(lie.message));
  }
  EXPECT_FALSE(Conforms(row));
}

INSTANTIATE_TEST_SUITE_P(
    Lies, ProtocolError,
    testing::Values(Lie{"no_such_arithmetic", "S7", "exactly"},
                    Lie{"same_handle", "S8", "which another prepared model has"},
                    Lie{"seconds_unasked", "S22", "expected none without repetitions"},
                    Lie{"answers_twice", "S4", ""}),
    [](const auto& test) { return std::string(test.param.name); });

// Both of these the probe finds, besides the rule that a handle is unknown after its release.
TEST(Protocol, FindsUnknownHandlesThatAreTaken) {
  for (const char* lie : {"any_handle", "any_release"}) {
    const BackendReport row = RunLiar(lie);
    ASSERT_FALSE(row.protocol_faults.empty()) << lie;
    EXPECT_EQ(row.protocol_faults[0].clause, "backend_protocol.S11") << lie;
  }
}

// No probe is needed for these: every case prepares two models and releases one.
TEST(Protocol, FindsABackendThatHoldsOneModelOnly) {
  const BackendReport row = RunLiar("one_model");
  EXPECT_EQ(row.cases.at(0).outcome, Outcome::kFail);
  EXPECT_THAT(row.cases.at(0).diagnosis, HasSubstr("run 1 of handle 2"));
}

TEST(Protocol, FindsAReleaseOfAnotherModelToo) {
  const BackendReport row = RunLiar("releases_all");
  EXPECT_EQ(row.cases.at(0).outcome, Outcome::kFail);
  EXPECT_THAT(row.cases.at(0).diagnosis, HasSubstr("on Release: handle: no"));
}

// Of these the probe alone prepares a third model of one kind.
TEST(Protocol, FindsABackendThatHoldsTwoModelsOnly) {
  const BackendReport row = RunLiar("two_models");
  ASSERT_FALSE(row.protocol_faults.empty());
  EXPECT_EQ(row.protocol_faults[0].clause, "backend_protocol.S8");
  EXPECT_FALSE(Conforms(row));
}

// Source: backend_protocol.S15.
TEST(Protocol, FailsADeclineThatDoesNotSayOfWhat) {
  const BackendReport row = RunLiar("decline_without_place");
  EXPECT_EQ(row.cases.at(0).outcome, Outcome::kFail);
  EXPECT_THAT(row.cases.at(0).diagnosis, HasSubstr("declined without a place"));
}

// Such an input may have no scale that could be another one.
TEST(Protocol, IsNotProbedWithAModelOfEmptyInputs) {
  const auto cases = ParseCases(
      "{id: a, spec: identity.S1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int8q, shape: [0], scale: [], axis: [0], data: []}},"
      " expect: {y: {type: int8q, shape: [0], scale: [], axis: [0]}}}",
      "protocol_test");
  ASSERT_TRUE(cases.has_value()) << cases.error().Text();
  const std::vector<BackendSource> sources = {
      *ProcessSource(std::string(QTX_TEST_LIAR), {.timeout = 20s})};
  const Report report = RunSuite("suite", *cases, sources, {});
  EXPECT_EQ(report.backends.at(0).count(Outcome::kPass), 1)
      << report.backends[0].cases.at(0).diagnosis;
  EXPECT_TRUE(report.backends.at(0).protocol_faults.empty());
}

// Source: backend_protocol.S15.
TEST(Protocol, TakesNoDeclineWithoutAReason) {
  const BackendReport row = RunLiar("silent_decline");
  EXPECT_EQ(row.cases.at(0).outcome, Outcome::kFail);
  EXPECT_EQ(row.cases.at(0).diagnosis, "declined without a reason");
}

// Source: backend_protocol.S23.
TEST(Protocol, TakesNoFaultOfTheBackendForARefusal) {
  const auto cases = ParseCases(
      "{id: a, spec: identity.C1, why: w, op: {type: Identity},"
      " inputs: {x: {type: int64, data: [1]}},"
      " expect: {y: {type: int8q, scale: 1}, error: identity.C1}}",
      "protocol_test");
  ASSERT_TRUE(cases.has_value());
  const std::vector<BackendSource> sources = {
      *ProcessSource(std::string(QTX_TEST_LIAR) + " refusal_by_io", {.timeout = 20s})};
  const Report report = RunSuite("suite", *cases, sources, {});
  EXPECT_EQ(report.backends.at(0).cases.at(0).outcome, Outcome::kFail);
}

}  // namespace
}  // namespace qtx::conformance::protocol_test
