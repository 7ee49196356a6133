// The peer: quantized layers as anyone would write them in plain C. int8 operands, int32
// accumulators, nested loops, requantization by one integer multiplication. Images are NHWC and
// filters OHWI (depthwise: HWC), so that the innermost loop walks along memory.
// It shares no code with the reference, and nothing but the benchmarks uses it.
#pragma once

#include <cstdint>

namespace qtx::reference::bench {

/// stored = clamp(half_up(accumulator * multiplier / 2^shift) + offset, min, max)
struct PlainScale {
  std::int32_t multiplier;
  int shift;  // 1..62
  std::int32_t offset, min, max;
};

struct PlainImage {
  std::int64_t height, width, channels;
};

struct PlainWindow {
  std::int64_t kernel_height, kernel_width, stride, pad_top, pad_left;
};

struct PlainLayer {
  PlainImage input, output;
  PlainWindow window;
  std::int32_t input_offset, filter_offset;
  const std::int8_t* filter;
  const std::int32_t* bias;  // nullptr: none
  PlainScale scale;
};

void PlainConv(const PlainLayer& layer, const std::int8_t* input, std::int8_t* output);
void PlainDepthwise(const PlainLayer& layer, const std::int8_t* input, std::int8_t* output);
/// The mean over all positions, from `input` of one image; scale includes the count.
void PlainGlobalAverage(const PlainImage& image, std::int32_t input_offset, const PlainScale& scale,
                        const std::int8_t* input, std::int8_t* output);
struct PlainMatrices {
  std::int64_t rows, inner, columns;
};
/// a [rows, inner] times the transpose of b [columns, inner].
void PlainMatMul(const PlainMatrices& size, const std::int8_t* a, const std::int8_t* b,
                 const PlainScale& scale, std::int8_t* output);
void PlainRequantize(std::int64_t count, const std::int32_t* input, const PlainScale& scale,
                     std::int8_t* output);

/// factor / 2^shift of the output's scale.
struct PlainAddend {
  const std::int8_t* stored;
  std::int32_t offset, factor;
};
/// `scale`'s own multiplier is not used.
void PlainAdd(std::int64_t count, const PlainAddend& a, const PlainAddend& b,
              const PlainScale& scale, std::int8_t* output);
/// Along rows of `size`, in binary32, to 256 steps between 0 and 1 (stored - -128).
void PlainSoftmax(std::int64_t rows, std::int64_t size, float scale, const std::int8_t* input,
                  std::int8_t* output);

}  // namespace qtx::reference::bench
