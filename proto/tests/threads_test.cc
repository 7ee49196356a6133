#include "qtx/format/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace qtx::format {
namespace {

TEST(Threads, ThrowTheirExceptionInTheCallersThread) {
  std::atomic<int> calls = 0;
  const auto work = [&calls] {
    if (++calls == 2) throw std::runtime_error("second");
  };
  EXPECT_THROW(InThreads(3, work), std::runtime_error);
  EXPECT_EQ(calls, 3);
}

TEST(Threads, CallOnceWhereNoneIsAskedFor) {
  int calls = 0;
  InThreads(0, [&calls] { ++calls; });
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace qtx::format
