// Guests that are small shell scripts, each broken in its own way.
#include "process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace qtx::conformance {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

Result<std::string> Ask(const std::string& script, std::chrono::milliseconds timeout = 5s,
                        const std::string& frame = "ask") {
  QTX_ASSIGN_OR_RETURN(const auto process, Process::Start({"sh", "-c", script}));
  return process->Exchange(frame, timeout);
}

Error ErrorOf(const std::string& script, std::chrono::milliseconds timeout = 5s) {
  const auto answer = Ask(script, timeout);
  return answer ? Error{ErrorCode::kInvalid, "", "answered " + *answer} : answer.error();
}

TEST(SplitCommand, GroupsQuotesAndEscapes) {
  EXPECT_THAT(*SplitCommand("a  'b c' \"d 'e'\" f\\ g ''"),
              ElementsAre("a", "b c", "d 'e'", "f g", ""));
  EXPECT_FALSE(SplitCommand("a 'b").has_value());
  EXPECT_FALSE(SplitCommand("  ").has_value());
  EXPECT_FALSE(SplitCommand("''").has_value());
}

TEST(Process, ExchangesFrames) {
  // The request is 3 bytes after its length; the answer is 2.
  const auto answer = Ask("head -c 4 >/dev/null; printf '\\002ok'; cat >/dev/null");
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(*answer, "ok");
}

TEST(Process, CarriesLargeFramesBothWaysAtOnce) {
  // `cat` answers while the request is still being written: 4 MiB is far beyond a pipe's buffer.
  const auto process = Process::Start({"cat"});
  ASSERT_TRUE(process.has_value());
  const std::string frame(std::size_t{4} << 20, 'x');
  for (int i = 0; i < 2; ++i) {
    const auto answer = (*process)->Exchange(frame, 20s);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    EXPECT_EQ(*answer, frame);
  }
}

// Source: backend_protocol.S19.
TEST(Process, NamesTheSignalOfACrash) {
  const Error error = ErrorOf("echo last words >&2; kill -SEGV $$");
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_THAT(error.message, HasSubstr("SIGSEGV"));
  EXPECT_THAT(error.message, HasSubstr("last words"));
}

TEST(Process, NamesTheStatusOfAnEarlyExit) {
  EXPECT_EQ(ErrorOf("exit 0").code, ErrorCode::kIo);
  EXPECT_THAT(ErrorOf("exit 7").message, HasSubstr("status 7"));
}

// Source: backend_protocol.S18.
TEST(Process, GivesUpOnAHangAndKillsIt) {
  const auto start = std::chrono::steady_clock::now();
  const Error error = ErrorOf("sleep 100 & sleep 100", 200ms);
  EXPECT_EQ(error.code, ErrorCode::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(Process, GivesUpOnAGuestThatTricklesBytes) {
  EXPECT_EQ(ErrorOf("printf '\\100'; while printf x; do sleep 0.05; done", 300ms).code,
            ErrorCode::kTimeout);
}

TEST(Process, ShowsWhatCameBeforeADeadline) {
  EXPECT_THAT(ErrorOf("echo hello; sleep 100", 300ms).message,
              HasSubstr("6 bytes came, beginning 'hello\\n'"));
}

TEST(Process, GivesUpOnAGuestThatNeverReads) {
  const auto answer = Ask("sleep 100", 300ms, std::string(std::size_t{8} << 20, 'x'));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
}

TEST(Process, RefusesAnOversizedFrameBeforeReadingIt) {
  const Error error = ErrorOf("printf '\\377\\377\\377\\377\\017'; sleep 100");
  EXPECT_EQ(error.code, ErrorCode::kProtocol);
  EXPECT_THAT(error.message, HasSubstr("longer than"));
}

TEST(Process, RefusesAnEndlessLength) {
  EXPECT_EQ(ErrorOf("printf '\\200\\200\\200\\200\\200\\200\\200\\200'; sleep 100").code,
            ErrorCode::kProtocol);
}

TEST(Process, RefusesAFrameCutShort) {
  const Error error = ErrorOf("printf 'hello'; exit 0");
  EXPECT_EQ(error.code, ErrorCode::kProtocol);
  EXPECT_THAT(error.message, HasSubstr("cut a frame short"));
}

TEST(Process, RefusesBytesAfterTheAnswer) {
  const Error error = ErrorOf("head -c 4 >/dev/null; printf '\\001ab'; sleep 100");
  EXPECT_EQ(error.code, ErrorCode::kProtocol);
  EXPECT_THAT(error.message, HasSubstr("after the answer"));
}

TEST(Process, KeepsTheEndOfTheErrorOutput) {
  const auto process = Process::Start(
      {"sh", "-c", "head -c 4 >/dev/null; head -c 9000 /dev/zero >&2; echo end >&2; printf '\\0'"});
  ASSERT_TRUE(process.has_value());
  ASSERT_TRUE((*process)->Exchange("ask", 5s).has_value());
  const std::string output = (*process)->TakeErrorOutput();
  EXPECT_EQ(output.size(), kMaxErrorOutput);
  EXPECT_THAT(output, testing::EndsWith("end\n"));
  EXPECT_EQ((*process)->TakeErrorOutput(), "");
}

TEST(Process, RefusesWhatCannotBeginAFrameAtOnce) {
  const auto process =
      Process::Start({"sh", "-c", "echo hello; sleep 100"},
                     {.limit_of = [](char first) -> std::int64_t { return first == 'x'; }});
  ASSERT_TRUE(process.has_value());
  const auto answer = (*process)->Exchange("ask", 20s);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(answer.error().message, HasSubstr("beginning 'hello\\n'"));
}

// 2^20 + 1 is the varint 81 80 40. Neither this program nor the other writes the rest.
TEST(Process, RefusesALongFrameByItsFirstByte) {
  const auto process = Process::Start(
      {"sh", "-c", "printf '\\201\\200\\100x'; sleep 100"},
      {.frame_limit = 1 << 19, .limit_of = [](char) -> std::int64_t { return 1 << 20; }});
  ASSERT_TRUE(process.has_value());
  const auto answer = (*process)->Exchange("ask", 20s);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(answer.error().message,
            "found a frame of 1048577 bytes, expected at most 524288; --frame-limit raises it");
}

// Source: backend_protocol.S3.
TEST(Process, SurvivesAFloodOfErrorOutput) {
  const auto answer =
      Ask("head -c 4 >/dev/null; head -c 3000000 /dev/zero >&2; printf '\\002ok'; cat >/dev/null");
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(*answer, "ok");
}

TEST(Process, SaysWhenAProgramCannotBeStarted) {
  const auto process = Process::Start({"/no/such/program"});
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().code, ErrorCode::kIo);
  EXPECT_THAT(process.error().where, HasSubstr("/no/such/program"));
}

}  // namespace
}  // namespace qtx::conformance
