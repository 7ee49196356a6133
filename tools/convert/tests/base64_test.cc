#include "../src/base64.h"

#include <gtest/gtest.h>

namespace qtx::convert::base64_test {
namespace {

// Source: RFC 4648, section 10.
TEST(Base64, GivesTheVectorsOfItsStandard) {
  const std::pair<std::string, std::string> kVectors[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text).value(), bytes);
  }
  EXPECT_EQ(ToBase64(std::string("\xff\xfe\x00", 3)), "//4A");
}

TEST(Base64, RefusesWhatNoBytesGive) {
  // Too short, no digit, padding inside, only padding, bits that no byte has.
  for (const char* text : {"Zg=", "Zm9*", "Zg==Zg==", "====", "Zh=="}) {
    EXPECT_FALSE(FromBase64(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace qtx::convert::base64_test
