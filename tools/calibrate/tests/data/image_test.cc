// Pictures to tensors by hand, and pictures that lie.
#include "data/image.h"

#include <gmock/gmock.h>
#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include "tests/data/files.h"

namespace qtx::calibrate {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<float>;

std::string EncodePng(std::uint32_t width, std::uint32_t height, std::uint32_t format,
                      const void* pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_to_memory(&image, nullptr, &size, 0, pixels, 0, nullptr), 0);
  std::string bytes(size, '\0');
  EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, nullptr), 0);
  bytes.resize(size);
  return bytes;
}

// One colour everywhere.
std::string EncodeJpeg(int side, unsigned char level) {
  const std::vector<unsigned char> pixels(static_cast<std::size_t>(3 * side * side), level);
  tjhandle encoder = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  EXPECT_EQ(tjCompress2(encoder, pixels.data(), side, 0, side, TJPF_RGB, &bytes, &size, TJSAMP_444,
                        100, 0),
            0);
  std::string result(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(encoder);
  return result;
}

Values Tensor(const Image& image, const Preprocessing& preprocessing) {
  const auto tensor = ToTensor(image, preprocessing);
  EXPECT_TRUE(tensor.has_value());
  return ValuesOf(*tensor);
}

// Two pixels, (1, 2, 3) and (4, 5, 6).
const Image kTwo{2, 1, {1, 2, 3, 4, 5, 6}};

TEST(Image, BecomesChannelsInTheOrderAskedFor) {
  EXPECT_THAT(Tensor(kTwo, {}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(ToTensor(kTwo, {})->dims, (format::Dims{1, 3, 1, 2}));
  Preprocessing p;
  p.layout = Preprocessing::Layout::kNhwc;
  EXPECT_THAT(Tensor(kTwo, p), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(ToTensor(kTwo, p)->dims, (format::Dims{1, 1, 2, 3}));
  p.channels = Preprocessing::Channels::kBgr;
  EXPECT_THAT(Tensor(kTwo, p), ElementsAre(3, 2, 1, 6, 5, 4));
  // 0.299 + 1.174 + 0.342 = 1.815, and 3 more.
  p.channels = Preprocessing::Channels::kGray;
  EXPECT_THAT(Tensor(kTwo, p), ElementsAre(1.815F, 4.815F));
}

// (v / 2 - mean) / std: (0.5 - 1) / 0.5, (2 - 1) / 0.5, (1 - 0) / 2, ...
TEST(Image, IsScaledByChannel) {
  Preprocessing p;
  p.scale = 0.5;
  p.mean = {1, 0, 0.5};
  p.std = {0.5, 2, 1};
  EXPECT_THAT(Tensor(kTwo, p), ElementsAre(-1, 2, 0.5, 1.25, 1, 2.5));
}

// 0 and 100 to four pixels: x reads from (x + 0.5) / 2 - 0.5 = -0.25, 0.25, 0.75, 1.25.
TEST(Image, IsResizedBetweenPixelCentres) {
  const Image image{2, 1, {0, 0, 0, 100, 100, 100}};
  Preprocessing p;
  p.resize = {4, 1};
  p.channels = Preprocessing::Channels::kGray;
  EXPECT_THAT(Tensor(image, p), ElementsAre(0, 25, 75, 100));
  p.interpolation = Preprocessing::Interpolation::kNearest;
  EXPECT_THAT(Tensor(image, p), ElementsAre(0, 0, 100, 100));
  p.resize = {1, 3};
  EXPECT_THAT(Tensor(image, p), ElementsAre(100, 100, 100));  // floor(0.5 * 2) = 1
  p.interpolation = Preprocessing::Interpolation::kBilinear;
  EXPECT_THAT(Tensor(image, p), ElementsAre(50, 50, 50));
}

// Of 4 by 2 pixels with red 0 to 7, the middle two of each row; of 8 by 4 the shorter side 2 is the
// same size as it was halved.
TEST(Image, IsCutAroundItsMiddle) {
  Image image{4, 2, {}};
  for (std::uint8_t i = 0; i < 8; ++i) image.pixels.insert(image.pixels.end(), {i, i, i});
  Preprocessing p;
  p.channels = Preprocessing::Channels::kGray;
  p.crop = {2, 2};
  EXPECT_THAT(Tensor(image, p), ElementsAre(1, 2, 5, 6));
  p.shorter_side = 4;
  p.crop = {8, 4};
  EXPECT_EQ(ToTensor(image, p)->dims, (format::Dims{1, 1, 4, 8}));
  p.crop = {9, 4};
  EXPECT_THAT(ToTensor(image, p).error().message, HasSubstr("8 by 4 pixels"));
}

TEST(Image, DoesNotGrowBeyondBounds) {
  Image narrow{1 << 20, 1, std::vector<std::uint8_t>(3 << 20)};
  Preprocessing p;
  p.shorter_side = 1 << 14;
  EXPECT_EQ(ToTensor(narrow, p).error().code, ErrorCode::kTooLarge);
}

TEST(Png, IsReadInEveryForm) {
  const std::uint8_t rgb[] = {10, 20, 30, 40, 50, 60};
  EXPECT_THAT(DecodePng(EncodePng(2, 1, PNG_FORMAT_RGB, rgb))->pixels,
              ElementsAre(10, 20, 30, 40, 50, 60));
  const std::uint8_t gray[] = {7, 200};
  EXPECT_THAT(DecodePng(EncodePng(2, 1, PNG_FORMAT_GRAY, gray))->pixels,
              ElementsAre(7, 7, 7, 200, 200, 200));
  const std::uint8_t alpha[] = {10, 20, 30, 255, 40, 50, 60, 0};
  EXPECT_THAT(DecodePng(EncodePng(2, 1, PNG_FORMAT_RGBA, alpha))->pixels,
              ElementsAre(10, 20, 30, 0, 0, 0));
}

TEST(Png, IsRefusedWhereItIsCut) {
  std::vector<std::uint8_t> pixels(12288);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i);
  const std::string whole = EncodePng(64, 64, PNG_FORMAT_RGB, pixels.data());
  ASSERT_TRUE(DecodePng(whole).has_value());
  // The last 12 bytes are the chunk that says it ends, which holds nothing.
  for (std::size_t size = 0; size + 16 < whole.size(); size += 97) {
    EXPECT_FALSE(DecodePng(whole.substr(0, size)).has_value()) << size;
  }
}

// Width and height are bytes 16 to 23, their chunk's checksum 29 to 32.
TEST(Png, IsRefusedBeforeAHugeSizeTakesMemory) {
  const std::uint8_t rgb[] = {1, 2, 3};
  std::string lie = EncodePng(1, 1, PNG_FORMAT_RGB, rgb);
  lie[17] = lie[21] = 0x0F;  // 983041 by 983041
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(lie.data()) + 12, 17);
  for (std::size_t i = 0; i < 4; ++i) lie[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
  EXPECT_FALSE(DecodePng(lie).has_value());
  lie[17] = lie[21] = 0x01;  // 65537 by 65537
  const uLong again = crc32(0, reinterpret_cast<const Bytef*>(lie.data()) + 12, 17);
  for (std::size_t i = 0; i < 4; ++i) lie[29 + i] = static_cast<char>(again >> (24 - 8 * i));
  EXPECT_EQ(DecodePng(lie).error().code, ErrorCode::kTooLarge);
}

TEST(Jpeg, ShowsTheColourItWasMadeOf) {
  const auto image = DecodeJpeg(EncodeJpeg(20, 90));
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->width, 20);
  EXPECT_THAT(image->pixels, Each(90));
}

TEST(Jpeg, IsRefusedWhereItIsCut) {
  const std::string whole = EncodeJpeg(100, 90);
  for (std::size_t size = 0; size + 2 < whole.size(); size += 31) {
    EXPECT_FALSE(DecodeJpeg(whole.substr(0, size)).has_value()) << size;
  }
}

// Height and width follow the marker FF C0, a length of two bytes and the precision.
TEST(Jpeg, IsRefusedBeforeAHugeSizeTakesMemory) {
  std::string lie = EncodeJpeg(16, 90);
  const std::size_t at = lie.find("\xFF\xC0");
  ASSERT_NE(at, std::string::npos);
  lie.replace(at + 5, 4, std::string("\xFF\x00\xFF\x00", 4));  // 65280 by 65280
  EXPECT_EQ(DecodeJpeg(lie).error().code, ErrorCode::kTooLarge);
}

TEST(Image, IsReadFromFilesAsASample) {
  const auto folder = TestFolder();
  const std::uint8_t rgb[] = {10, 20, 30, 40, 50, 60};
  WriteBytes(folder / "data/a.png", EncodePng(2, 1, PNG_FORMAT_RGB, rgb));
  WriteBytes(folder / "data/b.jpg", EncodeJpeg(20, 90));
  WriteBytes(folder / "data/c.png", "\x89PNG\r\n\x1a\n and no more");
  const std::string yaml = WriteBytes(folder / "p.yaml", "layout: NHWC\nresize: [2, 1]\n");
  const auto samples = OpenFiles(ModelOf({{"x", {1, 1, 2, 3}}}),
                                 std::vector{(folder / "data").string()}, {.preprocess = yaml});
  ASSERT_TRUE(samples.has_value());
  EXPECT_THAT(ValuesOf((*(*samples)->Read(0))[0]), ElementsAre(10, 20, 30, 40, 50, 60));
  EXPECT_THAT(ValuesOf((*(*samples)->Read(1))[0]), Each(90));
  EXPECT_THAT(Complaint((*samples)->Read(2)), testing::StartsWith("malformed: PNG"));
}

TEST(Preprocessing, SaysWhereItIsNonsense) {
  const auto folder = TestFolder();
  const std::pair<std::string, std::string> wrong[] = {
      {"layout: CHWN", ":1: found 'CHWN' for 'layout'; expected NCHW or NHWC"},
      {"scale: 1\nmean: [1, 2]", ":2: found 2 entries for 'mean'"},
      {"std: 0", "none of them 0"},
      {"scale: 1/0", "a number or a fraction"},
      {"scale: nan", "a number or a fraction"},
      {"scale: [1, 2]", "found 2 entries"},
      {"resize: [0, 5]", "[width, height]"},
      {"resize: [99999, 5]", "[width, height]"},
      {"crop: 5", "[width, height]"},
      {"colour: red", "found 'red' for 'colour'; expected channels, layout"},
      {"scale: 1\nscale: 2", ":2: found a repeated key"},
      {"scale: &a 1", "found an anchor"},
      {"scale: *a", ":1: "},
      {"scale: {a: b}", "found a map"},
      {"[1, 2]", "found a list"},
      {"text", "found a scalar"},
      {"a: [b", ":1"},
      {"scale: 1\n---\nscale: 2", "found a second document"},
      {"mean: [[1], 2]", "found a list"},
      {"channels: GRAY\nmean: [1, 2, 3]", "expected one mean"},
      {"resize: [1, 1]\nshorter_side: 2", "not both"},
  };
  for (const auto& [text, expected] : wrong) {
    const auto read = ReadPreprocessing(WriteBytes(folder / "p.yaml", text));
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_THAT(read.error().where + ": " + read.error().message, HasSubstr(expected)) << text;
  }
  EXPECT_TRUE(ReadPreprocessing(WriteBytes(folder / "p.yaml", "")).has_value());
  EXPECT_EQ(ReadPreprocessing((folder / "gone").string()).error().code, ErrorCode::kUnreadable);
  EXPECT_FALSE(
      ReadPreprocessing(WriteBytes(folder / "p.yaml", std::string(60'000, '['))).has_value());
}

TEST(Preprocessing, TakesEveryKey) {
  const auto read = ReadPreprocessing(
      WriteBytes(TestFolder() / "p.yaml",
                 "channels: BGR\nlayout: NHWC\ninterpolation: nearest\nshorter_side: 256\n"
                 "crop: [224, 200]\nscale: 1/255\nmean: [0.485, 0.456, 0.406]\nstd: 0.5\n"));
  ASSERT_TRUE(read.has_value()) << read.error().where << read.error().message;
  EXPECT_EQ(read->channels, Preprocessing::Channels::kBgr);
  EXPECT_EQ(read->layout, Preprocessing::Layout::kNhwc);
  EXPECT_EQ(read->interpolation, Preprocessing::Interpolation::kNearest);
  EXPECT_EQ(read->shorter_side, 256);
  EXPECT_EQ(read->crop->width, 224);
  EXPECT_EQ(read->crop->height, 200);
  EXPECT_EQ(read->scale, 1.0 / 255);
  EXPECT_THAT(read->mean, ElementsAre(0.485, 0.456, 0.406));
  EXPECT_THAT(read->std, ElementsAre(0.5));
}

}  // namespace
}  // namespace qtx::calibrate
