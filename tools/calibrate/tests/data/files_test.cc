// Which files are samples, and what of them fits an input.
#include "tests/data/files.h"

#include <gmock/gmock.h>

#include <cmath>

#include "qtx/calibrate/npz.h"

namespace qtx::calibrate {
namespace {

using format::Dims;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::unique_ptr<Samples> Open(const format::Model& model, const std::vector<std::string>& paths,
                              const DataOptions& options = {}) {
  auto samples = OpenFiles(model, paths, options);
  EXPECT_TRUE(samples.has_value()) << samples.error().where << samples.error().message;
  return samples.has_value() ? *std::move(samples) : nullptr;
}

std::vector<std::string> NamesOf(const Samples& samples) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < samples.size(); ++i) names.push_back(samples.Name(i));
  return names;
}

TEST(Files, AreInTheOrderOfTheirNamesWhereverTheyAre) {
  const auto folder = TestFolder();
  const std::string one = *format::ToNpy(Floats({1, 2}, {1, 2}));
  const std::string two = *format::ToNpy(Floats({2, 2}, {3, 4, 5, 6}));
  for (const std::string place : {"here", "there"}) {
    WriteBytes(folder / place / "b.npy", one);
    WriteBytes(folder / place / "sub/a.NPY", two);
    WriteBytes(folder / place / "a.npy", one);
    WriteBytes(folder / place / "notes.txt", "no sample");
  }
  const format::Model model = ModelOf({{"x", {1, 2}}});
  const auto here = Open(model, {(folder / "here").string()});
  EXPECT_THAT(NamesOf(*here), ElementsAre("a.npy", "b.npy", "sub/a.NPY#0", "sub/a.NPY#1"));
  EXPECT_THAT(ValuesOf((*here->Read(3))[0]), ElementsAre(5, 6));
  const auto there = Open(model, {(folder / "there").string()});
  EXPECT_EQ(here->Digest(), there->Digest());
  const std::string a = (folder / "here/a.npy").string(), b = (folder / "here/b.npy").string();
  EXPECT_EQ(Open(model, {a, b})->Digest(), Open(model, {b, a})->Digest());
  EXPECT_NE(Open(model, {a})->Digest(), Open(model, {b})->Digest());
  EXPECT_EQ(OpenFiles(model, std::vector{a, a}, {}).error().message, "is given twice");
  WriteBytes(folder / "there/b.npy", two);
  EXPECT_NE(Open(model, {(folder / "there").string()})->Digest(), there->Digest());
}

// Dims of an array, of the input (-1: no size), of a sample, and how many there are (0: misfit).
TEST(Files, SplitArraysAlongALeadingDimension) {
  const auto folder = TestFolder();
  const struct {
    Dims array, input, sample;
    std::int64_t count;
  } rows[] = {
      {{1, 2}, {1, 2}, {1, 2}, 1},
      {{2}, {1, 2}, {1, 2}, 1},
      {{3, 2}, {1, 2}, {1, 2}, 3},
      {{4, 2}, {2, 2}, {2, 2}, 2},
      {{3, 2}, {2, 2}, {}, 0},
      {{3, 2}, {-1, 2}, {1, 2}, 3},
      {{2}, {-1, 2}, {1, 2}, 1},
      {{2}, {2, 2}, {}, 0},
      {{1, 3}, {1, 2}, {}, 0},
      {{1, 1, 2}, {1, 2}, {}, 0},
      {{2, 3}, {1, -1}, {1, 3}, 2},
      {{}, {}, {}, 1},
      {{3, 2, 2}, {1, 2, 2}, {1, 2, 2}, 3},
  };
  for (const auto& row : rows) {
    format::Tensor array = *format::MakeTensor(format::ElementType::kFloat, row.array);
    const std::string path = WriteBytes(folder / "a.npy", *format::ToNpy(array));
    const auto samples = Open(ModelOf({{"x", row.input}}), {path});
    const std::string what = format::ToString(row.array) + " for " + format::ToString(row.input);
    if (row.count == 0) {
      EXPECT_THAT(Complaint(samples->Read(0)), StartsWith("shape: ")) << what;
      continue;
    }
    EXPECT_EQ(samples->size(), row.count) << what;
    const Sample last = samples->Read(samples->size() - 1);
    ASSERT_TRUE(last.has_value()) << what << Complaint(last);
    EXPECT_EQ((*last)[0].dims, row.sample) << what;
  }
}

TEST(Files, TakeTheShapeOfAnOption) {
  const auto folder = TestFolder();
  const std::string path =
      WriteBytes(folder / "a.npy", *format::ToNpy(Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})));
  const format::Model model = ModelOf({{"x", {-1, 2}}});
  EXPECT_EQ(Open(model, {path})->size(), 4);
  EXPECT_EQ(Open(model, {path}, {.shapes = {"2,2"}})->size(), 2);
  const auto whole = Open(model, {path}, {.shapes = {"x=?,2"}});
  EXPECT_EQ(whole->size(), 1);
  EXPECT_EQ((*whole->Read(0))[0].dims, (Dims{4, 2}));
  for (const char* wrong : {"", "a", "1,", "0,2", "y=1", "1,2,", "99999999999999999999"}) {
    EXPECT_THAT(OpenFiles(model, std::vector{path}, {.shapes = {wrong}}).error().where,
                StartsWith("--shape"))
        << wrong;
  }
}

// 2^-24 is a FLOAT16 subnormal, 1 + 2^-24 a DOUBLE tie that goes to even.
TEST(Files, WidenHalvesAndRoundDoubles) {
  const auto folder = TestFolder();
  format::Tensor half = *format::MakeTensor(format::ElementType::kFloat16, {1});
  half.As<std::uint16_t>()[0] = 1;
  format::Tensor reals = *format::MakeTensor(format::ElementType::kDouble, {1});
  reals.As<double>()[0] = 1 + std::ldexp(1.0, -24);
  WriteBytes(folder / "a.npy", *format::ToNpy(half));
  WriteBytes(folder / "b.npy", *format::ToNpy(reals));
  const auto samples = Open(ModelOf({{"x", {1}}}), {folder.string()});
  EXPECT_THAT(ValuesOf((*samples->Read(0))[0]), ElementsAre(std::ldexp(1.0F, -24)));
  EXPECT_THAT(ValuesOf((*samples->Read(1))[0]), ElementsAre(1.0F));
}

TEST(Files, RefuseIntegersUnlessTheyAreScaled) {
  const auto folder = TestFolder();
  format::Tensor bytes = *format::MakeTensor(format::ElementType::kUint8, {1, 3, 1, 1});
  for (std::size_t i = 0; i < 3; ++i)
    bytes.As<std::uint8_t>()[i] = static_cast<std::uint8_t>(100 * i + 55);
  WriteBytes(folder / "data/a.npy", *format::ToNpy(bytes));
  const format::Model model = ModelOf({{"x", {1, 3, 1, 1}}});
  const std::string data = (folder / "data").string();
  EXPECT_THAT(Complaint(Open(model, {data})->Read(0)), StartsWith("type: "));
  const std::string yaml =
      WriteBytes(folder / "p.yaml", "{scale: 1/5, mean: [1, 2, 3], std: [1, 2, 4]}");
  // (55 / 5 - 1) / 1, (155 / 5 - 2) / 2, (255 / 5 - 3) / 4
  EXPECT_THAT(ValuesOf((*Open(model, {data}, {.preprocess = yaml})->Read(0))[0]),
              ElementsAre(10, 14.5, 12));
}

TEST(Files, ReadRawElementsOfTheDeclaredShape) {
  const auto folder = TestFolder();
  const format::Tensor values = Floats({2, 2}, {1, 2, 3, 4});
  const std::string bytes(reinterpret_cast<const char*>(values.bytes.data()), 16);
  WriteBytes(folder / "a.bin", bytes);
  WriteBytes(folder / "b.raw", bytes.substr(0, 8));
  WriteBytes(folder / "c.raw", bytes.substr(0, 7));
  const auto samples = Open(ModelOf({{"x", {-1, 2}}}), {folder.string()});
  EXPECT_THAT(NamesOf(*samples), ElementsAre("a.bin#0", "a.bin#1", "b.raw", "c.raw"));
  EXPECT_THAT(ValuesOf((*samples->Read(1))[0]), ElementsAre(3, 4));
  EXPECT_THAT(Complaint(samples->Read(3)), HasSubstr("found 7 bytes, expected 8 for each sample"));
  EXPECT_THAT(Complaint(Open(ModelOf({{"x", {1, -1}}}), {folder.string()})->Read(0)),
              HasSubstr("expected --shape"));
}

TEST(Files, ReadFoldersOfOnnxTestData) {
  const auto folder = TestFolder();
  const auto write = [&](const std::string& name, const format::Tensor& tensor) {
    WriteBytes(folder / name, format::ToTensorData("", tensor).wire);
  };
  write("test_data_set_0/input_0.pb", Floats({2}, {1, 2}));
  write("test_data_set_0/input_1.pb", Floats({1}, {3}));
  write("test_data_set_0/output_0.pb", Floats({1}, {9}));
  write("test_data_set_1/input_0.pb", Floats({2}, {4, 5}));
  const auto samples = Open(ModelOf({{"a", {2}}, {"b", {1}}}), {folder.string()});
  EXPECT_THAT(NamesOf(*samples), ElementsAre("test_data_set_0", "test_data_set_1"));
  const Sample sample = samples->Read(0);
  ASSERT_TRUE(sample.has_value()) << Complaint(sample);
  EXPECT_THAT(ValuesOf((*sample)[0]), ElementsAre(1, 2));
  EXPECT_THAT(ValuesOf((*sample)[1]), ElementsAre(3));
  EXPECT_THAT(Complaint(samples->Read(1)), StartsWith("unreadable: input_1.pb"));
}

TEST(Files, RefuseWhatCannotBeASample) {
  const auto folder = TestFolder();
  const format::Model one = ModelOf({{"x", {1}}});
  const auto refusal = [&](const format::Model& model, const std::string& path) {
    const auto samples = OpenFiles(model, std::vector{path}, {});
    return samples.has_value() ? "none" : samples.error().where + ": " + samples.error().message;
  };
  EXPECT_THAT(refusal(one, folder.string()), HasSubstr("found no sample"));
  EXPECT_THAT(refusal(one, (folder / "gone").string()), HasSubstr("o such file"));
  EXPECT_THAT(refusal(one, WriteBytes(folder / "a.txt", "")), HasSubstr("expected a folder"));
  const std::string array = WriteBytes(folder / "a.npy", *format::ToNpy(Floats({1}, {1})));
  EXPECT_THAT(refusal(ModelOf({{"a", {1}}, {"b", {1}}}), array), HasSubstr("2 inputs"));
  EXPECT_THAT(refusal(ModelOf({}), array), HasSubstr("no input"));
  EXPECT_THAT(refusal(one, WriteBytes(folder / "a.png", "")), StartsWith("--preprocess"));
}

// However a file ends or lies, it is named, and nothing is allocated for what is not there.
TEST(Files, NameDamagedArrays) {
  const auto folder = TestFolder();
  const std::string whole = *format::ToNpy(Floats({2, 2}, {1, 2, 3, 4}));
  const format::Model model = ModelOf({{"x", {-1, 2}}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = WriteBytes(folder / "a.npy", whole.substr(0, size));
    EXPECT_FALSE(Open(model, {path})->Read(0).has_value()) << size;
  }
  for (const std::string shape : {"(4611686018427387904, 2)", "(1099511627776, 0)", "(-1, 2)",
                                  "(2; 2)", "(2, 99999999999999999999)"}) {
    std::string lie = whole;
    const std::size_t at = lie.find("(2, 2)");
    lie.replace(at, shape.size(), shape);
    const auto samples = Open(model, {WriteBytes(folder / "a.npy", lie)});
    EXPECT_EQ(samples->size(), 1) << shape;
    EXPECT_FALSE(samples->Read(0).has_value()) << shape;
  }
}

TEST(Files, ReadArraysOfAnArchiveInAnyOrder) {
  const auto folder = TestFolder();
  constexpr std::int64_t kCount = 200;
  std::vector<float> a, b;
  for (int i = 0; i < kCount; ++i) {
    a.push_back(static_cast<float>(i));
    b.insert(b.end(), {static_cast<float>(2 * i), static_cast<float>(3 * i)});
  }
  for (const bool deflate : {false, true}) {
    const std::string path = WriteZip(folder / "a.npz",
                                      {{"a.npy", *format::ToNpy(Floats({kCount, 1}, a))},
                                       {"b.npy", *format::ToNpy(Floats({kCount, 2}, b))},
                                       {"unused.npy", "no array"}},
                                      deflate);
    const auto samples = Open(ModelOf({{"a", {1, 1}}, {"b", {1, 2}}}), {path});
    ASSERT_EQ(samples->size(), kCount);
    for (std::int64_t step = 0; step < kCount; ++step) {
      const std::int64_t i = step * 77 % kCount;
      const Sample sample = samples->Read(i);
      ASSERT_TRUE(sample.has_value()) << Complaint(sample);
      const auto value = static_cast<float>(i);
      EXPECT_THAT(ValuesOf((*sample)[0]), ElementsAre(value));
      EXPECT_THAT(ValuesOf((*sample)[1]), ElementsAre(2 * value, 3 * value));
    }
  }
}

TEST(Files, NameWhatIsWrongWithAnArchive) {
  const auto folder = TestFolder();
  const format::Model model = ModelOf({{"a", {1, 2}}, {"b", {1, 1}}});
  const std::string two = *format::ToNpy(Floats({2, 2}, {1, 2, 3, 4}));
  const std::string one = *format::ToNpy(Floats({2, 1}, {5, 6}));
  const auto complaint = [&](const std::map<std::string, std::string>& files) {
    const std::string path = WriteZip(folder / "a.npz", files, true);
    return Complaint(Open(model, {path})->Read(0));
  };
  EXPECT_EQ(complaint({{"a.npy", two}, {"b.npy", one}}), "none");
  EXPECT_THAT(complaint({{"a.npy", two}}), HasSubstr("found no array 'b'"));
  EXPECT_THAT(complaint({{"a.npy", one}, {"b.npy", one}}), StartsWith("shape: "));
  EXPECT_THAT(complaint({{"a.npy", two}, {"b.npy", *format::ToNpy(Floats({3, 1}, {1, 2, 3}))}}),
              HasSubstr("found 3 samples, expected 2"));
  EXPECT_THAT(complaint({{"a.npy", "text"}, {"b.npy", one}}), StartsWith("malformed: "));
  EXPECT_THAT(complaint({{"a.npy", two.substr(0, two.size() - 1)}, {"b.npy", one}}),
              HasSubstr("not those of shape"));
  EXPECT_THAT(complaint({{"a.npy", two + "more"}, {"b.npy", one}}),
              HasSubstr("not those of shape"));
  const std::string whole =
      ContentsOf(WriteZip(folder / "w.npz", {{"a.npy", two}, {"b.npy", one}}, true));
  std::size_t refused = 0;
  for (std::size_t size = 0; size < whole.size(); size += 3) {
    const std::string path = WriteBytes(folder / "cut.npz", whole.substr(0, size));
    if (!Open(model, {path})->Read(0).has_value()) ++refused;
  }
  EXPECT_EQ(refused, (whole.size() + 2) / 3);
}

// Memory is taken by what an entry says of its size, so that must not pass the file's: 4 GB were,
// for 296 bytes. PKZIP's APPNOTE, 4.3.12: in the central directory the sizes are at 20 (compressed)
// and 24.
TEST(Files, RefuseAnEntryLargerThanItsArchive) {
  const auto folder = TestFolder();
  std::string zip = ContentsOf(
      WriteZip(folder / "a.npz", {{"x.npy", *format::ToNpy(Floats({4}, {1, 2, 3, 4}))}}, false));
  const std::size_t entry = zip.find("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  zip.replace(entry + 20, 4, "\x70\xFF\xFF\xF0", 4);
  zip.replace(entry + 24, 4, "\x70\xFF\xFF\xF9", 4);
  const auto read = ReadNpzArray(WriteBytes(folder / "b.npz", zip), "x");
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message, HasSubstr("found 4043308912 bytes in a file of"));
}

// 100 MB of zeros in 100 KB: they are decompressed sample by sample, as samples are asked for.
TEST(Files, DoNotUnpackABomb) {
  const auto folder = TestFolder();
  constexpr std::int64_t kCount = 100;
  constexpr std::int64_t kSize = 1 << 18;
  const std::string path = WriteZip(folder / "a.npz",
                                    {{"x.npy", *format::ToNpy(*format::MakeTensor(
                                                   format::ElementType::kFloat, {kCount, kSize}))}},
                                    true);
  ASSERT_LT(std::filesystem::file_size(path), std::uintmax_t{1} << 20);
  const auto samples = Open(ModelOf({{"x", {1, kSize}}}), {path});
  EXPECT_EQ(samples->size(), kCount);
  EXPECT_TRUE(samples->Read(2).has_value());
  // The same bytes for an input that they do not fit are not even begun.
  EXPECT_THAT(Complaint(Open(ModelOf({{"x", {1, 7}}}), {path})->Read(0)), StartsWith("shape: "));
}

}  // namespace
}  // namespace qtx::calibrate
