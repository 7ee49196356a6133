// Races of backends whose times are written down here, so that every figure can be derived.
#include "qtx/bench/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

namespace qtx::bench {
namespace {

using format::ElementType;
using format::Tensor;

// What a backend of a test does: adds `error` to the first element, and takes these times, a round
// after the other. Before the first round it is asked for one repetition at a time.
struct Script {
  std::string arithmetic = "exact";
  int error = 0;
  int inexact_error = 0;  // instead, in other arithmetics than exact
  std::vector<double> rounds;
  std::optional<Error> declines;  // Prepare
  std::optional<Error> fails;     // the last round
  std::optional<Error> run_fails;
};

class Scripted : public backend::Backend {
 public:
  explicit Scripted(Script script) : script_(std::move(script)) {}

  Result<backend::Description> Describe() override {
    return backend::Description{"scripted", "7", {script_.arithmetic}, "paper"};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model&,
                                                          std::string_view arithmetic) override {
    if (script_.declines) return *script_.declines;
    const int error = arithmetic == "exact" ? script_.error : script_.inexact_error;
    return std::unique_ptr<backend::PreparedModel>(std::make_unique<Model>(script_, error));
  }

 private:
  class Model : public backend::PreparedModel {
   public:
    Model(const Script& script, int error) : script_(script), error_(error) {}
    Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) override {
      if (script_.run_fails) return *script_.run_fails;
      Tensor y = inputs[0];
      y.As<std::int8_t>()[0] = static_cast<std::int8_t>(y.As<std::int8_t>()[0] + error_);
      return std::vector<Tensor>{y};
    }
    Result<std::vector<double>> Measure(std::span<const Tensor>, int repetitions) override {
      if (!warm_) {  // longer than a turn, so that a round has one repetition
        warm_ = true;
        return std::vector<double>(static_cast<std::size_t>(repetitions), 1.0);
      }
      if (round_ + 1 == script_.rounds.size() && script_.fails) return *script_.fails;
      return std::vector<double>(static_cast<std::size_t>(repetitions),
                                 script_.rounds.at(round_++));
    }

   private:
    const Script& script_;
    int error_;
    bool warm_ = false;
    std::size_t round_ = 0;
  };

  Script script_;
};

Contender Make(const std::string& name, const Script& script, int threads = 1) {
  conformance::BackendSource source;
  source.make = [script]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Scripted>(script));
  };
  return {name, threads, source};
}

// An Identity of four elements, so of no multiply-adds.
Workload Sample(const std::string& types = "s8s8") {
  Workload work;
  work.name = "sample";
  work.types = types;
  work.make = [types]() -> Result<Task> {
    format::Quantization q;
    q.scale = {1};
    Task task;
    task.inputs = {*format::MakeTensor(ElementType::kInt8Q, {4}, q)};
    if (types == kFloatTypes) return task;
    format::ValueInfo x;  // all that tells it from a float one
    x.type.emplace();
    x.type->elem_type = ElementType::kInt8Q;
    task.model.graph.inputs = {x};
    return task;
  };
  return work;
}

Results RunRace(std::vector<Contender> contenders,
                const std::vector<Workload>& workloads = {Sample()}, const Script& reference = {}) {
  Scripted judge(reference);
  RaceOptions options;
  options.rounds = 3;
  options.reference = &judge;
  return Race(workloads, contenders, options);
}

TEST(Race, ComparesMediansOfRounds) {
  std::vector<Contender> contenders;
  contenders.push_back(Make("fast", {.rounds = {1, 2, 1}}));
  contenders.push_back(Make("slow", {.rounds = {3, 8, 5}}));
  const Results results = RunRace(std::move(contenders));
  ASSERT_EQ(results.rows.size(), 2U);
  const Row& fast = results.rows[0];
  EXPECT_EQ(fast.backend, "fast");
  EXPECT_EQ(fast.version, "7");
  EXPECT_TRUE(fast.exact());
  EXPECT_EQ(fast.rounds, (std::vector<double>{1, 2, 1}));
  EXPECT_EQ(fast.seconds().median, 1);
  ASSERT_TRUE(fast.to_best_peer.has_value());
  EXPECT_EQ(fast.to_best_peer->peer, "slow");
  EXPECT_EQ(fast.to_best_peer->spread.median, 4);  // of 3/1, 8/2, 5/1
  EXPECT_EQ(results.rows[1].to_best_peer->spread.median, 0.25);
}

// The fastest is wrong, the next differs from `exact` as its own arithmetic does; only the slowest
// is exact.
TEST(Race, TellsExactConformingAndWrongPeersApart) {
  std::vector<Contender> contenders;
  contenders.push_back(
      Make("own", {.arithmetic = "float32", .inexact_error = 1, .rounds = {6, 6, 6}}));
  contenders.push_back(Make("wrong", {.error = 3, .rounds = {1, 1, 1}}));
  contenders.push_back(Make("exact", {.rounds = {12, 12, 12}}));
  contenders.push_back(Make("reader", {.rounds = {24, 24, 24}}));
  const Results results = RunRace(std::move(contenders), {Sample()}, {.inexact_error = 1});
  const Row& own = results.rows[0];
  EXPECT_FALSE(own.exact());
  EXPECT_TRUE(own.conforms.value());
  const Row& wrong = results.rows[1];
  EXPECT_FALSE(wrong.exact());
  EXPECT_FALSE(wrong.conforms.value());
  EXPECT_EQ(wrong.comparison->elements, 4);
  EXPECT_EQ(wrong.comparison->differing, 1);
  EXPECT_EQ(wrong.comparison->largest_difference, 3);
  const Row& reader = results.rows[3];
  EXPECT_EQ(reader.to_best_peer->peer, "wrong");
  EXPECT_EQ(reader.to_best_conforming_peer->peer, "own");
  EXPECT_EQ(reader.to_best_conforming_peer->spread.median, 0.25);
  EXPECT_EQ(reader.to_best_exact_peer->peer, "exact");
  EXPECT_EQ(reader.to_best_exact_peer->spread.median, 0.5);
}

// A profile takes the place of a contender's own arithmetic; who has `exact` is held to that.
TEST(Race, HoldsContendersToAProfile) {
  std::vector<Contender> contenders;
  contenders.push_back(
      Make("deployed", {.arithmetic = "float32", .inexact_error = 2, .rounds = {1, 1, 1}}));
  contenders.push_back(Make("exact", {.rounds = {1, 1, 1}}));
  Scripted reference({.inexact_error = 1});
  Scripted profile({.error = 2});
  RaceOptions options{.rounds = 3, .reference = &reference, .profile = "p", .deployed = &profile};
  const std::vector<Workload> workloads = {Sample()};
  const Results results = Race(workloads, contenders, options);
  EXPECT_EQ(results.rows[0].arithmetic, "p");
  EXPECT_EQ(results.rows[0].conforms, true);
  EXPECT_EQ(results.rows[0].comparison->largest_difference, 2);
  EXPECT_EQ(results.rows[1].arithmetic, "exact");
  EXPECT_TRUE(results.rows[1].exact());
}

// Who has the arithmetic asked for computes in it and is held to it; who has not, in its first.
TEST(Race, ContendersComputeInTheArithmeticAskedFor) {
  conformance::BackendSource source;
  source.make = []() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Scripted>(
        Script{.arithmetic = "float32", .inexact_error = 2, .rounds = {1, 1, 1}}));
  };
  std::vector<Contender> contenders;
  contenders.emplace_back("asked", 1, source, "float32");
  contenders.emplace_back("has another", 1, source, "tflite");
  for (const Contender& contender : contenders) EXPECT_EQ(contender.arithmetic(), "float32");
  Scripted reference({.arithmetic = "float32", .inexact_error = 2});
  const std::vector<Workload> workloads = {Sample()};
  const Results results = Race(workloads, contenders, {.rounds = 3, .reference = &reference});
  EXPECT_EQ(results.rows[0].conforms, true);
}

TEST(Race, ShowsWhoDeclinesAndWhoFails) {
  std::vector<Contender> contenders;
  const Error declines{ErrorCode::kUnsupported, "node 'n'", "not today"};
  const Error fails{ErrorCode::kTimeout, "", "too late"};
  contenders.push_back(Make("declines", {.declines = declines}));
  contenders.push_back(Make("hangs", {.rounds = {1, 1, 1}, .fails = fails}));
  contenders.push_back(Make("runs", {.rounds = {1, 1, 1}}));
  contenders.emplace_back("absent", 1, Error{ErrorCode::kIo, "cmd:absent", "cannot start"});
  const Results results = RunRace(std::move(contenders));
  ASSERT_EQ(results.rows.size(), 4U);
  EXPECT_EQ(results.rows[0].outcome, "unsupported");
  EXPECT_EQ(results.rows[0].reason, "node 'n': not today");
  EXPECT_EQ(results.rows[1].outcome, "timeout");
  EXPECT_TRUE(results.rows[1].rounds.empty());
  EXPECT_TRUE(results.rows[2].measured());
  EXPECT_FALSE(results.rows[2].to_best_peer.has_value()) << "nobody else was measured";
  EXPECT_EQ(results.rows[3].outcome, "crash");
  EXPECT_EQ(results.rows[3].reason, "cmd:absent: cannot start");
}

// No fault: the reference's own float layers take minutes.
TEST(Race, TellsTooSlowFromBroken) {
  std::vector<Contender> contenders;
  const Error late{ErrorCode::kTimeout, "", "too late"}, gone{ErrorCode::kIo, "", "SIGSEGV"};
  contenders.push_back(Make("slow", {.run_fails = late}));
  contenders.push_back(Make("broken", {.run_fails = gone}));
  const Results results = RunRace(std::move(contenders));
  EXPECT_EQ(results.rows[0].outcome, "too_slow");
  EXPECT_EQ(results.rows[1].outcome, "crash");
}

// Peers are those of the same types and number of threads; the float twin is told apart.
TEST(Race, ComparesWithTheFloatTwinOfPeersOnly) {
  std::vector<Contender> contenders;
  contenders.push_back(Make("own", {.rounds = {2, 2, 2}}));
  contenders.push_back(Make("peer", {.rounds = {5, 5, 5}}));
  contenders.push_back(Make("peer", {.rounds = {1, 1, 1}}, 2));
  const Results results = RunRace(std::move(contenders), {Sample("s8s8"), Sample("fp32")});
  ASSERT_EQ(results.rows.size(), 6U);
  const Row& own = results.rows[0];
  EXPECT_EQ(own.to_best_peer->spread.median, 2.5);
  EXPECT_EQ(own.to_best_float_peer->peer, "peer");
  EXPECT_EQ(own.to_best_float_peer->spread.median, 2.5);
  const Row& floats = results.rows[2];
  EXPECT_EQ(floats.types, "fp32");
  EXPECT_FALSE(floats.to_best_float_peer.has_value());
  EXPECT_EQ(results.rows[4].threads, 2);
  EXPECT_FALSE(results.rows[4].to_best_peer.has_value());
}

TEST(Race, LeavesOutWorksThatCannotBeMade) {
  Workload broken = Sample();
  broken.make = []() -> Result<Task> {
    return Error{ErrorCode::kUnsupported, "file", "no such operator"};
  };
  std::vector<Contender> contenders;
  contenders.push_back(Make("own", {.rounds = {1, 1, 1}}));
  const Results results = RunRace(std::move(contenders), {broken, Sample("fp32")});
  ASSERT_EQ(results.skipped.size(), 1U);
  EXPECT_EQ(results.skipped[0].reason, "file: no such operator");
  EXPECT_EQ(results.rows.size(), 1U);
}

TEST(Race, LeavesUncheckedWhatTheReferenceCannotDo) {
  std::vector<Contender> contenders;
  contenders.push_back(Make("own", {.rounds = {1, 1, 1}}));
  const Error slow{ErrorCode::kTimeout, "", "gave no answer within the time limit"};
  const Results results = RunRace(std::move(contenders), {Sample()}, {.declines = slow});
  EXPECT_TRUE(results.rows[0].measured());
  EXPECT_FALSE(results.rows[0].comparison.has_value());
  EXPECT_FALSE(results.rows[0].exact());
}

// A mere million of multiply-adds in a millisecond: 2 GOP/s.
TEST(Row, CountsTwoOperationsAMultiplyAdd) {
  Row row;
  row.outcome = "measured";
  row.multiply_adds = 1'000'000;
  row.rounds = {1e-3};
  EXPECT_DOUBLE_EQ(row.gops(), 2);
}

}  // namespace
}  // namespace qtx::bench
