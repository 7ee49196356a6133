#include "qtx/backend/serve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "qtx/backend/protocol.h"

namespace qtx::backend {
namespace {

/// Answers Run with its inputs.
class Echo : public Backend {
 public:
  class Prepared : public PreparedModel {
    Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
      return std::vector<format::Tensor>(inputs.begin(), inputs.end());
    }
  };
  Result<Description> Describe() override { return Description{"echo", "1", {"exact"}, "test"}; }
  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model&,
                                                 std::string_view arithmetic) override {
    if (arithmetic != "exact") return Error{ErrorCode::kUnsupported, "arithmetic", "only exact"};
    return std::make_unique<Prepared>();
  }
};

/// Serves requests from a file to a file: status and responses.
struct Session {
  int status = 0;
  std::vector<Response> responses;
};

Session ServeBytes(const std::string& bytes) {
  std::FILE* in = std::tmpfile();
  std::FILE* out = std::tmpfile();
  EXPECT_EQ(write(fileno(in), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  lseek(fileno(in), 0, SEEK_SET);
  Echo echo;
  Session session;
  session.status = Serve(echo, fileno(in), fileno(out));
  lseek(fileno(out), 0, SEEK_SET);
  while (true) {
    const auto frame = ReadFrame(fileno(out));
    EXPECT_TRUE(frame.has_value());
    if (!frame.has_value() || !frame->has_value()) break;
    session.responses.push_back(*DecodeResponse(**frame));
  }
  std::fclose(in);
  std::fclose(out);
  return session;
}

std::string Framed(const std::string& message) {
  EXPECT_LT(message.size(), 128U);
  return static_cast<char>(message.size()) + message;
}
std::string Framed(const Request& request) { return Framed(Encode(request)); }

std::string EmptyModel() {
  format::Model model;
  model.ir_version = 8;
  return *model.Serialize();
}

// Source: backend_protocol.S4, backend_protocol.S6, backend_protocol.S7 and backend_protocol.S8;
// backend_protocol.S9, backend_protocol.S10 and backend_protocol.S11.
TEST(Serve, AnswersEachRequestInTurn) {
  auto tensor = format::MakeTensor(format::ElementType::kInt8, {2});
  const Session session =
      ServeBytes(Framed(DescribeRequest{}) + Framed(PrepareRequest{EmptyModel(), "exact"}) +
                 Framed(RunRequest{1, {*tensor}}) + Framed(ReleaseRequest{1}) +
                 Framed(RunRequest{1, {*tensor}}));
  EXPECT_EQ(session.status, 0);
  ASSERT_EQ(session.responses.size(), 5U);
  EXPECT_EQ(std::get<Description>(session.responses[0]).name, "echo");
  EXPECT_EQ(std::get<PrepareResponse>(session.responses[1]).handle, 1U);
  EXPECT_EQ(std::get<RunResponse>(session.responses[2]).outputs[0], *tensor);
  EXPECT_TRUE(std::holds_alternative<ReleaseResponse>(session.responses[3]));
  EXPECT_EQ(std::get<Error>(session.responses[4]).code, ErrorCode::kInvalid);
}

// Source: backend_protocol.S5, backend_protocol.S15 and backend_protocol.S17.
TEST(Serve, GoesOnAfterWhatItRefuses) {
  const Session session = ServeBytes(Framed(PrepareRequest{"not a model", "exact"}) +
                                     Framed(PrepareRequest{EmptyModel(), "float32"}) +
                                     Framed(std::string("\xff\xff")) + Framed(DescribeRequest{}));
  EXPECT_EQ(session.status, 0);
  ASSERT_EQ(session.responses.size(), 4U);
  EXPECT_TRUE(std::holds_alternative<Error>(session.responses[0]));
  EXPECT_EQ(std::get<Error>(session.responses[1]).code, ErrorCode::kUnsupported);
  EXPECT_EQ(std::get<Error>(session.responses[2]).code, ErrorCode::kProtocol);
  EXPECT_TRUE(std::holds_alternative<Description>(session.responses[3]));
}

// Source: backend_protocol.S22.
TEST(Serve, TimesAsManyRepetitionsAsAreAskedFor) {
  auto tensor = format::MakeTensor(format::ElementType::kInt8, {2});
  constexpr std::uint32_t kTooMany = 0xFFFFFFFF;  // must not be taken for -1, nor allocated
  const Session session =
      ServeBytes(Framed(PrepareRequest{EmptyModel(), "exact"}) +
                 Framed(RunRequest{1, {*tensor}, 3}) + Framed(RunRequest{1, {*tensor}, kTooMany}) +
                 Framed(RunRequest{2, {*tensor}, 3}) + Framed(RunRequest{1, {*tensor}, 0}));
  ASSERT_EQ(session.responses.size(), 5U);
  EXPECT_EQ(std::get<RunResponse>(session.responses[1]).seconds.size(), 3U);
  EXPECT_EQ(std::get<Error>(session.responses[2]).code, ErrorCode::kInvalid);
  EXPECT_EQ(std::get<Error>(session.responses[2]).where, "request.run.repetitions");
  EXPECT_EQ(std::get<Error>(session.responses[3]).where, "request.handle");
  EXPECT_EQ(std::get<RunResponse>(session.responses[4]).outputs[0], *tensor);
  EXPECT_TRUE(std::get<RunResponse>(session.responses[4]).seconds.empty());
}

TEST(Serve, StopsWithStatusThreeAtAMalformedFrame) {
  testing::internal::CaptureStderr();
  const Session session = ServeBytes(Framed(DescribeRequest{}) +
                                     "\x7f"
                                     "short");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "stdin: frame: end of file inside the frame\n");
  EXPECT_EQ(session.status, 3);
  ASSERT_EQ(session.responses.size(), 2U);
  EXPECT_EQ(std::get<Error>(session.responses[1]).code, ErrorCode::kProtocol);
}

TEST(Serve, StopsWithStatusFourWhereNobodyReads) {
  std::array<int, 2> in{}, out{};
  ASSERT_EQ(pipe(in.data()), 0);
  ASSERT_EQ(pipe(out.data()), 0);
  const std::string request = Framed(DescribeRequest{});
  ASSERT_EQ(write(in[1], request.data(), request.size()), static_cast<ssize_t>(request.size()));
  close(out[0]);
  Echo echo;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Serve(echo, in[0], out[1]), 4);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "stdout: frame: write: Broken pipe\n");
  for (const int end : {in[0], in[1], out[1]}) close(end);
}

}  // namespace
}  // namespace qtx::backend
