#include <algorithm>
#include <array>
#include <cmath>

#include "data/image.h"

namespace qtx::calibrate {
namespace {

using Size = Preprocessing::Size;

// Where an output pixel comes from: two neighbours and the weight of the second.
struct Tap {
  std::int64_t first = 0;
  std::int64_t second = 0;
  double weight = 0;
};

Tap TapOf(std::int64_t at, std::int64_t to, std::int64_t from, bool bilinear) {
  const double centre =
      (static_cast<double>(at) + 0.5) * static_cast<double>(from) / static_cast<double>(to);
  if (!bilinear) {
    const auto nearest = std::min(static_cast<std::int64_t>(std::floor(centre)), from - 1);
    return {nearest, nearest, 0};
  }
  const double position = std::clamp(centre - 0.5, 0.0, static_cast<double>(from - 1));
  const auto first = static_cast<std::int64_t>(std::floor(position));
  return {first, std::min(first + 1, from - 1), position - static_cast<double>(first)};
}

std::vector<Tap> Taps(std::int64_t first, std::int64_t count, std::int64_t to, std::int64_t from,
                      bool bilinear) {
  std::vector<Tap> taps;
  for (std::int64_t i = first; i < first + count; ++i) {
    taps.push_back(TapOf(i, to, from, bilinear));
  }
  return taps;
}

Size Resized(const Image& image, const Preprocessing& preprocessing) {
  if (preprocessing.resize) return *preprocessing.resize;
  Size size{image.width, image.height};
  const std::int64_t shorter = std::min(image.width, image.height);
  if (preprocessing.shorter_side == 0) return size;
  // The longer side is rounded down, as torchvision's Resize does.
  size.width = image.width * preprocessing.shorter_side / shorter;
  size.height = image.height * preprocessing.shorter_side / shorter;
  return size;
}

std::array<double, 3> Pixel(const Image& image, const Tap& row, const Tap& column) {
  const auto at = [&image](std::int64_t y, std::int64_t x, std::size_t c) {
    return static_cast<double>(image.pixels[3 * static_cast<std::size_t>(y * image.width + x) + c]);
  };
  std::array<double, 3> pixel{};
  for (std::size_t c = 0; c < 3; ++c) {
    const double above = at(row.first, column.first, c) * (1 - column.weight) +
                         at(row.first, column.second, c) * column.weight;
    const double below = at(row.second, column.first, c) * (1 - column.weight) +
                         at(row.second, column.second, c) * column.weight;
    pixel[c] = above * (1 - row.weight) + below * row.weight;
  }
  return pixel;
}

std::array<double, 3> Ordered(const std::array<double, 3>& rgb, Preprocessing::Channels channels) {
  switch (channels) {
    case Preprocessing::Channels::kBgr:
      return {rgb[2], rgb[1], rgb[0]};
    case Preprocessing::Channels::kGray:
      return {(299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000, 0, 0};
    case Preprocessing::Channels::kRgb:
      break;
  }
  return rgb;
}

}  // namespace

Result<format::Tensor> ToTensor(const Image& image, const Preprocessing& preprocessing) {
  const Size resized = Resized(image, preprocessing);
  const Size crop = preprocessing.crop.value_or(resized);
  if (crop.width > resized.width || crop.height > resized.height) {
    return Error{ErrorCode::kInvalid, "crop",
                 "found an image of " + std::to_string(resized.width) + " by " +
                     std::to_string(resized.height) + " pixels, expected at least " +
                     std::to_string(crop.width) + " by " + std::to_string(crop.height)};
  }
  if (crop.width > kMaxPixels / crop.height) {
    return Error{ErrorCode::kTooLarge, "",
                 "found " + std::to_string(crop.width) + " by " + std::to_string(crop.height) +
                     " pixels, expected at most " + std::to_string(kMaxPixels)};
  }
  const bool bilinear = preprocessing.interpolation == Preprocessing::Interpolation::kBilinear;
  const auto columns =
      Taps((resized.width - crop.width) / 2, crop.width, resized.width, image.width, bilinear);
  const auto rows =
      Taps((resized.height - crop.height) / 2, crop.height, resized.height, image.height, bilinear);
  const std::size_t channels = preprocessing.ChannelCount();
  const auto count = static_cast<std::int64_t>(channels);
  const bool last = preprocessing.layout == Preprocessing::Layout::kNhwc;
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(format::ElementType::kFloat,
                                          last ? format::Dims{1, crop.height, crop.width, count}
                                               : format::Dims{1, count, crop.height, crop.width}));
  const std::size_t area = rows.size() * columns.size();
  std::size_t at = 0;
  for (const Tap& row : rows) {
    for (const Tap& column : columns) {
      const auto pixel = Ordered(Pixel(image, row, column), preprocessing.channels);
      for (std::size_t c = 0; c < channels; ++c) {
        tensor.As<float>()[last ? at * channels + c : c * area + at] =
            Scaled(pixel[c], c, preprocessing);
      }
      ++at;
    }
  }
  return tensor;
}

}  // namespace qtx::calibrate
