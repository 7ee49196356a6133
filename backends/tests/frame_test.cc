#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "qtx/backend/protocol.h"

namespace qtx::backend {
namespace {

/// A pipe; either end may be closed early.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int read_fd() const { return ends_[0]; }
  int write_fd() const { return ends_[1]; }
  void CloseRead() { Close(ends_[0]); }
  void CloseWrite() { Close(ends_[1]); }
  void Put(std::string_view bytes) {
    EXPECT_EQ(write(write_fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }

 private:
  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

// Sizes around each further byte of the length, and past a pipe's buffer.
// Source: backend_protocol.S1.
TEST(Frame, ArrivesAsItWasSent) {
  for (const std::size_t size : {0U, 1U, 127U, 128U, 16383U, 16384U, 3000000U}) {
    Pipe pipe;
    std::string sent(size, 'x');
    if (size > 0) sent.back() = 'y';
    std::thread writer([&] { EXPECT_TRUE(WriteFrame(pipe.write_fd(), sent).has_value()); });
    const auto received = ReadFrame(pipe.read_fd(), 10000);
    writer.join();
    ASSERT_TRUE(received.has_value() && received->has_value()) << size;
    EXPECT_EQ(**received, sent);
  }
}

TEST(Frame, CleanEndOfFileIsNoFrame) {
  Pipe pipe;
  pipe.CloseWrite();
  const auto frame = ReadFrame(pipe.read_fd());
  ASSERT_TRUE(frame.has_value());
  EXPECT_FALSE(frame->has_value());
}

TEST(Frame, CutShortIsAProtocolError) {
  for (const std::string_view bytes : {std::string_view("\x85"), std::string_view("\x05"
                                                                                  "abc")}) {
    Pipe pipe;
    pipe.Put(bytes);
    pipe.CloseWrite();
    const auto frame = ReadFrame(pipe.read_fd());
    ASSERT_FALSE(frame.has_value());
    EXPECT_EQ(frame.error().code, ErrorCode::kProtocol);
  }
}

// 2^30 + 1 bytes, and a length that never ends: refused before anything is allocated.
// Source: backend_protocol.S2.
TEST(Frame, TooLongALengthIsAProtocolError) {
  for (const std::string_view bytes :
       {std::string_view("\x81\x80\x80\x80\x04"),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        std::string_view("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80")}) {
    Pipe pipe;
    pipe.Put(std::string(bytes.data(), bytes.size()));
    const auto frame = ReadFrame(pipe.read_fd());
    ASSERT_FALSE(frame.has_value());
    EXPECT_EQ(frame.error().code, ErrorCode::kProtocol);
  }
}

TEST(Frame, SilentPeerTimesOut) {
  Pipe pipe;
  EXPECT_EQ(ReadFrame(pipe.read_fd(), 20).error().code, ErrorCode::kTimeout);
  pipe.Put(
      "\x05"
      "ab");  // part of a frame, then silence
  EXPECT_EQ(ReadFrame(pipe.read_fd(), 20).error().code, ErrorCode::kTimeout);
}

TEST(Frame, PeerThatDoesNotReadTimesOut) {
  Pipe pipe;
  const std::string large(1 << 20, 'x');  // more than a pipe holds
  EXPECT_EQ(WriteFrame(pipe.write_fd(), large, 20).error().code, ErrorCode::kTimeout);
}

TEST(Frame, PeerThatIsGoneIsAnErrorAndNotASignal) {
  Pipe pipe;
  pipe.CloseRead();
  EXPECT_EQ(WriteFrame(pipe.write_fd(), "x").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace qtx::backend
