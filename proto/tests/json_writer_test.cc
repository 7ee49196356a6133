// JSON by hand, as RFC 8259 has it.
#include "qtx/format/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace qtx::format {
namespace {

using Layout = JsonWriter::Layout;

constexpr std::int64_t kExact = std::int64_t{1} << 53;

void WriteAll(JsonWriter& writer) {
  writer.BeginObject();
  writer.Field("text", "a\"b\\\n");
  writer.Field("flag", true);
  writer.Field("real", 0.5);
  writer.Field("small", kExact);
  writer.Field("large", -kExact - 1);
  writer.Field("unsigned", std::numeric_limits<std::uint64_t>::max());
  writer.Field("list", std::vector<std::int32_t>{1, -2});
  writer.Null("none");
  writer.Object("object", [&] { writer.Field("k", 1); });
  writer.Objects("objects", std::vector<int>{7, 8}, [&](int n) { writer.Field("n", n); });
  writer.Key("raw");
  writer.Raw("[0]");
  writer.EndObject();
}

// For ourselves: every digit.
TEST(JsonWriter, WritesALine) {
  JsonWriter writer(Layout::kLine);
  WriteAll(writer);
  EXPECT_EQ(writer.Text(),
            R"({"text":"a\"b\\\n","flag":true,"real":0.5,"small":9007199254740992,)"
            R"("large":-9007199254740993,"unsigned":18446744073709551615,"list":[1,-2],)"
            R"("none":null,"object":{"k":1},"objects":[{"n":7},{"n":8}],"raw":[0]})");
}

// For programs: beyond 2^53 a string.
TEST(JsonWriter, WritesADocument) {
  JsonWriter writer;
  WriteAll(writer);
  EXPECT_EQ(writer.Text(), R"({
 "text": "a\"b\\\n",
 "flag": true,
 "real": 0.5,
 "small": 9007199254740992,
 "large": "-9007199254740993",
 "unsigned": "18446744073709551615",
 "list": [
  1,
  -2
 ],
 "none": null,
 "object": {
  "k": 1
 },
 "objects": [
  {
   "n": 7
  },
  {
   "n": 8
  }
 ],
 "raw": [0]
})");
}

TEST(JsonWriter, HasNoNumberThatIsNotFinite) {
  JsonWriter writer(Layout::kLine);
  writer.Value(std::vector<double>{std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN(), -1.5});
  EXPECT_EQ(writer.Text(), "[null,null,-1.5]");
}

}  // namespace
}  // namespace qtx::format
