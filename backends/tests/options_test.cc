#include "qtx/backend/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qtx::backend {
namespace {

using testing::HasSubstr;

TEST(OptionsTest, GivesWhatIsThereAndTheFallbackElsewhere) {
  const auto options = Options::Parse("kernels=avx2,threads=2", {"kernels", "threads", "isa"});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->Text("kernels"), "avx2");
  EXPECT_EQ(*options->Threads(), 2);
  EXPECT_EQ(options->Text("isa", "any"), "any");
  EXPECT_EQ(*options->Integer("isa", 7, 1, 9), 7);
}

TEST(OptionsTest, NoOptionsAreFine) {
  const auto options = Options::Parse("", {});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(*options->Threads(), 1);
}

TEST(OptionsTest, AValueMayHoldAnEqualsSign) {
  EXPECT_EQ(Options::Parse("k=a=b", {"k"})->Text("k"), "a=b");
}

struct Refusal {
  const char* text;
  const char* where;
  const char* message;
};
class OptionsRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(OptionsRefusalTest, NamesTheKeyAndWhatIsExpected) {
  const auto options = Options::Parse(GetParam().text, {"kernels", "threads"});
  const Error error = options.has_value() ? options->Threads().error() : options.error();
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_EQ(error.where, GetParam().where);
  EXPECT_THAT(error.message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, OptionsRefusalTest,
    testing::Values(
        Refusal{"thread=2", "option 'thread'", "expected kernels, threads"},
        Refusal{"threads", "option 'threads'", "expected key=value"},
        Refusal{"threads=", "option 'threads'", "expected key=value"},
        Refusal{"=2", "option ''", "expected kernels, threads"},
        Refusal{"threads=2,", "option ''", "last comma"},
        Refusal{"threads=2,threads=3", "option 'threads'", "twice"},
        Refusal{"threads=0", "option 'threads'", "found '0', expected an integer from 1"},
        Refusal{"threads=2x", "option 'threads'", "found '2x'"},
        Refusal{"threads=99999999999999999999", "option 'threads'", "expected an int"}));

}  // namespace
}  // namespace qtx::backend
