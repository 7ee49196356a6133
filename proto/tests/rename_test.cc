#include "qtx/format/rename.h"

#include <gtest/gtest.h>

namespace qtx::format::rename_test {
namespace {

TEST(Renamed, ChangesTheNameAndNothingElse) {
  const Tensor tensor = *MakeTensor(ElementType::kInt8, {3});
  const TensorData before = ToTensorData("w", tensor);
  const auto long_name = Renamed(before, std::string(300, 'n'));  // its length takes two bytes
  ASSERT_TRUE(long_name.has_value());
  const auto parsed = ParseTensorData(long_name->wire);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->name, std::string(300, 'n'));
  EXPECT_EQ(parsed->dims, before.dims);
  EXPECT_EQ(*Renamed(*long_name, "w"), before);
}

TEST(Renamed, RefusesBytesThatAreNoFields) {
  TensorData data;
  for (const std::string& wire :
       {std::string("\x42\x7f"), std::string("\x0b"), std::string("\xff\xff")}) {
    data.wire = wire;
    EXPECT_FALSE(Renamed(data, "n").has_value());
  }
}

}  // namespace
}  // namespace qtx::format::rename_test
