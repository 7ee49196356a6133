#include "qtx/format/shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace qtx::format {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// 4 * (2^62) wraps to 0, 3 * (2^63 - 1) to a positive number, when it is multiplied first.
TEST(ElementCount, RefusesProductsThatDoNotFit64Bits) {
  for (const Dims& dims : {Dims{4, std::int64_t{1} << 62}, Dims{3, kLargest}, Dims{kLargest, 2}}) {
    const auto count = ElementCount(dims);
    ASSERT_FALSE(count.has_value());
    EXPECT_EQ(count.error().code, ErrorCode::kTooLarge);
  }
}

TEST(ElementCount, OfAnEmptyAxisIsZero) { EXPECT_EQ(*ElementCount(Dims{7, 0, 3}), 0); }

}  // namespace
}  // namespace qtx::format
