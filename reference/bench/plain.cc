#include "plain.h"

#include <cmath>

namespace qtx::reference::bench {
namespace {

std::int8_t Clamp(std::int64_t value, const PlainScale& scale) {
  if (value < scale.min) value = scale.min;
  if (value > scale.max) value = scale.max;
  return static_cast<std::int8_t>(value);
}

std::int8_t Requantize(std::int32_t accumulator, const PlainScale& scale) {
  const std::int64_t half = std::int64_t{1} << (scale.shift - 1);
  const std::int64_t product = static_cast<std::int64_t>(accumulator) * scale.multiplier;
  return Clamp(((product + half) >> scale.shift) + scale.offset, scale);
}

// The part of a window that lies in the image, along one axis.
struct Reach {
  std::int64_t start, first, end;
};

Reach ReachOf(std::int64_t position, std::int64_t stride, std::int64_t pad, std::int64_t kernel,
              std::int64_t size) {
  const std::int64_t start = position * stride - pad;
  return {start, start < 0 ? -start : 0, start + kernel > size ? size - start : kernel};
}

std::int32_t WindowSum(const PlainLayer& layer, const std::int8_t* input, const Reach& rows,
                       const Reach& columns, std::int64_t m) {
  const PlainWindow& w = layer.window;
  const std::int64_t channels = layer.input.channels;
  std::int32_t sum = 0;
  for (std::int64_t u = rows.first; u < rows.end; ++u) {
    for (std::int64_t v = columns.first; v < columns.end; ++v) {
      const std::int8_t* pixel =
          input + ((rows.start + u) * layer.input.width + columns.start + v) * channels;
      const std::int8_t* filter =
          layer.filter + ((m * w.kernel_height + u) * w.kernel_width + v) * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        sum += (pixel[c] - layer.input_offset) * (filter[c] - layer.filter_offset);
      }
    }
  }
  return sum;
}

}  // namespace

void PlainConv(const PlainLayer& layer, const std::int8_t* input, std::int8_t* output) {
  const PlainImage& x = layer.input;
  const PlainImage& y = layer.output;
  const PlainWindow& w = layer.window;
  for (std::int64_t i = 0; i < y.height; ++i) {
    const Reach rows = ReachOf(i, w.stride, w.pad_top, w.kernel_height, x.height);
    for (std::int64_t j = 0; j < y.width; ++j) {
      const Reach columns = ReachOf(j, w.stride, w.pad_left, w.kernel_width, x.width);
      for (std::int64_t m = 0; m < y.channels; ++m) {
        const std::int32_t bias = layer.bias == nullptr ? 0 : layer.bias[m];
        const std::int32_t sum = bias + WindowSum(layer, input, rows, columns, m);
        output[(i * y.width + j) * y.channels + m] = Requantize(sum, layer.scale);
      }
    }
  }
}

void PlainDepthwise(const PlainLayer& layer, const std::int8_t* input, std::int8_t* output) {
  const PlainImage& x = layer.input;
  const PlainImage& y = layer.output;
  const PlainWindow& w = layer.window;
  for (std::int64_t i = 0; i < y.height; ++i) {
    const Reach rows = ReachOf(i, w.stride, w.pad_top, w.kernel_height, x.height);
    for (std::int64_t j = 0; j < y.width; ++j) {
      const Reach columns = ReachOf(j, w.stride, w.pad_left, w.kernel_width, x.width);
      for (std::int64_t c = 0; c < x.channels; ++c) {
        std::int32_t sum = layer.bias == nullptr ? 0 : layer.bias[c];
        for (std::int64_t u = rows.first; u < rows.end; ++u) {
          for (std::int64_t v = columns.first; v < columns.end; ++v) {
            const std::int64_t pixel =
                ((rows.start + u) * x.width + columns.start + v) * x.channels + c;
            const std::int64_t tap = (u * w.kernel_width + v) * x.channels + c;
            sum += (input[pixel] - layer.input_offset) * (layer.filter[tap] - layer.filter_offset);
          }
        }
        output[(i * y.width + j) * y.channels + c] = Requantize(sum, layer.scale);
      }
    }
  }
}

void PlainGlobalAverage(const PlainImage& image, std::int32_t input_offset, const PlainScale& scale,
                        const std::int8_t* input, std::int8_t* output) {
  for (std::int64_t c = 0; c < image.channels; ++c) {
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < image.height * image.width; ++i) {
      sum += input[i * image.channels + c] - input_offset;
    }
    output[c] = Requantize(sum, scale);
  }
}

void PlainMatMul(const PlainMatrices& size, const std::int8_t* a, const std::int8_t* b,
                 const PlainScale& scale, std::int8_t* output) {
  for (std::int64_t i = 0; i < size.rows; ++i) {
    for (std::int64_t j = 0; j < size.columns; ++j) {
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < size.inner; ++k)
        sum += a[i * size.inner + k] * b[j * size.inner + k];
      output[i * size.columns + j] = Requantize(sum, scale);
    }
  }
}

void PlainRequantize(std::int64_t count, const std::int32_t* input, const PlainScale& scale,
                     std::int8_t* output) {
  for (std::int64_t i = 0; i < count; ++i) output[i] = Requantize(input[i], scale);
}

void PlainAdd(std::int64_t count, const PlainAddend& a, const PlainAddend& b,
              const PlainScale& scale, std::int8_t* output) {
  const std::int64_t half = std::int64_t{1} << (scale.shift - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t sum = static_cast<std::int64_t>(a.stored[i] - a.offset) * a.factor +
                             static_cast<std::int64_t>(b.stored[i] - b.offset) * b.factor;
    output[i] = Clamp(((sum + half) >> scale.shift) + scale.offset, scale);
  }
}

void PlainSoftmax(std::int64_t rows, std::int64_t size, float scale, const std::int8_t* input,
                  std::int8_t* output) {
  const PlainScale stored{0, 1, -128, -128, 127};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int8_t* row = input + r * size;
    std::int8_t max = row[0];
    for (std::int64_t k = 1; k < size; ++k) max = row[k] > max ? row[k] : max;
    float sum = 0;
    for (std::int64_t k = 0; k < size; ++k)
      sum += std::exp(scale * static_cast<float>(row[k] - max));
    for (std::int64_t k = 0; k < size; ++k) {
      const float share = std::exp(scale * static_cast<float>(row[k] - max)) / sum;
      const std::int64_t steps = std::lround(share * 256.0F);
      output[r * size + k] = Clamp(steps + stored.offset, stored);
    }
  }
}

}  // namespace qtx::reference::bench
