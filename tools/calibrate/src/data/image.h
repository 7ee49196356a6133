// Decoding images to pixels, and converting pixels to tensors.
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

/// 8-bit RGB, row by row.
struct Image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> pixels;
};

/// Decodes a PNG or JPEG; transparency is over black, 16 bits become 8. Ignores orientation tags
/// and colour profiles.
/// Errors: kInvalid for damaged files, even partly decodable ones; kTooLarge past 2^26 pixels,
/// before allocating.
Result<Image> DecodePng(std::string_view bytes);
Result<Image> DecodeJpeg(std::string_view bytes);

/// [1, channels, height, width] or [1, height, width, channels] of FLOAT.
/// Resizing: pixel centres lie at half-integers, so output x reads from (x + 0.5) * from / to -
/// 0.5. Bilinear weighs the two nearest rows and columns in binary64, the outermost repeated;
/// nearest takes pixel floor((x + 0.5) * from / to). GRAY is (299 R + 587 G + 114 B) / 1000, ITU-R
/// BT.601. Errors: kInvalid when the crop is larger than the image.
Result<format::Tensor> ToTensor(const Image& image, const Preprocessing& preprocessing);

}  // namespace qtx::calibrate
