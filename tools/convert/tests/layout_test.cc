#include "layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qtx::convert::layout_test {
namespace {

using testing::ElementsAre;

// [1,2,2,3] to [1,3,2,2]: channel c of pixel p, once 3p + c, comes to 4c + p.
TEST(Permute, MovesElementsOfEveryWidth) {
  using enum format::ElementType;
  for (const auto type : {kInt8, kInt16, kInt32, kInt64, kInt4}) {
    format::Tensor nhwc = *format::MakeTensor(type, {1, 2, 2, 3});
    format::PackIntegers(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4}, nhwc);
    const format::Tensor nchw = Permute(nhwc, NhwcToNchw());
    EXPECT_THAT(nchw.dims, ElementsAre(1, 3, 2, 2));
    EXPECT_THAT(format::UnpackIntegers(nchw), ElementsAre(0, 3, 6, -2, 1, 4, 7, -3, 2, 5, -1, -4));
    EXPECT_EQ(Permute(nchw, NchwToNhwc()), nhwc);
  }
}

TEST(Permute, MovesTheAxesOfATypeWithItsDimensions) {
  format::TensorType type;
  type.shape = format::ToShape(format::Dims{1, 3, 5, 8});
  type.quantization.emplace();
  type.quantization->axis = {3};
  type.statistics.emplace();
  type.statistics->axis = {3};
  const format::TensorType moved = Permute(type, DepthwiseToOihw());
  EXPECT_THAT(*format::FixedDims(*moved.shape), ElementsAre(8, 1, 3, 5));
  EXPECT_THAT(moved.quantization->axis, ElementsAre(0));
  EXPECT_THAT(moved.statistics->axis, ElementsAre(0));
}

}  // namespace
}  // namespace qtx::convert::layout_test
