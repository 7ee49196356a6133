// PNG by libpng's simplified interface, JPEG by TurboJPEG: both report errors as values.
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>

#include "data/image.h"
#include "data/readers.h"
#include "qtx/format/file.h"

namespace qtx::calibrate {
namespace {

constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 28;

Result<void> CheckSize(std::int64_t width, std::int64_t height) {
  if (width >= 1 && height >= 1 && width <= kMaxPixels && height <= kMaxPixels / width) return {};
  return Error{ErrorCode::kTooLarge, "",
               "found " + std::to_string(width) + " by " + std::to_string(height) +
                   " pixels, expected at most " + std::to_string(kMaxPixels)};
}

class Pictures : public Reader {
 public:
  explicit Pictures(const Target& target) : target_(target) {}
  Result<std::int64_t> Count(const std::string&) const override { return 1; }
  Sample Read(const std::string& path, std::int64_t) const override {
    const auto bytes = format::ReadFile(path, kMaxFileBytes);
    if (!bytes.has_value()) return BadFile({bytes.error().code, "", bytes.error().message});
    // The format is recognized by content, not by name.
    const bool png = bytes->starts_with("\x89PNG");
    const auto image = png ? DecodePng(*bytes) : DecodeJpeg(*bytes);
    if (!image.has_value()) return BadFile(image.error());
    auto tensor = ToTensor(*image, *target_.preprocessing);
    if (!tensor.has_value()) return Bad(Reason::kShape, tensor.error());
    const Input& input = target_.inputs[0];
    // An input without a batch axis has one dimension less.
    if (input.shape && input.shape->size() == 3) tensor->dims.erase(tensor->dims.begin());
    const auto fit = FitDims(tensor->dims, input);
    if (!fit.has_value()) return Bad(Reason::kShape, fit.error());
    tensor->dims = fit->dims;
    return OneInput(*std::move(tensor), input, nullptr);
  }

 private:
  const Target& target_;
};

}  // namespace

Result<Image> DecodePng(std::string_view bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const auto fail = [&png] {
    Error error{ErrorCode::kInvalid, "PNG", png.message};
    png_image_free(&png);
    return error;
  };
  if (png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) == 0) return fail();
  if (auto sound = CheckSize(png.width, png.height); !sound.has_value()) {
    png_image_free(&png);
    return At("PNG", sound.error());
  }
  png.format = PNG_FORMAT_RGB;
  Image image{png.width, png.height, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(png));
  const png_color black{};
  if (png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr) == 0) return fail();
  const bool warned = PNG_IMAGE_FAILED(png) || (png.warning_or_error & PNG_IMAGE_ERROR) != 0;
  if (warned) return fail();
  png_image_free(&png);
  return image;
}

Result<Image> DecodeJpeg(std::string_view bytes) {
  struct Destroy {
    void operator()(void* handle) const { tjDestroy(handle); }
  };
  const std::unique_ptr<void, Destroy> decoder(tjInitDecompress());
  if (decoder == nullptr) return Error{ErrorCode::kMemory, "JPEG", tjGetErrorStr2(nullptr)};
  const auto fail = [&decoder] {
    return Error{ErrorCode::kInvalid, "JPEG", tjGetErrorStr2(decoder.get())};
  };
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &sampling,
                          &colours) != 0) {
    return fail();
  }
  if (auto sound = CheckSize(width, height); !sound.has_value()) return At("JPEG", sound.error());
  Image image{width, height, {}};
  image.pixels.resize(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  // A truncated file is an error. The accurate transform and upsampling give the same pixels on
  // every machine.
  constexpr int kFlags = TJFLAG_STOPONWARNING | TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  if (tjDecompress2(decoder.get(), data, bytes.size(), image.pixels.data(), width, 0, height,
                    TJPF_RGB, kFlags) != 0) {
    return fail();
  }
  return image;
}

std::unique_ptr<Reader> ImageReader(const Target& target) {
  return std::make_unique<Pictures>(target);
}

}  // namespace qtx::calibrate
