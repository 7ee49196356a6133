// Pictures as pixels, and pixels as tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/preprocessing.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 26;

/// Red, green and blue of 8 bits, row by row.
struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> pixels;
};

/// The colours that a PNG or JPEG shows; transparent pixels are over black, 16 bits become 8.
/// Orientation tags and colour profiles do not count.
/// Errors: kInvalid for damaged files, also where a decoder would show what it can; kTooLarge past
/// 2^26 pixels, before they take memory.
Result<Image> DecodePng(std::string_view bytes);
Result<Image> DecodeJpeg(std::string_view bytes);

/// [1, channels, height, width] or [1, height, width, channels] of FLOAT.
/// Resizing: pixel centres lie at half-integers, so output x reads from (x + 0.5) * from / to -
/// 0.5. Bilinear weighs the two nearest rows and columns in binary64, the outermost repeated;
/// nearest takes pixel floor((x + 0.5) * from / to). GRAY is (299 R + 587 G + 114 B) / 1000, ITU-R
/// BT.601. Errors: kInvalid when the crop is larger than the image.
Result<format::Tensor> ToTensor(const Image& image, const Preprocessing& preprocessing);

}  // namespace qtx::calibrate
