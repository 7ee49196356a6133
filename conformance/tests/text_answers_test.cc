#include "qtx/conformance/text_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "case_digest.h"
#include "qtx/conformance/case.h"
#include "qtx/conformance/text_update.h"
#include "temporary_folder.h"
#include "wrong_backend.h"

namespace qtx::conformance::text_answers_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTwo =
    "0123456789abcdef add/a[x=1, y=2]\n"
    "  00000000000000aa exact tflite\n"
    "  00000000000000bb float32\n"
    "fedcba9876543210 add/b\n"
    "  add.C2 exact\n";

TEST(TextAnswers, AreGroupedByAnswerAndSorted) {
  TextAnswers answers;
  answers.Put("add/b", "exact", "fedcba9876543210", "add.C2");
  answers.Put("add/a[x=1, y=2]", "tflite", "0123456789abcdef", "00000000000000aa");
  answers.Put("add/a[x=1, y=2]", "float32", "0123456789abcdef", "00000000000000bb");
  answers.Put("add/a[x=1, y=2]", "exact", "0123456789abcdef", "00000000000000aa");
  EXPECT_THAT(answers.Text(), testing::EndsWith(std::string("\n") + kTwo));
  EXPECT_EQ(answers.size(), 4);
  EXPECT_EQ(*TextAnswers::Parse(answers.Text(), "f"), answers);
}

TEST(TextAnswers, ConfirmContradictOrAreStale) {
  const TextAnswers answers = *TextAnswers::Parse(kTwo, "f");
  const auto compare = [&](const char* question, std::vector<std::string> given) {
    return answers.Compare("add/a[x=1, y=2]", "tflite", question, given);
  };
  EXPECT_EQ(compare("0123456789abcdef", {"00000000000000aa"}), TextVerdict::kConfirmed);
  EXPECT_EQ(compare("0123456789abcdef", {"x", "00000000000000aa"}), TextVerdict::kConfirmed);
  EXPECT_EQ(compare("0123456789abcdef", {"00000000000000bb"}), TextVerdict::kContradicted);
  EXPECT_EQ(compare("0123456789abcdee", {"00000000000000aa"}), TextVerdict::kStale);
  EXPECT_EQ(answers.Compare("add/b", "tflite", "fedcba9876543210", {}), TextVerdict::kAbsent);
  EXPECT_EQ(answers.Compare("add/c", "exact", "fedcba9876543210", {}), TextVerdict::kAbsent);
}

TEST(TextAnswers, OfAnotherQuestionAreDropped) {
  TextAnswers answers = *TextAnswers::Parse(kTwo, "f");
  answers.Put("add/a[x=1, y=2]", "exact", "1111111111111111", "00000000000000cc");
  EXPECT_EQ(answers.size(), 2);
  EXPECT_EQ(answers.Find("add/a[x=1, y=2]", "float32"), "");
}

TEST(TextAnswers, NameTheLineThatIsWrong) {
  for (const auto& [text, says] : std::vector<std::pair<const char*, const char*>>{
           {"# a\n\n0123 add/a\n", "f:3: expected a digest and a case's id"},
           {"0123456789abcdef\n", "f:1: expected a digest and a case's id"},
           {"  add.C2 exact\n", "f:1: expected an answer and its arithmetics, below a case"},
           {"0123456789abcdef a\n  add.C2\n",
            "f:2: expected an answer and its arithmetics, below a case"},
           {"0123456789abcdef a\n  a.C1 exact exact\n", "f:2: expected each arithmetic once"},
           {"0123456789abcdef a\r\n", "f:1: expected a digest and a case's id"},
           {"0123456789abcdef a\n  a.C1 exact\r\n", "f:2: expected names of spec/arithmetic"},
           {"0123456789abcdef a\n  a.C1 exactly\n", "f:2: expected names of spec/arithmetic"},
           {"0123456789abcdef a\n  other exact\n",
            "f:2: expected an answer and its arithmetics, below a case"},
           {"0123456789abcdef b\n  a.C1 exact\n0123456789abcdef a\n  a.C1 exact\n",
            "f:1: expected '0123456789abcdef a' here: lines are sorted"},
           {"0123456789abcdef a\n  a.C1 exact\n  a.C1 tflite\n",
            "f:2: expected '  a.C1 exact tflite' here: lines are sorted"},
           {"0123456789abcdef a\n  a.C1 tflite exact\n",
            "f:2: expected '  a.C1 exact tflite' here: lines are sorted"},
           {"0123456789abcdef a\n0123456789abcdef a\n", "f:2: expected each case once"}}) {
    const auto answers = TextAnswers::Parse(text, "f");
    ASSERT_FALSE(answers.has_value()) << text;
    EXPECT_EQ(answers.error().Text(), says);
  }
}

class TextAnswersFile : public TemporaryFolder {};

TEST_F(TextAnswersFile, IsInTheSuitesFolder) {
  EXPECT_EQ(TextAnswers::Load(folder())->size(), 0);
  Write("text_answers.txt", kTwo);
  EXPECT_EQ(TextAnswers::Load(folder())->size(), 4);
}

format::Tensor Floats(const std::vector<float>& values) {
  format::Tensor tensor =
      *format::MakeTensor(format::ElementType::kFloat, {std::int64_t(values.size())});
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

// conformance_cases.md, Comparison: NaN equals NaN whatever its payload, and the two zeros.
TEST(AnswerOf, IsOneForWhatCompareFindsEqual) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto digest = [](const std::vector<float>& values) {
    return AnswerOf(std::vector{Floats(values)});
  };
  EXPECT_EQ(digest({0.0F, nan}), digest({-0.0F, -nan}));
  EXPECT_NE(digest({0.0F, nan}), digest({nan, 0.0F}));
  EXPECT_NE(digest({1.0F}), digest({0x1.000002p0F}));
  EXPECT_NE(digest({1.0F}), digest({-1.0F}));
  format::Tensor matrix = Floats({1, 2});
  matrix.dims = {2, 1};
  EXPECT_NE(AnswerOf(std::vector{matrix}), digest({1, 2}));
}

std::vector<Case> Cases() {
  auto cases = ParseCases(
      "{id: id/a, spec: identity.S1, why: w, op: {type: Identity}, arithmetics: [exact, float32],"
      " inputs: {x: {type: int8q, scale: 1.0, data: [1, -2]}}, expect: {y: {type: int8q, scale: "
      "1.0}}}\n"
      "---\n"
      "{id: add/shapes, spec: add.C2, why: w, op: {type: Add}, inputs: {"
      "a: {type: int8q, scale: [1.0], data: [1, 1]}, b: {type: int8q, scale: [1.0], data: [1, 1, "
      "1]}},"
      "expect: {y: {type: int8q, scale: [1.0]}, error: add.C2}}\n",
      "text_answers_test");
  EXPECT_TRUE(cases.has_value()) << cases.error().Text();
  for (std::size_t i = 0; i < cases->size(); ++i)
    (*cases)[i].position = static_cast<std::int64_t>(i);
  return *cases;
}

TEST(UpdateTextAnswers, AsksForEveryCaseInEachArithmetic) {
  const TextUpdate update = *UpdateTextAnswers({}, Cases(), ReferenceSource(), {.jobs = 2});
  EXPECT_EQ(update.computed, 3);
  EXPECT_EQ(update.news.size(), 3U);
  EXPECT_THAT(update.faults, IsEmpty());
  EXPECT_THAT(update.answers.Find("add/shapes", "exact"), testing::EndsWith(" add.C2"));
  EXPECT_THAT(update.answers.Text(), HasSubstr(" exact float32\n"));  // they agree
  const TextUpdate again =
      *UpdateTextAnswers(update.answers, Cases(), ReferenceSource(), {.jobs = 1});
  EXPECT_EQ(again.computed, 3);
  EXPECT_THAT(again.news, IsEmpty());
  EXPECT_EQ(again.answers, update.answers);
}

// "wrong" has exact alone, and answers Identity with 7.
TEST(UpdateTextAnswers, SaysWhatDiffers) {
  const TextAnswers known = UpdateTextAnswers({}, Cases(), ReferenceSource(), {})->answers;
  const BackendSource wrong = WrongBackend("Identity", [](WrongRun& run) { run.stored[0] = 7; });
  const TextUpdate update = *UpdateTextAnswers(known, Cases(), wrong, {});
  EXPECT_THAT(update.news,
              ElementsAre(HasSubstr("id/a @exact: found "), "1 answers are of no case"));
  EXPECT_EQ(update.answers.size(), 2);
}

class Disputes : public TemporaryFolder {};

// A dispute holds for one case in one arithmetic, and says why.
TEST_F(Disputes, ExcuseOneAnswerOfAnother) {
  Write("text_answers.txt", "0123456789abcdef a/b\n  1111111111111111 exact float32\n");
  Write("text_disputes.txt", "# open\na/b @exact  # the text is to change\n");
  const auto answers = TextAnswers::Load(folder());
  ASSERT_TRUE(answers.has_value()) << answers.error().Text();
  const std::vector<std::string> other = {"2222222222222222"}, same = {"1111111111111111"};
  const auto compare = [&](const char* arithmetic, const std::vector<std::string>& outputs) {
    return answers->Compare("a/b", arithmetic, "0123456789abcdef", outputs);
  };
  EXPECT_EQ(compare("exact", other), TextVerdict::kDisputed);
  EXPECT_EQ(compare("float32", other), TextVerdict::kContradicted);
  EXPECT_EQ(compare("exact", same), TextVerdict::kSettled);
  Write("text_disputes.txt", "a/b @exact\n");
  EXPECT_FALSE(TextAnswers::Load(folder()).has_value());
}

TEST(UpdateTextAnswers, KeepsWhatIsKnownOfOtherParts) {
  std::vector<Case> cases = Cases();
  const TextAnswers known = UpdateTextAnswers({}, cases, ReferenceSource(), {})->answers;
  const auto second = [&] {
    return *UpdateTextAnswers(known, cases, ReferenceSource(), {.part = {2, 2}});
  };
  EXPECT_EQ(second().kept, 2);  // id/a in both arithmetics
  EXPECT_EQ(second().computed, 1);
  EXPECT_EQ(second().answers, known);
  cases[0].inputs[0].data->bytes[0] = std::byte{9};  // stale: computed whatever the part
  EXPECT_EQ(second().kept, 0);
  EXPECT_EQ(second().news.size(), 2U);
}

// What is declined is kept as such, so that it is asked again in its part alone.
TEST(UpdateTextAnswers, KeepsWhatIsDeclinedAndNamesFaults) {
  const auto answering = [](ErrorCode code) {
    return WrongBackend("Identity", [code](WrongRun& run) { run.error = Error{code, "n", "m"}; });
  };
  const TextUpdate declined =
      *UpdateTextAnswers({}, Cases(), answering(ErrorCode::kUnsupported), {});
  EXPECT_EQ(declined.declined, 1);
  EXPECT_EQ(declined.answers.size(), 2);
  const std::string answer = declined.answers.Find("id/a", "exact");
  ASSERT_THAT(answer, testing::EndsWith(" declined"));
  const std::vector<std::string> outputs = {"0123456789abcdef"};
  EXPECT_EQ(declined.answers.Compare("id/a", "exact", answer.substr(0, 16), outputs),
            TextVerdict::kAbsent);
  const TextUpdate faulty = *UpdateTextAnswers({}, Cases(), answering(ErrorCode::kInternal), {});
  EXPECT_THAT(faulty.faults, ElementsAre("id/a @exact: n: m"));
}

}  // namespace
}  // namespace qtx::conformance::text_answers_test
