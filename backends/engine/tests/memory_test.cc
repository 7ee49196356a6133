// The memory block of buffers, layouts, and the thread pool.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <stdexcept>

#include "engine/buffer.h"
#include "engine/threads.h"

namespace qtx::backend::engine {
namespace {

format::Tensor Bytes(std::int64_t n) {
  return {.elem_type = format::ElementType::kUint8, .dims = {n}, .quantization = {}, .bytes = {}};
}

TEST(Arena, LetsOnlyValuesThatNeverMeetShareAddresses) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    Arena arena;
    std::vector<Buffer*> values;
    for (std::size_t now = 0; now < 20; ++now) {
      for (unsigned i = 0; i <= random() % 3; ++i) {
        const auto buffer = arena.Add(Bytes(1 + static_cast<std::int64_t>(random() % 5000)),
                                      Layout::kRowMajor, now);
        ASSERT_TRUE(buffer.has_value());
        Arena::Use(**buffer, now + random() % 4);
        values.push_back(*buffer);
      }
    }
    arena.Place();
    for (const Buffer* a : values) {
      for (const Buffer* b : values) {
        if (a == b || a->last < b->first || b->last < a->first) continue;
        EXPECT_TRUE(a->data + a->size + kReadAhead <= b->data ||
                    b->data + b->size + kReadAhead <= a->data);
      }
    }
  }
}

// A chain where each value lives for two steps needs room for two.
TEST(Arena, NeedsTwoPlacesForAChain) {
  Arena arena;
  for (std::size_t now = 0; now < 10; ++now) {
    const auto buffer = arena.Add(Bytes(6400), Layout::kRowMajor, now);
    ASSERT_TRUE(buffer.has_value());
    Arena::Use(**buffer, now + 1);
  }
  arena.Place();
  EXPECT_EQ(arena.bytes(), 2 * (6400 + kReadAhead));
}

TEST(ChangeLayout, MovesChannelsLastAndBack) {
  const format::Dims dims{2, 3, 5, 7};
  std::vector<std::byte> from(2 * 3 * 5 * 7);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = std::byte(i);
  std::vector<std::byte> last(from.size());
  ChangeLayout(from.data(), Layout::kRowMajor, dims, 1, 0x80, last.data());
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < 35; ++p) {
        EXPECT_EQ(last[(n * 35 + p) * 3 + c], from[(n * 3 + c) * 35 + p] ^ std::byte{0x80});
      }
    }
  }
  std::vector<std::byte> back(from.size());
  ChangeLayout(last.data(), Layout::kChannelsLast, dims, 1, 0x80, back.data());
  EXPECT_EQ(back, from);
}

TEST(Threads, CallEveryIndexOnce) {
  for (const int count : {1, 2, 5}) {
    Threads threads(count);
    EXPECT_EQ(threads.count(), count);
    for (const std::int64_t n : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
      for (int again = 0; again < 50; ++again) {
        threads.For(n, 1'000'000, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
      }
      for (const auto& c : calls) EXPECT_EQ(c, 50);
    }
  }
}

TEST(Threads, ThrowTheExceptionOfATaskInTheCallersThread) {
  Threads threads(3);
  const auto fail = [](std::int64_t) { throw std::runtime_error("task"); };
  for (int again = 0; again < 50; ++again) {
    EXPECT_THROW(threads.For(8, 1'000'000, fail), std::runtime_error);
  }
  std::atomic<int> calls = 0;
  threads.For(8, 1'000'000, [&](std::int64_t) { ++calls; });
  EXPECT_EQ(calls, 8);
}

}  // namespace
}  // namespace qtx::backend::engine
