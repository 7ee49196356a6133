// Backends in this process that answer the first request of a model right, and a later one wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "draw.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"

namespace qtx::conformance::session_test {
namespace {

using format::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;
using Outputs = std::vector<Tensor>;

// What a liar knows when it is asked.
struct Question {
  std::vector<Tensor> inputs;
  std::vector<Tensor> first_inputs;  // of this model
  Outputs first_outputs;
  int run = 1;    // of this model
  int model = 1;  // of this backend
  int alive = 1;  // models of this backend
  int threads = 1;
  int running = 1;                   // runs of all models under way
  const std::byte* place = nullptr;  // of the first input, as it was given
  std::thread::id prepared_in;
};
// Changes what is to be computed, or gives an answer in place of it.
using Lie = std::function<std::optional<Result<Outputs>>(Question&)>;

struct Shared {
  std::unique_ptr<backend::Backend> right = *ReferenceSource().make();
  Lie lie;
  int threads = 1;
  int models = 0;
  std::atomic<std::size_t> inputs = 0;  // of the first run
  std::atomic<int> alive = 0;
  std::atomic<int> running = 0;
};

class Model : public backend::PreparedModel {
 public:
  Model(Shared& shared, std::unique_ptr<backend::PreparedModel> right)
      : shared_(shared), right_(std::move(right)), model_(++shared.models) {
    ++shared_.alive;
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() override { --shared_.alive; }

  Result<Outputs> Run(std::span<const Tensor> inputs) override {
    Question question{{inputs.begin(), inputs.end()},
                      first_.inputs,
                      first_.first_outputs,
                      ++runs_,
                      model_,
                      shared_.alive,
                      shared_.threads,
                      ++shared_.running,
                      inputs.empty() ? nullptr : inputs[0].bytes.data(),
                      prepared_in_};
    if (runs_ == 1) first_.inputs = question.inputs;
    // A lie is about inputs as the case has them, not about a changed form of the case.
    const bool any = std::ranges::none_of(inputs, [](const Tensor& t) { return t.bytes.empty(); });
    if (shared_.inputs == 0) shared_.inputs = inputs.size();
    const bool lies = any && inputs.size() == shared_.inputs;
    auto told = lies ? shared_.lie(question) : std::nullopt;
    auto answer = told ? *std::move(told) : right_->Run(question.inputs);
    --shared_.running;
    if (runs_ == 1 && answer) first_.first_outputs = *answer;
    return answer;
  }

 private:
  Shared& shared_;
  std::unique_ptr<backend::PreparedModel> right_;
  int model_;
  int runs_ = 0;
  const std::thread::id prepared_in_ = std::this_thread::get_id();
  Question first_;
};

class Liar : public backend::Backend {
 public:
  Liar(Lie lie, int threads) {
    shared_.lie = std::move(lie);
    shared_.threads = threads;
  }
  Result<backend::Description> Describe() override {
    return backend::Description{"liar", "1", {"exact"}, ""};
  }
  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(auto right, shared_.right->Prepare(model, arithmetic));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<Model>(shared_, std::move(right)));
  }
  bool RunsAtOnce() const override { return true; }

 private:
  Shared shared_;
};

// Scales and zero points are inputs of the model.
constexpr const char* kQuantize =
    "id: a\nspec: quantize_linear.S1\nwhy: w\nop: {type: QuantizeLinear}\n"
    "inputs: {x: {type: float, data: [1, -2, 3]}, y_scale: {type: float, shape: [], data: 0.5},"
    " y_zero_point: {type: int8, shape: [], data: 3}}\n"
    "expect: {y: {type: int8, shape: [3], data: [5, -1, 9]}}\n";
// More than 16 bytes of an input; the sum of the id's bytes, 108, has remainder 0 by 12: draw 4.
constexpr const char* kLong =
    "id: l\nspec: relu.S1\nwhy: w\nop: {type: Relu}\n"
    "inputs: {x: {type: int8q, scale: 1, offset: 3, shape: [3, 8],"
    " generate: {kind: uniform, seed: 1}}}\n"
    "expect: {y: {type: int8q, scale: 1, shape: [3, 8]}}\n";
constexpr const char* kNan =
    "id: a\nspec: identity.S1\nwhy: w\nop: {type: Identity}\n"
    "inputs: {x: {type: float, data: [nan, 1.0]}}\n"
    "expect: {y: {type: float, data: [nan, 1.0]}}\n";
constexpr const char* kOpenShape =
    "id: a\nspec: relu.S1\nwhy: w\nop: {type: Relu}\n"
    "inputs: {x: {type: int8q, scale: 1, shape: [n, 2], data: [1, -2, 3, 4]}}\n"
    "expect: {y: {type: int8q, scale: 1, shape: [n, 2]}}\n";

CaseResult ResultOf(const Lie& lie, const std::string& yaml = kQuantize) {
  const auto cases = ParseCases(yaml, "session_test");
  EXPECT_TRUE(cases.has_value()) << cases.error().Text();
  BackendSource source;
  source.name = "liar";
  source.make_with_threads = [lie](int threads) -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<Liar>(lie, threads));
  };
  source.make = [make = source.make_with_threads] { return make(1); };
  const std::vector<BackendSource> sources = {source};
  return RunSuite("suite", *cases, sources, {}).backends.at(0).cases.at(0);
}

std::string Thorough(const char* yaml) { return std::string(yaml) + "tags: [session]\n"; }

TEST(Session, PassesABackendThatIsRight) {
  const Lie none = [](Question&) { return std::nullopt; };
  for (const char* yaml : {kQuantize, kLong, kOpenShape}) {
    EXPECT_EQ(ResultOf(none, yaml).outcome, Outcome::kPass) << ResultOf(none, yaml).diagnosis;
    EXPECT_EQ(ResultOf(none, Thorough(yaml)).outcome, Outcome::kPass);
  }
}

struct LieCase {
  const char* name;
  const char* diagnosis;
  Lie lie;
  bool thorough = false;
  const char* yaml = kQuantize;
};

class SessionFault : public testing::TestWithParam<LieCase> {};

TEST_P(SessionFault, IsFound) {
  const LieCase& param = GetParam();
  const CaseResult result =
      ResultOf(param.lie, param.thorough ? Thorough(param.yaml) : std::string(param.yaml));
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_TRUE(result.session.has_value());
  EXPECT_THAT(result.diagnosis, HasSubstr(param.diagnosis));
}

Result<Outputs> Refuse(ErrorCode code) { return Error{code, "node", "not again"}; }

std::optional<Result<Outputs>> KeepInput(Question& question, std::size_t input) {
  if (question.run > 1) question.inputs[input] = question.first_inputs[input];
  return std::nullopt;
}

void Spoil(Tensor& tensor) { tensor.bytes[0] ^= std::byte{1}; }

// Wrong where all stored values of the first input are alike, as `is` says of the first.
Lie WrongOnPlain(bool (*is)(std::byte first)) {
  return [is](Question& q) -> std::optional<Result<Outputs>> {
    const auto& bytes = q.inputs[0].bytes;
    const bool plain = std::ranges::all_of(bytes, [&](std::byte byte) { return byte == bytes[0]; });
    if (plain && is(bytes[0])) q.inputs[0].bytes.back() = std::byte{0x55};
    return std::nullopt;
  };
}

// What was answered before, found again by less than all there is to know of a request. Handles are
// asked at once.
template <typename Key>
Lie Cached(Key (*key)(const Question& question)) {
  return [key, known = std::make_shared<std::map<Key, Outputs>>(),
          one_at_a_time =
              std::make_shared<std::mutex>()](Question& q) -> std::optional<Result<Outputs>> {
    const std::scoped_lock lock(*one_at_a_time);
    if (q.run == 1 && q.model == 1) known->clear();
    if (q.run == 2) known->emplace(key({.inputs = q.first_inputs}), q.first_outputs);
    const auto found = known->find(key(q));
    if (found == known->end()) return std::nullopt;
    return found->second;
  };
}

// Source: backend_protocol.S9, .S21.
INSTANTIATE_TEST_SUITE_P(
    Lies, SessionFault,
    testing::Values(
        LieCase{"RefusesAfterTheFirstAnswer", "run 2 of handle 1, other inputs: refused",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.run == 1) return std::nullopt;
                  return Refuse(ErrorCode::kInvalid);
                }},
        LieCase{"DeclinesAfterTheFirstAnswer", "run 1 of handle 2, other inputs: gives another",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.run == 1) return std::nullopt;
                  return Refuse(ErrorCode::kUnsupported);
                }},
        LieCase{"GivesAnOutputTooManyLater", "run 2 of handle 1, other inputs: gave 2 outputs",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.run == 1) return std::nullopt;
                  return Outputs{q.first_outputs[0], q.first_outputs[0]};
                }},
        LieCase{"GivesNoOutputTheThirdTime", "run 3 of handle 1, other inputs: gave 0 outputs",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.run < 3) return std::nullopt;
                  return Outputs{};
                }},
        LieCase{"ChangesThePayloadOfNan", "run 4 of handle 1: gives another answer",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.run != 4 || q.first_outputs.empty()) return std::nullopt;
                  Outputs outputs = q.first_outputs;
                  Spoil(outputs[0]);
                  return outputs;
                },
                false, kNan},
        LieCase{"KeepsTheData", "run 2 of handle 1, other inputs: output 'y' differs",
                [](Question& q) { return KeepInput(q, 0); }},
        LieCase{"KeepsTheScale", "run 2 of handle 1, other inputs: output 'y' differs",
                [](Question& q) { return KeepInput(q, 1); }},
        LieCase{"KeepsTheZeroPoint", "run 2 of handle 1, other inputs: output 'y' differs",
                [](Question& q) { return KeepInput(q, 2); }},
        LieCase{"IsWrongWithTwoModels", "run 1 of handle 2, other inputs: gives another",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.alive > 1) q.inputs[0].bytes.assign(q.inputs[0].bytes.size(), {});
                  return std::nullopt;
                }},
        LieCase{"IsWrongAfterARelease", "run 4 of handle 1: gives another",
                [seen = std::make_shared<std::atomic<bool>>(false)](Question& q)
                    -> std::optional<Result<Outputs>> {
                  if (q.alive == 1 && q.model == 1 && q.run == 4) {
                    q.inputs[0].bytes.assign(q.inputs[0].bytes.size(), {});
                  }
                  return std::nullopt;
                }},
        LieCase{"IsWrongOnEightThreads", "8 threads: gives another",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.threads == 8) q.inputs[0].bytes.assign(q.inputs[0].bytes.size(), {});
                  return std::nullopt;
                },
                true},
        LieCase{"IsWrongAtOnce", "at the same time as other handles: gives another",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
                  if (q.running > 1) q.inputs[0].bytes.assign(q.inputs[0].bytes.size(), {});
                  return std::nullopt;
                },
                true},
        LieCase{"KeepsAThirdAnswer", "run 4 of handle 1",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.run == 4) return q.first_outputs;
                  return std::nullopt;
                },
                true},
        LieCase{"IsWrongOnRealZeros", "of handle 1, other inputs: output 'y' differs",
                WrongOnPlain([](std::byte first) { return first == std::byte{3}; }), false, kLong},
        LieCase{"IsWrongOnZeroBytes", "of handle 3, other inputs: output 'y' differs",
                WrongOnPlain([](std::byte first) { return first == std::byte{0}; }), true, kLong},
        LieCase{"IsWrongOnTheLowest", "of handle 3, other inputs: output 'y' differs",
                WrongOnPlain([](std::byte first) { return first == std::byte{0x80}; }), true,
                kLong},
        LieCase{"IsWrongOnTheHighest", "of handle 3, other inputs: output 'y' differs",
                WrongOnPlain([](std::byte first) { return first == std::byte{0x7f}; }), true,
                kLong},
        LieCase{"KnowsInputsByTheirFirst16Bytes", "of handle 3, other inputs: output 'y' differs",
                Cached<std::vector<std::byte>>([](const Question& q) {
                  const auto& bytes = q.inputs[0].bytes;
                  return std::vector<std::byte>(bytes.begin(), bytes.begin() + 16);
                }),
                true, kLong},
        LieCase{"KnowsInputsByTheirShape", "run 2 of handle 1, other inputs: output 'y' differs",
                Cached<format::Dims>([](const Question& q) { return q.inputs[0].dims; }), false,
                kLong},
        LieCase{"KnowsInputsByTheirPlace", "other inputs: output 'y' differs",
                [place = std::make_shared<const std::byte*>(nullptr)](Question& q)
                    -> std::optional<Result<Outputs>> {
                  const bool same = q.place == *place;
                  *place = q.place;
                  if (same && !q.first_outputs.empty()) return q.first_outputs;
                  return std::nullopt;
                },
                false, kLong},
        LieCase{"IsWrongInAnotherThreadThanPrepare", "at the same time as other handles",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.prepared_in != std::this_thread::get_id()) Spoil(q.inputs[0]);
                  return std::nullopt;
                },
                true, kLong},
        LieCase{"IsWrongOfItsThirdModel", "run 1 of handle 3",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.model % 3 == 0) Spoil(q.inputs[0]);
                  return std::nullopt;
                },
                true, kLong},
        LieCase{"IsWrongWhenTakenInTurnThrice", "of handle",
                [turns = std::make_shared<std::pair<int, int>>()](Question& q)
                    -> std::optional<Result<Outputs>> {
                  if (q.running > 1) return std::nullopt;
                  if (turns->first != q.model) ++turns->second;
                  turns->first = q.model;
                  if (turns->second > 3 && q.run > 2) Spoil(q.inputs[0]);
                  return std::nullopt;
                },
                true, kLong},
        LieCase{"KeepsTheLastElement", "other inputs: output 'y' differs",
                [](Question& q) -> std::optional<Result<Outputs>> {
                  if (q.run > 1) q.inputs[0].bytes.back() = q.first_inputs[0].bytes.back();
                  return std::nullopt;
                },
                false, kLong}),
    [](const auto& test) { return std::string(test.param.name); });

std::vector<std::byte> BytesOf(std::span<const Tensor> tensors) {
  std::vector<std::byte> bytes;
  for (const Tensor& tensor : tensors) {
    bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  return bytes;
}

constexpr const char* kSub =
    "id: a\nspec: sub.S1\nwhy: w\nop: {type: Sub}\n"
    "inputs: {x: {type: int8q, scale: 1, data: [1, -20, 37, 14]},"
    " y: {type: int8q, scale: 1, data: [-8, 4, 5, 61]}}\n"
    "expect: {z: {type: int8q, scale: 1, shape: [4]}}\n";

std::vector<std::byte> Masked(std::vector<std::byte> bytes, std::byte mask) {
  for (std::byte& byte : bytes) byte &= mask;
  return bytes;
}

// Answers that are kept by keys that leave something out.  Source: backend_protocol.S21.
INSTANTIATE_TEST_SUITE_P(
    ShortKeys, SessionFault,
    testing::Values(LieCase{"TheSumOfAllBytes", "of handle 3, other inputs",
                            Cached<unsigned>([](const Question& q) {
                              unsigned sum = 0;
                              for (const std::byte byte : BytesOf(q.inputs))
                                sum += std::to_integer<unsigned>(byte);
                              return sum;
                            }),
                            true, kLong},
                    LieCase{"BytesInAnyOrder", "of handle 3, other inputs",
                            Cached<std::vector<std::byte>>([](const Question& q) {
                              auto bytes = BytesOf(q.inputs);
                              std::ranges::sort(bytes);
                              return bytes;
                            }),
                            true, kLong},
                    LieCase{"InputsInAnyOrder", "of handle 3, other inputs",
                            Cached<std::set<std::vector<std::byte>>>([](const Question& q) {
                              return std::set{q.inputs[0].bytes, q.inputs.back().bytes};
                            }),
                            true, kSub},
                    LieCase{"WithoutTheLowestBits", "of handle 3, other inputs",
                            Cached<std::vector<std::byte>>([](const Question& q) {
                              return Masked(BytesOf(q.inputs), std::byte{0xfe});
                            }),
                            true, kLong},
                    LieCase{"WithoutTheHighestBits", "of handle 3, other inputs",
                            Cached<std::vector<std::byte>>([](const Question& q) {
                              return Masked(BytesOf(q.inputs), std::byte{0x7f});
                            }),
                            true, kLong},
                    LieCase{"WithoutTheMiddle", "of handle 3, other inputs",
                            Cached<std::vector<std::byte>>([](const Question& q) {
                              auto bytes = q.inputs[0].bytes;
                              bytes.erase(bytes.begin() + std::ssize(bytes) / 2);
                              return bytes;
                            }),
                            true, kLong}),
    [](const auto& test) { return std::string(test.param.name); });

// State that only some orders of runs show.  Source: backend_protocol.S9, .S21.
INSTANTIATE_TEST_SUITE_P(
    LiesOfState, SessionFault,
    testing::Values(LieCase{"IsWrongOnTwoThreads", "2 threads: gives another",
                            [](Question& q) -> std::optional<Result<Outputs>> {
                              if (q.threads == 2) Spoil(q.inputs[0]);
                              return std::nullopt;
                            },
                            true, kLong},
                    LieCase{"KeepsTheGreatestOfAllRuns", "",
                            [most = std::make_shared<int>(-128)](Question& q)
                                -> std::optional<Result<Outputs>> {
                              int own = -128;
                              for (const std::byte b : q.inputs[0].bytes) {
                                own = std::max<int>(own, static_cast<signed char>(b));
                              }
                              if (own < *most) q.inputs[0].bytes.back() = std::byte{0x55};
                              *most = std::max(*most, own);
                              return std::nullopt;
                            },
                            false, kLong},
                    LieCase{"KnowsInputsByTheFirst", "",
                            Cached<std::vector<std::byte>>([](const Question& q) {
                              return q.inputs[0].bytes;
                            }),
                            true},
                    LieCase{"KnowsInputsByTheOthers", "",
                            Cached<std::vector<std::byte>>([](const Question& q) {
                              return BytesOf(std::span(q.inputs).subspan(1));
                            }),
                            true},  // a plain draw may change scales as well
                    LieCase{"IsWrongAfterTheFifthRun", "",
                            [](Question& q) -> std::optional<Result<Outputs>> {
                              if (q.run > 5) Spoil(q.inputs[0]);
                              return std::nullopt;
                            },
                            true, kLong},
                    LieCase{"IsWrongInEachSecondModel", "",
                            [](Question& q) -> std::optional<Result<Outputs>> {
                              if (q.model % 2 == 0) Spoil(q.inputs[0]);
                              return std::nullopt;
                            },
                            false, kLong},
                    LieCase{"GivesTwoOutputsAtOnce", "",
                            [](Question& q) -> std::optional<Result<Outputs>> {
                              std::this_thread::sleep_for(std::chrono::milliseconds(1));
                              if (q.running == 1 || q.first_outputs.empty()) return std::nullopt;
                              return Outputs{q.first_outputs[0], q.first_outputs[0]};
                            },
                            true, kLong},
                    LieCase{"TurnsDimsAround", "",
                            [](Question& q) -> std::optional<Result<Outputs>> {
                              if (q.run < 3) return std::nullopt;
                              Outputs outputs = q.first_outputs;
                              std::ranges::reverse(outputs[0].dims);
                              return outputs;
                            },
                            false, kLong},
                    LieCase{"IsWrongTheSecondTimeInARow", "",
                            [before = std::make_shared<std::vector<std::byte>>()](Question& q)
                                -> std::optional<Result<Outputs>> {
                              if (q.running > 1) return std::nullopt;
                              const bool same = q.run > 1 && *before == q.inputs[0].bytes;
                              *before = q.inputs[0].bytes;
                              if (same) Spoil(q.inputs[0]);
                              return std::nullopt;
                            },
                            true, kLong},
                    LieCase{"SwapsEqualShapesOfTwoModels", "",
                            [last = std::make_shared<Outputs>()](Question& q)
                                -> std::optional<Result<Outputs>> {
                              if (q.alive < 2 || q.first_outputs.empty()) return std::nullopt;
                              if (last->empty()) *last = q.first_outputs;
                              return *last;
                            },
                            false, kLong}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Session, DrawsOpenShapesAgain) {
  const CaseResult result = ResultOf(
      [](Question& q) -> std::optional<Result<Outputs>> {
        if (q.run == 1 || q.inputs[0].dims == q.first_inputs[0].dims) return std::nullopt;
        return q.first_outputs;
      },
      kOpenShape);
  EXPECT_EQ(result.outcome, Outcome::kFail);
  EXPECT_THAT(result.diagnosis,
              HasSubstr("other inputs: output 'y' has dims [2,2], expected [3,2]"));
}

// It may decline values, if it always does: a report counts such cases.
TEST(Session, SaysThatOtherInputsWereDeclined) {
  const CaseResult result = ResultOf([](Question& q) -> std::optional<Result<Outputs>> {
    if (q.inputs[2].bytes[0] == std::byte{3}) return std::nullopt;
    return Refuse(ErrorCode::kUnsupported);
  });
  EXPECT_EQ(result.outcome, Outcome::kPass);
  EXPECT_EQ(result.diagnosis, kOtherInputsDeclined);
}

// By hand: floats back to front and doubled, integers one nearer to zero, 0 first becomes 1.
TEST(DrawAgain, ChangesEveryInput) {
  const auto cases = ParseCases(kQuantize, "session_test");
  const auto model = BuildModel(cases->at(0));
  const auto candidates = DrawAgain(*model, *BuildInputs(cases->at(0), *model), 1);
  ASSERT_FALSE(candidates.empty());
  const std::vector<Tensor>& drawn = candidates[0];
  EXPECT_THAT(drawn[0].As<float>(), ElementsAre(6, -4, 2));
  EXPECT_THAT(drawn[1].As<float>(), ElementsAre(1));
  EXPECT_THAT(format::UnpackIntegers(drawn[2]), ElementsAre(2));
}

// As draw 1, but for the first input.
TEST(DrawAgain, KeepsTheFirstInputOfOneDraw) {
  const auto cases = ParseCases(kQuantize, "session_test");
  const auto model = BuildModel(cases->at(0));
  const auto inputs = BuildInputs(cases->at(0), *model);
  const auto candidates = DrawAgain(*model, *inputs, kOtherInputsDraw);
  ASSERT_FALSE(candidates.empty());
  const std::vector<Tensor>& drawn = candidates[0];
  EXPECT_EQ(drawn[0], inputs->at(0));
  EXPECT_THAT(drawn[1].As<float>(), ElementsAre(1));
  EXPECT_THAT(format::UnpackIntegers(drawn[2]), ElementsAre(2));
}

// Operands of one type and shape become equal; the condition stays.
TEST(DrawAgain, GivesInputsTheBytesOfTheFirstAlike) {
  const auto cases = ParseCases(
      "{id: a, spec: where.S1, why: w, op: {type: Where},"
      " inputs: {c: {type: bool, data: [1, 0]}, x: {type: int8q, scale: 0.5, data: [1, 2]},"
      " y: {type: int8q, scale: 0.5, data: [3, 4]}}, expect: {z: {type: int8q, scale: 0.5}}}",
      "session_test");
  ASSERT_TRUE(cases.has_value());
  const auto model = BuildModel(cases->at(0));
  auto inputs = *BuildInputs(cases->at(0), *model);
  const auto candidates = DrawAgain(*model, inputs, kSameBytesDraw);
  inputs[2].bytes = inputs[1].bytes;
  EXPECT_THAT(candidates, ElementsAre(inputs));
}

std::vector<std::int64_t> DrawnFirst(const char* yaml, std::int64_t draw) {
  const auto cases = ParseCases(yaml, "session_test");
  const auto model = BuildModel(cases->at(0));
  const auto candidates = DrawAgain(*model, *BuildInputs(cases->at(0), *model), draw);
  return candidates.empty() ? std::vector<std::int64_t>()
                            : format::UnpackIntegers(candidates.at(0).at(0));
}

// -128 of the narrow range is not there, so that 0 keeps its highest bit.
TEST(DrawAgain, ChangesLittle) {
  const char* narrow =
      "{id: a, spec: relu.S1, why: w, op: {type: Relu}, inputs: {x: {type: int8q, scale: 1,"
      " quant_min: -127, data: [-7, 0, 100, -7, 127, -7]}},"
      " expect: {y: {type: int8q, scale: 1, shape: [6]}}}";
  EXPECT_THAT(DrawnFirst(narrow, kExchangedElementsDraw), ElementsAre(127, 0, 100, -7, -7, -7));
  EXPECT_THAT(DrawnFirst(narrow, kLowestBitDraw), ElementsAre(-8, 1, 101, -8, 126, -8));
  EXPECT_THAT(DrawnFirst(narrow, kHighestBitDraw), ElementsAre(121, 0, -28, 121, -1, 121));
  EXPECT_THAT(DrawnFirst(narrow, kMiddleElementDraw), ElementsAre(-7, 0, 100, 127, 127, -7));
  const char* bytes =
      "{id: a, spec: relu.S1, why: w, op: {type: Relu},"
      " inputs: {x: {type: uint8q, scale: 1, data: [5, 200, 129]}},"
      " expect: {y: {type: uint8q, scale: 1, shape: [3]}}}";
  EXPECT_THAT(DrawnFirst(bytes, kHighestBitDraw), ElementsAre(133, 72, 1));
  EXPECT_THAT(DrawnFirst(bytes, kMiddleElementDraw), ElementsAre(5, 0, 129));
  EXPECT_THAT(DrawnFirst(bytes, kExchangedInputsDraw), ElementsAre());
  const char* halfway =
      "{id: a, spec: relu.S1, why: w, op: {type: Relu}, inputs: {x: {type: int8q, scale: 1,"
      " quant_min: -127, data: [5, 0, 6]}}, expect: {y: {type: int8q, scale: 1, shape: [3]}}}";
  EXPECT_THAT(DrawnFirst(halfway, kMiddleElementDraw), ElementsAre(5, 127, 6));
}

TEST(DrawAgain, ChangesLittleOfFloats) {
  const auto cases = ParseCases(kNan, "session_test");
  const auto model = BuildModel(cases->at(0));
  auto inputs = *BuildInputs(cases->at(0), *model);
  inputs[0].As<float>()[0] = 3;
  const auto drawn = [&](std::int64_t draw) {
    const auto candidates = DrawAgain(*model, inputs, draw);
    const auto values = candidates.at(0).at(0).As<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_THAT(drawn(kExchangedElementsDraw), ElementsAre(1, 3));
  EXPECT_THAT(drawn(kLowestBitDraw), ElementsAre(0x1.800002p+1F, 0x1.000002p+0F));
  EXPECT_THAT(drawn(kHighestBitDraw), ElementsAre(-3, -1));
  EXPECT_THAT(drawn(kMiddleElementDraw), ElementsAre(3, 0));
}

TEST(DrawAgain, ExchangesInputs) {
  const auto cases = ParseCases(kSub, "session_test");
  const auto model = BuildModel(cases->at(0));
  auto inputs = *BuildInputs(cases->at(0), *model);
  const auto candidates = DrawAgain(*model, inputs, kExchangedInputsDraw);
  std::swap(inputs[0].bytes, inputs[1].bytes);
  EXPECT_THAT(candidates, ElementsAre(inputs));
}

}  // namespace
}  // namespace qtx::conformance::session_test
