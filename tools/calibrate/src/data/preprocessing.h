// Preprocessing files (YAML): how pixels become the values of an input.
// Source: README.md of tools/calibrate, "Preprocessing".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

struct Preprocessing {
  enum class Channels { kRgb, kBgr, kGray } channels = Channels::kRgb;
  enum class Layout { kNchw, kNhwc } layout = Layout::kNchw;
  enum class Interpolation { kNearest, kBilinear } interpolation = Interpolation::kBilinear;
  struct Size {
    std::int64_t width = 0;
    std::int64_t height = 0;
  };
  std::optional<Size> resize;
  std::int64_t shorter_side = 0;  // 0: unused; else keeps the aspect ratio
  std::optional<Size> crop;       // centred
  double scale = 1;
  std::vector<double> mean, std;  // empty, one, or one for each channel

  std::size_t ChannelCount() const { return channels == Channels::kGray ? 1 : 3; }
};

/// Errors: kUnreadable; kInvalid at "path:line" for a malformed file.
Result<Preprocessing> ReadPreprocessing(const std::string& path);

/// (value * scale - mean) / std in binary64, rounded to FLOAT once. `channel` chooses among means.
float Scaled(double value, std::size_t channel, const Preprocessing& preprocessing);

/// Applies only scale, mean and std to integers that have the layout already.
/// Errors: kInvalid if the numbers of channels and means differ.
Result<format::Tensor> ScaleArray(const format::Tensor& array, const Preprocessing& preprocessing);

}  // namespace qtx::calibrate
