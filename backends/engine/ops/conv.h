// Conv: shapes and padded images, which all its implementations use.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/plan.h"
#include "engine/weights.h"
#include "engine/window.h"

namespace qtx::backend::engine {

/// Shapes: x [batch, channels, in...], w [filters, channels / groups, kernel...].
struct ConvShape {
  std::int64_t batch = 0, channels = 0, filters = 0, groups = 1;
  std::vector<WindowAxis> axes;

  std::int64_t GroupChannels() const { return channels / groups; }
  std::int64_t GroupFilters() const { return filters / groups; }
  /// Taps of the window.
  std::int64_t Taps() const;
  /// Output positions of one image.
  std::int64_t Positions() const;
};
/// Errors: those of WindowAxesOf.
Result<ConvShape> ConvShapeOf(const NodePlan& node);

/// A Conv node, read and checked, before an implementation is chosen.
struct ConvPlan : ConvShape {
  PerTensor x;
  bool eight_bits = true;  // of x; else 16
  format::Tensor y;        // its type and dims
  Weights weights;
  std::vector<Channel> outputs;
  Epilogue epilogue;
};

/// A padded image with its channels last, as the products read it: [padded positions][channels].
class PaddedImage {
 public:
  PaddedImage(std::vector<WindowAxis> axes, std::int64_t channels);

  /// Elements of one padded image.
  std::int64_t size() const { return size_; }
  /// True if there is no padding, so that the image equals the input.
  bool plain() const { return plain_; }
  /// Distance in elements between neighbours along spatial axis `i`.
  std::int64_t pitch(std::size_t i) const { return pitches_[i]; }
  /// Distance of output position `i`'s window from the image's beginning.
  std::vector<std::int64_t> WindowOffsets() const;
  /// Distance of each tap from the window's beginning, in the order of the kernel.
  std::vector<std::int64_t> TapOffsets() const;

  /// Copies an image and surrounds it with `padding`. `copy(from, n, to)` converts n elements.
  template <typename From, typename To, typename Copy>
  void Fill(const From* from, To padding, To* to, Threads& threads, Copy copy) const {
    const WindowAxis& line = axes_.back();
    const std::int64_t in = line.input * channels_;
    const std::int64_t before = line.pad_begin * channels_;
    const std::int64_t all = PaddedSize(line) * channels_;
    const auto fill_line = [&](std::int64_t i) {
      To* out = to + i * all;
      const std::int64_t source = SourceLine(i);
      if (source < 0) {
        std::fill_n(out, all, padding);
        return;
      }
      std::fill_n(out, before, padding);
      copy(from + source * in, in, out + before);
      std::fill_n(out + before + in, all - before - in, padding);
    };
    constexpr std::int64_t kLines = 16;  // of one task
    constexpr std::int64_t kBytesPerNanosecond = 16;
    const std::int64_t bytes = size_ * static_cast<std::int64_t>(sizeof(To));
    threads.For((lines_ + kLines - 1) / kLines, bytes / kBytesPerNanosecond,
                [&](std::int64_t piece) {
                  const std::int64_t end = std::min(lines_, (piece + 1) * kLines);
                  for (std::int64_t i = piece * kLines; i < end; ++i) fill_line(i);
                });
  }

 private:
  // The line of the input in padded line `i`; -1: padding.
  std::int64_t SourceLine(std::int64_t i) const;

  std::vector<WindowAxis> axes_;
  std::vector<std::int64_t> pitches_;
  std::int64_t channels_, lines_ = 1, size_ = 0;
  bool plain_ = true;
};

/// The implementation for one filter per channel, on 8 bits.  Errors: kUnsupported if it does not
/// compute the node.
StepResult MakeDepthwiseConv(const NodePlan& node, ConvPlan plan);
/// The implementation as a matrix product with one row per output position.  Errors: likewise.
StepResult MakeProductConv(const NodePlan& node, ConvPlan plan);

}  // namespace qtx::backend::engine
