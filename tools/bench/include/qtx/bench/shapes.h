// Tables of workloads: sizes of matrix products, and the convolutions of networks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtx/format/element_type.h"

namespace qtx::bench {

/// The types of a workload's activations and weights.
struct Types {
  std::string_view name;  // "u8s8c": c: weights have a scale per output channel
  format::ElementType activations, weights;
  bool per_channel;
};
/// All combinations that workloads use. "fp32" names the float twin of any of them.
std::span<const Types> QuantizedTypes();
inline constexpr std::string_view kFloatTypes = "fp32";

/// [batch, rows, inner] by [batch, inner, columns].
struct ProductShape {
  std::string_view name;
  std::int64_t batch, rows, inner, columns;
  bool computed;  // the second operand is an activation, not a weight
};
std::span<const ProductShape> ProductShapes();

/// A convolution with a square image and window and "same" padding.
struct ConvShape {
  std::int64_t channels, outputs, size, kernel, stride;
  bool depthwise;
  int count;  // occurrences in its network

  std::int64_t output_size() const { return (size - 1) / stride + 1; }
  std::int64_t multiply_adds() const {
    return output_size() * output_size() * outputs * kernel * kernel * (depthwise ? 1 : channels);
  }
};
struct ConvTable {
  std::string_view network;
  std::span<const ConvShape> shapes;  // distinct
};
/// The convolutions of MobileNet v1 and v2 at 224 x 224 and of ResNet-50 (stride in the 3x3
/// convolution).
std::span<const ConvTable> ConvTables();

/// MobileNet v1: a depthwise and a pointwise convolution each.
struct SeparableBlock {
  std::int64_t outputs, stride;
};
std::span<const SeparableBlock> MobileNetV1Blocks();

/// ResNet-50: `blocks` bottlenecks of `width`, the first of which has the stride.
struct BottleneckStage {
  std::int64_t width;
  int blocks;
  std::int64_t stride;
};
std::span<const BottleneckStage> ResNet50Stages();

}  // namespace qtx::bench
