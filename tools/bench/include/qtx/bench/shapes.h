// What is measured, as plain tables: the sizes of matrix products and the convolutions of networks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "qtx/format/element_type.h"

namespace qtx::bench {

/// The types of a work: of its activations and of its weights.
struct Types {
  std::string_view name;  // "u8s8c": a c for scales of the weights per output channel
  format::ElementType activations, weights;
  bool per_channel;
};
/// Every combination that workloads are made in. "fp32" is the name of the float twin of any of
/// them.
std::span<const Types> QuantizedTypes();
inline constexpr std::string_view kFloatTypes = "fp32";

/// [batch, rows, inner] by [batch, inner, columns].
struct ProductShape {
  std::string_view name;
  std::int64_t batch, rows, inner, columns;
  bool computed;  // the second operand is an activation, not a weight
};
std::span<const ProductShape> ProductShapes();

/// A square image and window, padded so that stride 1 keeps the size.
struct ConvShape {
  std::int64_t channels, outputs, size, kernel, stride;
  bool depthwise;
  int count;  // how often its network has it

  std::int64_t output_size() const { return (size - 1) / stride + 1; }
  std::int64_t multiply_adds() const {
    return output_size() * output_size() * outputs * kernel * kernel * (depthwise ? 1 : channels);
  }
};
struct ConvTable {
  std::string_view network;
  std::span<const ConvShape> shapes;  // distinct
};
/// The convolutions of MobileNet v1 and v2 at 224 and of ResNet-50 (stride in the 3x3 window).
std::span<const ConvTable> ConvTables();

/// MobileNet v1: a depthwise and a pointwise convolution each.
struct SeparableBlock {
  std::int64_t outputs, stride;
};
std::span<const SeparableBlock> MobileNetV1Blocks();

/// ResNet-50: `blocks` bottlenecks of `width`, of which the first strides.
struct BottleneckStage {
  std::int64_t width;
  int blocks;
  std::int64_t stride;
};
std::span<const BottleneckStage> ResNet50Stages();

}  // namespace qtx::bench
