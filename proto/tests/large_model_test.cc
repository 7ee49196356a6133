// Models whose weights stay in files: in the model's own, and beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "qtx/format/limits.h"
#include "qtx/format/model.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;

class LargeModel : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string Bytes(const std::string& path) {
    return ReadFile(path, kMaxModelBytes).value_or("unreadable");
  }

  // `size` bytes of UINT8 that differ from their neighbours.
  static TensorData Weights(const std::string& name, std::int64_t size) {
    Tensor tensor = *MakeTensor(ElementType::kUint8, {size});
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i)
      tensor.bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
    return ToTensorData(name, tensor);
  }

  static Model Make(std::vector<TensorData> initializers) {
    Model model;
    model.ir_version = 10;
    model.opset_imports = {{"", 21}};
    model.graph.name = "g";
    model.graph.initializers = std::move(initializers);
    return model;
  }

  fs::path folder_;
};

constexpr std::int64_t kLarge = FileBytes::kMapped + 12345;

TEST_F(LargeModel, LeavesItsWeightsInTheFileAndWritesThemBack) {
  const Model made =
      Make({Weights("small", 100), Weights("large", kLarge), Weights("last", 70000)});
  ASSERT_TRUE(made.Save(Path("a.onnx")).has_value());
  const auto model = Model::Load(Path("a.onnx"));
  ASSERT_TRUE(model.has_value());
  const auto& list = model->graph.initializers;
  EXPECT_FALSE(list[0].raw_data.has_value());
  ASSERT_TRUE(list[1].raw_data.has_value());
  EXPECT_EQ(list[1].raw_data->size, kLarge);
  EXPECT_LT(list[1].wire.size(), 100U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(Decode(list[i])->bytes, Decode(made.graph.initializers[i])->bytes) << i;
  EXPECT_EQ(*model->Serialize(), *made.Serialize());
  ASSERT_TRUE(model->Save(Path("b.onnx")).has_value());
  EXPECT_TRUE(Bytes(Path("b.onnx")) == Bytes(Path("a.onnx")));
  // Over the file that the weights come from.
  ASSERT_TRUE(model->Save(Path("a.onnx")).has_value());
  EXPECT_TRUE(Bytes(Path("b.onnx")) == Bytes(Path("a.onnx")));
}

TEST_F(LargeModel, SaysWhenTheFileHasBecomeShorter) {
  ASSERT_TRUE(Make({Weights("large", kLarge)}).Save(Path("a.onnx")).has_value());
  const auto model = Model::Load(Path("a.onnx"));
  ASSERT_TRUE(model.has_value());
  fs::resize_file(Path("a.onnx"), 1000);
  const auto tensor = Decode(model->graph.initializers[0]);
  ASSERT_FALSE(tensor.has_value());
  EXPECT_EQ(tensor.error().code, ErrorCode::kUnreadable);
  EXPECT_EQ(tensor.error().where, Path("a.onnx"));
  const auto saved = model->Save(Path("b.onnx"));
  ASSERT_FALSE(saved.has_value());
  EXPECT_FALSE(fs::exists(Path("b.onnx")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(LargeModel, RefusesATruncatedFile) {
  ASSERT_TRUE(Make({Weights("large", kLarge)}).Save(Path("a.onnx")).has_value());
  const auto size = static_cast<std::int64_t>(fs::file_size(Path("a.onnx")));
  for (const std::int64_t cut : {std::int64_t{1}, std::int64_t{10}, std::int64_t{12000}}) {
    fs::resize_file(Path("a.onnx"), static_cast<std::uintmax_t>(size - cut));
    const auto model = Model::Load(Path("a.onnx"));
    ASSERT_FALSE(model.has_value()) << cut;
    EXPECT_EQ(model.error().code, ErrorCode::kInvalid);
  }
}

// A field of a length-delimited type, shorter than 128 bytes.
std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// TensorProto: dims 1, data_type 2, name 8, external_data 13 {key 1, value 2}, data_location 14.
TensorData External(const std::string& name, std::int64_t size, const std::string& location) {
  const std::string entry = Field(1, "location") + Field(2, location);
  std::string wire = "\x08" + std::string(1, static_cast<char>(size)) + "\x10\x02";
  wire += Field(8, name) + Field(13, entry) + "\x70\x01";
  return *ParseTensorData(wire);
}

TEST_F(LargeModel, TakesExternalDataAlong) {
  fs::create_directories(Path("from/parts"));
  std::ofstream(Path("from/parts/w.bin")) << "0123456789";
  ASSERT_TRUE(Make({External("w", 10, "parts/w.bin")}).Save(Path("from/m.onnx")).has_value());
  auto model = Model::Load(Path("from/m.onnx"));
  ASSERT_TRUE(model.has_value());
  fs::create_directories(Path("to"));
  std::int64_t last = 0, all = 0;
  const auto saved = model->Save(Path("to/m.onnx"), [&](std::int64_t done, std::int64_t total) {
    last = done;
    all = total;
  });
  ASSERT_TRUE(saved.has_value()) << saved.error().message;
  EXPECT_EQ(last, all);
  EXPECT_EQ(Bytes(Path("to/parts/w.bin")), "0123456789");
  EXPECT_EQ(Bytes(Path("to/m.onnx")), Bytes(Path("from/m.onnx")));
  // Once more finds it there.
  EXPECT_TRUE(model->Save(Path("to/m.onnx")).has_value());
}

// A file of external data goes along whole, since other models may share it; its holes take no
// room.
TEST_F(LargeModel, LeavesTheHolesOfExternalData) {
  constexpr std::uintmax_t kSize = std::uintmax_t{1} << 40;
  for (const char* folder : {"from", "to"}) fs::create_directories(folder_ / folder);
  const std::string from = Path("from/w.bin"), to = Path("to/w.bin");
  std::ofstream(from) << "0123456789";
  fs::resize_file(from, kSize / 2);
  std::ofstream(from, std::ios::app) << "in the middle";
  fs::resize_file(from, kSize);
  ASSERT_TRUE(Make({External("w", 10, "w.bin")}).Save(Path("from/m.onnx")).has_value());
  ASSERT_TRUE(Model::Load(Path("from/m.onnx"))->Save(Path("to/m.onnx")).has_value());
  ASSERT_EQ(fs::file_size(to), kSize);
  std::string bytes(10, ' ');
  std::ifstream(to).read(bytes.data(), 10);
  EXPECT_EQ(bytes, "0123456789");
  bytes.resize(13);
  std::ifstream(to).seekg(kSize / 2).read(bytes.data(), 13);
  EXPECT_EQ(bytes, "in the middle");
}

TEST_F(LargeModel, DoesNotOverwriteOtherExternalData) {
  fs::create_directories(Path("from"));
  fs::create_directories(Path("to"));
  std::ofstream(Path("from/w.bin")) << "0123456789";
  std::ofstream(Path("to/w.bin")) << "0123456780";
  Model model = Make({External("w", 10, "w.bin")});
  model.folder = Path("from");
  const auto saved = model.Save(Path("to/m.onnx"));
  ASSERT_FALSE(saved.has_value());
  EXPECT_THAT(saved.error().message, ::testing::HasSubstr("other content"));
  EXPECT_EQ(Bytes(Path("to/w.bin")), "0123456780");
  EXPECT_FALSE(fs::exists(Path("to/m.onnx")));
}

// Another process writes the file while this one copies it.
TEST_F(LargeModel, DoesNotOverwriteExternalDataThatComesMeanwhile) {
  for (const std::string folder : {"from", "same", "other"}) fs::create_directories(Path(folder));
  std::ofstream(Path("from/w.bin")) << "0123456789";
  Model model = Make({External("w", 10, "w.bin")});
  model.folder = Path("from");
  const auto save = [&](const std::string& folder, const std::string& content) {
    return model.Save(Path(folder + "/m.onnx"), [&](std::int64_t, std::int64_t) {
      std::ofstream(Path(folder + "/w.bin")) << content;
    });
  };
  EXPECT_TRUE(save("same", "0123456789").has_value());
  const auto saved = save("other", "0123456780");
  ASSERT_FALSE(saved.has_value());
  EXPECT_THAT(saved.error().message, ::testing::HasSubstr("other content"));
  EXPECT_EQ(Bytes(Path("other/w.bin")), "0123456780");
  EXPECT_EQ(std::distance(fs::directory_iterator(Path("other")), fs::directory_iterator()), 1);
}

// AttributeProto: t 5, g 6; GraphProto: initializer 5, sparse_initializer 15; SparseTensorProto:
// values 1; ModelProto: functions 25; FunctionProto: node 7; NodeProto: attribute 5.
TEST_F(LargeModel, ExaminesExternalDataOfSubgraphsFunctionsAndSparseTensors) {
  const std::string tensor = External("w", 10, "w.bin").wire;
  Model subgraph = Make({}), function = Make({}), sparse = Make({});
  subgraph.graph.nodes = {{.name = "n", .op_type = "If", .attributes = {{.name = "then_branch"}}}};
  subgraph.graph.nodes[0].attributes[0].unknown_fields = Field(6, Field(5, tensor));
  const std::string body = Field(7, Field(5, Field(5, tensor)));
  function.unknown_fields = "\xCA\x01" + std::string(1, static_cast<char>(body.size())) + body;
  sparse.graph.unknown_fields = Field(15, Field(1, tensor));
  const std::pair<Model*, std::string> models[] = {
      {&subgraph, "node 'n': attribute 'then_branch': tensor 'w'"},
      {&function, "model: tensor 'w'"},
      {&sparse, "graph: tensor 'w'"}};
  fs::create_directories(Path("from"));
  for (const auto& [model, place] : models) {
    model->folder = Path("from");
    const auto checked = CheckExternalData(*model);
    ASSERT_FALSE(checked.has_value()) << place;
    EXPECT_EQ(checked.error().code, ErrorCode::kUnreadable);
    EXPECT_TRUE(checked.error().where.starts_with(place)) << checked.error().where;
  }
  std::ofstream(Path("from/w.bin")) << "0123456789";
  for (const auto& [model, place] : models) {
    EXPECT_TRUE(CheckExternalData(*model).has_value()) << place;
    fs::create_directories(Path("to"));
    EXPECT_TRUE(model->Save(Path("to/m.onnx")).has_value()) << place;
    EXPECT_EQ(Bytes(Path("to/w.bin")), "0123456789") << place;
    fs::remove_all(Path("to"));
  }
}

TEST_F(LargeModel, LetsNoExternalDataLeaveTheFolder) {
  fs::create_directories(Path("from"));
  fs::create_directories(Path("to"));
  std::ofstream(Path("secret")) << "0123456789";
  fs::create_symlink(Path("secret"), Path("from/link"));
  for (const std::string& location :
       {std::string("../secret"), std::string("link"), std::string("/etc/passwd"), std::string(),
        std::string("a\0/../secret", 12)}) {
    Model model = Make({External("w", 10, location)});
    model.folder = Path("from");
    EXPECT_EQ(model.Save(Path("to/m.onnx")).error().code, ErrorCode::kInvalid) << location;
    EXPECT_EQ(CheckCarrier(model.graph.initializers[0], Path("from")).error().code,
              ErrorCode::kInvalid)
        << location;
  }
  EXPECT_TRUE(fs::is_empty(Path("to")));
}

}  // namespace
}  // namespace qtx::format
