// Large tensors that are made for a model, in a file beside it.
#include "qtx/format/data_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "qtx/format/limits.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::int64_t kBytes = 70000;  // above 64 KiB, no multiple of 64

Tensor Bytes(std::int64_t size, int seed) {
  Tensor tensor = *MakeTensor(ElementType::kUint8, {size});
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i)
    tensor.bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<std::size_t>(seed));
  return tensor;
}

class DataFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        ("DataFile" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::ptrdiff_t Files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  // A model of a small and two large tensors in `file`.
  static Model Make(DataFile& file) {
    Model model;
    model.ir_version = 10;
    model.opset_imports = {{"", 21}};
    model.graph.name = "g";
    model.graph.initializers = {*file.Add("small", Bytes(100, 0)), *file.Add("a", Bytes(kBytes, 1)),
                                *file.Add("b", Bytes(kBytes, 2))};
    return model;
  }

  static void ExpectTensors(const std::string& path) {
    const auto model = Model::Load(path);
    ASSERT_TRUE(model.has_value()) << model.error().Text();
    const auto& list = model->graph.initializers;
    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(Decode(list[0], model->folder)->bytes, Bytes(100, 0).bytes);
    EXPECT_EQ(Decode(list[1], model->folder)->bytes, Bytes(kBytes, 1).bytes);
    EXPECT_EQ(Decode(list[2], model->folder)->bytes, Bytes(kBytes, 2).bytes);
  }

  fs::path folder_;
};

// 70000 bytes, 16 to the next multiple of 64 (1094 * 64 = 70016), 70000 bytes.
TEST_F(DataFileTest, HoldsWhatIsTooMuchForTheModel) {
  DataFile file(Path("m.onnx"), "", kBytes);
  const Model model = Make(file);
  EXPECT_TRUE(Decode(model.graph.initializers[2])->bytes == Bytes(kBytes, 2).bytes);
  ASSERT_TRUE(file.Save(model).has_value());
  EXPECT_EQ(fs::file_size(Path("m.onnx.data")), 140016U);
  EXPECT_LT(fs::file_size(Path("m.onnx")), 1000U);
  EXPECT_EQ(Files(), 2);
  ExpectTensors(Path("m.onnx"));
}

TEST_F(DataFileTest, IsNotThereWhereTheModelHoldsAll) {
  DataFile file(Path("m.onnx"));
  ASSERT_TRUE(file.Save(Make(file)).has_value());
  EXPECT_FALSE(fs::exists(Path("m.onnx.data")));
  ExpectTensors(Path("m.onnx"));
}

TEST_F(DataFileTest, LeavesNothingWhenNoModelIsSaved) {
  {
    DataFile file(Path("new/m.onnx"), Path("new"), kBytes);
    Make(file);
    EXPECT_EQ(Files(), 1);
  }
  EXPECT_EQ(Files(), 0);
}

TEST_F(DataFileTest, ReplacesThatOfTheModelAlone) {
  for (int i = 0; i < 2; ++i) {
    DataFile file(Path("m.onnx"), "", kBytes);
    ASSERT_TRUE(file.Save(Make(file)).has_value()) << i;
  }
  fs::remove(Path("m.onnx"));
  DataFile file(Path("m.onnx"), "", kBytes);
  const auto saved = file.Save(Make(file));
  ASSERT_FALSE(saved.has_value());
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_THAT(saved.error().message, HasSubstr("exists without a model"));
  EXPECT_FALSE(fs::exists(Path("m.onnx")));
}

// What is read while the new file is written must not be replaced by it.
TEST_F(DataFileTest, DoesNotReplaceWhatTheModelReads) {
  {
    DataFile file(Path("m.onnx"), "", kBytes);
    ASSERT_TRUE(file.Save(Make(file)).has_value());
  }
  Model model = *Model::Load(Path("m.onnx"));
  DataFile file(Path("m.onnx"), "", kBytes);
  model.graph.initializers.push_back(*file.Add("c", Bytes(2 * kBytes, 3)));
  const auto saved = file.Save(model);
  ASSERT_FALSE(saved.has_value());
  EXPECT_EQ(saved.error().code, ErrorCode::kIo);
  EXPECT_THAT(saved.error().message, HasSubstr("m.onnx.data"));
  ExpectTensors(Path("m.onnx"));
}

}  // namespace
}  // namespace qtx::format
