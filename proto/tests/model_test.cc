#include "qtx/format/model.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "qtx/format/check.h"
#include "qtx/format/limits.h"
#include "tests/samples.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A folder of this test's own, removed with it.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("qtx_model_test_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t Files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string ToText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += f.rule + " " + f.where + ": " + f.message + "\n";
  return text;
}

TEST(Model, AnyValidModelKeepsEveryRuleAndSurvivesWritingAndReading) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Model model = RandomModel(seed);
    ASSERT_EQ(ToText(Check(model)), "") << seed;
    const auto bytes = model.Serialize();
    ASSERT_TRUE(bytes.has_value());
    const auto read = Model::Parse(*bytes);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    ASSERT_EQ(*read, model) << seed;
    ASSERT_EQ(*read->Serialize(), *bytes) << seed;
  }
}

// Source: quantization.S4 and versioning.S1.
TEST(Model, KeepsUnknownFieldsOfEveryMessage) {
  const std::string future = "\xA2\x7D\x02hi";  // field 2004, two bytes
  Model model = MatMulModel();
  model.graph.nodes[0].origin.emplace().framework = "f";
  model.graph.nodes[0].attributes = {Attribute::Int("i", 1)};
  model.graph.values[0].type->statistics.emplace().source = "s";
  for (std::string* fields :
       {&model.unknown_fields, &model.graph.unknown_fields, &model.graph.nodes[0].unknown_fields,
        &model.graph.nodes[0].origin->unknown_fields,
        &model.graph.nodes[0].attributes[0].unknown_fields, &model.graph.values[0].unknown_fields,
        &model.graph.values[0].type_unknown_fields, &model.graph.values[0].type->unknown_fields,
        &model.graph.values[0].type->shape->at(0).unknown_fields,
        &model.graph.values[0].type->quantization->unknown_fields,
        &model.graph.values[0].type->statistics->unknown_fields}) {
    *fields = future;
  }
  const auto read = Model::Parse(*model.Serialize());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, model);
}

TEST(Model, ParseSaysWhatIsWrongAndWhere) {
  const auto empty = Model::Parse("", "net.onnx");
  EXPECT_EQ(empty.error().where, "net.onnx");
  EXPECT_THAT(empty.error().message, HasSubstr("empty"));
  EXPECT_THAT(Model::Parse("\x89PNG\r\n\x1a\n").error().message, HasSubstr("ONNX model"));
  EXPECT_THAT(Model::Parse("\x08\x08").error().message, HasSubstr("graph"));  // ir_version alone
}

TEST(Model, ParseNamesTheTensorAndTheNodeThatAreNone) {
  Model model = MatMulModel();
  model.graph.initializers[0].wire = "\x08";  // a field without its value
  EXPECT_EQ(Model::Parse(*model.Serialize(), "f").error().where, "f: graph.initializer[0]");
  model = MatMulModel();
  model.graph.nodes[0].attributes = {
      Attribute{.name = "value",
                .type = AttributeType::kTensor,
                .s = {},
                .t = TensorData{.name = {}, .dims = {}, .wire = "\x08"},
                .floats = {},
                .ints = {},
                .strings = {},
                .unknown_fields = {}}};
  EXPECT_EQ(Model::Parse(*model.Serialize(), "f").error().where,
            "f: graph.node[0]: attribute 'value'");
}

TEST(Model, NoTruncationCrashes) {
  const std::string bytes = *RandomModel(5, 6).Serialize();
  std::size_t refused = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto model = Model::Parse(std::string_view(bytes).substr(0, length));
    if (!model.has_value()) ++refused;
    if (model.has_value()) Check(*model);
  }
  EXPECT_GT(refused, bytes.size() / 2);
}

TEST(Model, NoFlippedBitCrashes) {
  std::mt19937_64 random(3);
  const std::string originals[] = {*RandomModel(11, 3).Serialize(), *MatMulModel().Serialize()};
  for (const std::string& original : originals) {
    for (int i = 0; i < 20000; ++i) {
      std::string bytes = original;
      for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
        bytes[random() % bytes.size()] ^= static_cast<char>(1U << (random() % 8));
      }
      const auto model = Model::Parse(bytes);
      if (!model.has_value()) continue;
      Check(*model);
      const auto written = model->Serialize();
      ASSERT_TRUE(written.has_value());
      ASSERT_TRUE(Model::Parse(*written).has_value());
    }
  }
}

TEST(Model, SaveAndLoadKeepTheModelAndItsFolder) {
  const Folder folder;
  const Model model = RandomModel(1);
  ASSERT_TRUE(model.Save(folder / "a.onnx").has_value());
  const auto read = Model::Load(folder / "a.onnx");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->folder, fs::path(folder / "a.onnx").parent_path());
  Model expected = model;
  expected.folder = read->folder;
  EXPECT_EQ(*read, expected);
  EXPECT_EQ(folder.Files(), 1U);
}

TEST(Model, LoadNamesTheFileItCannotRead) {
  const Folder folder;
  for (const std::string& path : {folder / "missing.onnx", folder / ""}) {
    const auto model = Model::Load(path);
    EXPECT_EQ(model.error().code, ErrorCode::kUnreadable);
    EXPECT_EQ(model.error().where, path);
  }
  std::ofstream(folder / "empty.onnx").flush();
  EXPECT_EQ(Model::Load(folder / "empty.onnx").error().where, folder / "empty.onnx");
}

TEST(WriteFileAtomically, ReplacesAFileAndLeavesNothingBesideIt) {
  const Folder folder;
  ASSERT_TRUE(WriteFileAtomically(folder / "f", "old, and longer").has_value());
  ASSERT_TRUE(WriteFileAtomically(folder / "f", "new").has_value());
  EXPECT_EQ(*ReadFile(folder / "f", 100), "new");
  EXPECT_EQ(folder.Files(), 1U);
}

TEST(WriteFileAtomically, KeepsTheModeOfTheFileItReplaces) {
  const Folder folder;
  ASSERT_TRUE(WriteFileAtomically(folder / "f", "old").has_value());
  for (const auto mode : {fs::perms(0600), fs::perms(0664), fs::perms(0444)}) {
    fs::permissions(folder / "f", mode);
    ASSERT_TRUE(WriteFileAtomically(folder / "f", "new").has_value());
    EXPECT_EQ(fs::status(folder / "f").permissions(), mode);
  }
}

// A killed writer's lock is gone, that of a living one is not; other files are somebody's own.
TEST(WriteFileAtomically, RemovesTheLeftoversOfKilledWritersOnly) {
  const Folder folder;
  for (const char* name : {"f.qtx-0.tmp", "f.qtx-1.tmp", "f.qtx-2.tmp", "g.qtx-0.tmp", "f.tmp"})
    std::ofstream(folder / name) << "half";
  const int living = open((folder / "f.qtx-1.tmp").c_str(), O_RDWR);
  ASSERT_EQ(flock(living, LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE(WriteFileAtomically(folder / "f", "new").has_value());
  EXPECT_EQ(*ReadFile(folder / "f", 100), "new");
  EXPECT_EQ(*ReadFile(folder / "f.qtx-1.tmp", 100), "half");
  EXPECT_FALSE(fs::exists(folder / "f.qtx-0.tmp"));
  EXPECT_FALSE(fs::exists(folder / "f.qtx-2.tmp"));
  EXPECT_EQ(folder.Files(), 4U);
  close(living);
}

TEST(WriteFileAtomically, TakesTheLongestNameOfAFileSystem) {
  const Folder folder;
  ASSERT_TRUE(WriteFileAtomically(folder / std::string(255, 'n'), "new").has_value());
  EXPECT_EQ(folder.Files(), 1U);
}

TEST(FileLock, KeepsAnotherRunOutUntilItsEnd) {
  const Folder folder;
  {
    const auto lock = FileLock::Take(folder / "f");
    ASSERT_TRUE(lock.has_value());
    const auto second = FileLock::Take(folder / "f");
    EXPECT_EQ(second.error().code, ErrorCode::kIo);
    EXPECT_EQ(second.error().where, folder / "f");
    EXPECT_TRUE(FileLock::Take(folder / "g").has_value());
  }
  EXPECT_TRUE(FileLock::Take(folder / "f").has_value());
  EXPECT_EQ(folder.Files(), 0U);
}

TEST(FileLock, FollowsNoLink) {
  const Folder folder;
  fs::create_symlink("elsewhere", folder / "f.qtx-lock");
  const auto lock = FileLock::Take(folder / "f");
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().code, ErrorCode::kIo);
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

TEST(WriteFileAtomically, WritesThroughALinkAndIntoAPipe) {
  const Folder folder;
  ASSERT_TRUE(WriteFileAtomically(folder / "file", "old").has_value());
  fs::create_symlink("file", folder / "link");
  ASSERT_TRUE(WriteFileAtomically(folder / "link", "new").has_value());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(*ReadFile(folder / "file", 100), "new");

  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR);  // both ends, so that nobody waits
  ASSERT_TRUE(WriteFileAtomically(pipe, "bytes").has_value());
  std::string read(5, '?');
  EXPECT_EQ(::read(reader, read.data(), read.size()), 5);
  EXPECT_EQ(read, "bytes");
  EXPECT_TRUE(fs::is_fifo(pipe));
  close(reader);
}

TEST(WriteFileAtomically, KeepsALinkWhoseFileIsNotThere) {
  const Folder folder;
  fs::create_symlink("file", folder / "link");
  fs::create_symlink("link", folder / "outer");
  ASSERT_TRUE(WriteFileAtomically(folder / "outer", "new").has_value());
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_TRUE(fs::is_symlink(folder / "outer"));
  EXPECT_EQ(*ReadFile(folder / "file", 100), "new");

  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(WriteFileAtomically(folder / "loop", "new").error().code, ErrorCode::kIo);
  EXPECT_TRUE(fs::is_symlink(folder / "loop"));
}

TEST(WriteFileAtomically, WritesIntoAnOpenFileThatHasNoName) {
  const Folder folder;
  const std::string name = folder / "file";
  const int file = open(name.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::write(file, "longer", 6), 6);
  ASSERT_EQ(unlink(name.c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically("/proc/self/fd/" + std::to_string(file), "new").has_value());
  std::string read(7, '?');
  EXPECT_EQ(pread(file, read.data(), read.size(), 0), 3);
  EXPECT_EQ(read, "new????");
  EXPECT_EQ(folder.Files(), 0U);
  close(file);
}

TEST(WriteFileAtomically, LeavesNothingWhenItFails) {
  const Folder folder;
  fs::create_directories(folder / "target/inside");
  const auto onto_folder = WriteFileAtomically(folder / "target", "x");
  EXPECT_EQ(onto_folder.error().code, ErrorCode::kIo);
  EXPECT_EQ(onto_folder.error().where, folder / "target");
  EXPECT_EQ(folder.Files(), 1U);
  EXPECT_EQ(WriteFileAtomically(folder / "no/such/folder", "x").error().code, ErrorCode::kIo);
}

TEST(ReadFile, RefusesMoreThanItsLimit) {
  const Folder folder;
  ASSERT_TRUE(WriteFileAtomically(folder / "f", "12345").has_value());
  EXPECT_EQ(*ReadFile(folder / "f", 5), "12345");
  EXPECT_EQ(ReadFile(folder / "f", 4).error().code, ErrorCode::kTooLarge);
}

// Source: graph.S1.
TEST(LoadInitializer, GivesStorageTheTypeOfItsDeclaration) {
  const Model model = MatMulModel();
  const auto w = LoadInitializer(model, "w");
  ASSERT_TRUE(w.has_value()) << w.error().message;
  EXPECT_EQ(w->elem_type, ElementType::kInt8Q);
  EXPECT_EQ(w->quantization, model.graph.values[0].type->quantization);
  EXPECT_EQ(UnpackIntegers(*w)[1], 7);
}

TEST(LoadInitializer, ResolvesParametersKeptInInitializers) {
  Model model = MatMulModel();
  Quantization& q = *model.graph.values[0].type->quantization;
  Tensor scale = *MakeTensor(ElementType::kFloat, {4});
  std::ranges::copy(q.scale, scale.As<float>().begin());
  model.graph.initializers.push_back(ToTensorData("w/scale", scale));
  model.graph.initializers.push_back(Stored("w/offset", ElementType::kInt8, {4}, {1, -2, 3, -4}));
  const auto scales = std::exchange(q.scale, {});
  q.scale_tensor = "w/scale";
  q.offset_tensor = "w/offset";
  EXPECT_EQ(ToText(Check(model)), "");
  const auto w = LoadInitializer(model, "w");
  ASSERT_TRUE(w.has_value()) << w.error().message;
  EXPECT_EQ(w->quantization->scale, scales);
  EXPECT_THAT(w->quantization->offset, ElementsAre(1, -2, 3, -4));
  EXPECT_TRUE(w->quantization->scale_tensor.empty() && w->quantization->offset_tensor.empty());
}

TEST(LoadInitializer, ReadsBipolarBitsFromBytes) {
  Model model = MatMulModel();
  model.graph.values = {Value("w", ElementType::kBipolar1Q, {3, 4}, PerTensor(0.5F))};
  Tensor signs = *MakeTensor(ElementType::kBipolar1Q, {3, 4}, PerTensor(0.5F));
  PackIntegers(std::vector<std::int64_t>{1, -1, 1, 1, -1, -1, 1, 1, 1, -1, -1, 1}, signs);
  model.graph.initializers = {ToTensorData("w", signs)};
  EXPECT_EQ(model.graph.initializers[0].data_type, ElementType::kUint8);
  EXPECT_THAT(model.graph.initializers[0].dims, ElementsAre(2));
  EXPECT_EQ(*LoadInitializer(model, "w"), signs);
  EXPECT_EQ(ToText(Check(model)), "");
}

TEST(LoadInitializer, RefusesWhatItsDeclarationDoesNotSay) {
  Model model = MatMulModel();
  EXPECT_THAT(LoadInitializer(model, "absent").error().where, HasSubstr("'absent'"));
  model.graph.initializers = {
      Stored("w", ElementType::kUint8, {3, 4}, std::vector<std::int64_t>(12))};
  EXPECT_EQ(LoadInitializer(model, "w").error().message, "found UINT8, expected INT8");
  model.graph.initializers = {
      Stored("w", ElementType::kInt8, {4, 3}, std::vector<std::int64_t>(12))};
  EXPECT_EQ(LoadInitializer(model, "w").error().message, "found [4,3], expected [3,4]");
  model = MatMulModel();
  model.graph.values[0].type->quantization->scale.pop_back();
  EXPECT_THAT(LoadInitializer(model, "w").error().message, HasSubstr("found 3 values, expected 4"));
}

}  // namespace
}  // namespace qtx::format
