#include "qtx/format/npy.h"

#include <gtest/gtest.h>

#include "tests/samples.h"

namespace qtx::format {
namespace {

std::string Npy(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0', static_cast<char>(header.size()), '\0'};
  if (version > 1) bytes += {'\0', '\0'};
  return bytes + header + data;
}

TEST(Npy, ReadsTheVersionsNumpyWrites) {
  const std::string header = "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 3), }\n";
  for (const char version : {'\1', '\2', '\3'}) {
    const auto tensor = ParseNpy(Npy(header, "\x01\xFF\x03", version));
    ASSERT_TRUE(tensor.has_value()) << tensor.error().message;
    EXPECT_EQ(tensor->dims, (Dims{1, 3}));
    EXPECT_EQ(UnpackIntegers(*tensor), (std::vector<std::int64_t>{1, -1, 3}));
  }
}

TEST(Npy, ReadsBackWhatItWrites) {
  for (const Dims& dims : {Dims{}, Dims{4}, Dims{2, 3}, Dims{0, 5}, Dims{1, 1, 1, 2}}) {
    Tensor tensor = *MakeTensor(ElementType::kFloat, dims);
    for (std::size_t i = 0; i < tensor.As<float>().size(); ++i)
      tensor.As<float>()[i] = 0.1F * static_cast<float>(i);
    const auto bytes = ToNpy(tensor);
    ASSERT_TRUE(bytes.has_value());
    EXPECT_EQ(bytes->find('\n') % 64, 63U);  // the elements are aligned
    EXPECT_EQ(*ParseNpy(*bytes), tensor);
  }
}

TEST(Npy, WidensWhatNumpyLacks) {
  Tensor tensor = *MakeTensor(ElementType::kInt4Q, {3}, Quantization{});
  PackIntegers(std::vector<std::int64_t>{-8, 7, -1}, tensor);
  const auto read = ParseNpy(*ToNpy(tensor));
  EXPECT_EQ(read->elem_type, ElementType::kInt8);
  EXPECT_EQ(UnpackIntegers(*read), (std::vector<std::int64_t>{-8, 7, -1}));
}

// numpy.asfortranarray([[[1, 2], [3, 4], [5, 6]]]) holds its columns: 1 3 5, then 2 4 6.
TEST(Npy, TurnsFortranOrder) {
  const auto read = ParseNpy(
      Npy("{'descr': '|i1', 'fortran_order': True, 'shape': (1, 3, 2), }", "\1\3\5\2\4\6"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->dims, (Dims{1, 3, 2}));
  EXPECT_EQ(UnpackIntegers(*read), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, RefusesWhatIsNotThatShape) {
  const std::string good = "{'descr': '|i1', 'fortran_order': False, 'shape': (1, 3), }\n";
  const std::pair<std::string, const char*> bad[] = {
      {"", "expected a NumPy .npy file"},
      {Npy(good, "12"), "found 2 bytes, expected 3"},
      {Npy("{'descr': '>i2', 'fortran_order': False, 'shape': (1,), }", "12"), "big-endian"},
      {Npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1"), "found elements"},
      {Npy("{'descr': '|i1', 'fortran_order': False, 'shape': (-1,), }", "1"), "non-negative"},
      {Npy("{'descr': '|i1', 'fortran_order': False, 'shape': (99999999999, 99999999999), }", "1"),
       "at most"},
      {Npy("{'descr': '|i1'}", ""), "fortran_order"},
      {Npy("{'descr': '|i1', 'order': False, 'shape': (1,), }", "1"),
       "found 'order', expected one"},
      {Npy("{'descr': '|i1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", "1"),
       "found 'descr' twice"},
      {Npy("{'descr': '|i1', 'fortran_order': 0, 'shape': (1,), }", "1"), "True or False"},
      {Npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1 2), }", "1"), "comma in 'shape'"},
      {Npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1,), } x", "1"), "text after"},
      {Npy("['descr']", "1"), "expected a dictionary"},
      {Npy("{'descr': '|i1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
           "1"),
       "more than 16 dimensions"},
  };
  for (const auto& [bytes, message] : bad) {
    const auto tensor = ParseNpy(bytes);
    ASSERT_FALSE(tensor.has_value()) << message;
    EXPECT_NE(tensor.error().message.find(message), std::string::npos) << tensor.error().message;
  }
}

}  // namespace
}  // namespace qtx::format
