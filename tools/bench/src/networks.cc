#include "networks.h"

#include "builder.h"

namespace qtx::bench {
namespace {

using Value = Builder::Value;

constexpr std::int64_t kImage = 224;
constexpr std::int64_t kClasses = 1000;

constexpr Range kRelu6 = {0, 6};
constexpr double kRelu6Deviation = 2;  // so that 6 clamps rarely

// Batch normalization gives a standard deviation of 1; a rectified type must reach 4.
constexpr Range kRelu = {0, 4};
constexpr Range kLinear = {-4, 4};

Value MobileNetConv(Builder& builder, const Value& x, std::int64_t outputs, std::int64_t kernel,
                    std::int64_t stride, bool depthwise) {
  const ConvShape shape{x.dims[1], outputs, x.dims[2], kernel, stride, depthwise, 1};
  return builder.Conv(x, shape, kRelu6Deviation, kRelu6);
}

Value ResNetConv(Builder& builder, const Value& x, std::int64_t outputs, std::int64_t kernel,
                 std::int64_t stride, Range range) {
  const ConvShape shape{x.dims[1], outputs, x.dims[2], kernel, stride, false, 1};
  return builder.Conv(x, shape, 1, range);
}

Value Bottleneck(Builder& builder, const Value& x, std::int64_t width, std::int64_t stride,
                 bool first) {
  constexpr std::int64_t kExpansion = 4;
  Value y = ResNetConv(builder, x, width, 1, 1, kRelu);
  y = ResNetConv(builder, y, width, 3, stride, kRelu);
  y = ResNetConv(builder, y, kExpansion * width, 1, 1, kLinear);
  if (!first) return builder.AddRelu(y, x);
  const Value shortcut = ResNetConv(builder, x, kExpansion * width, 1, stride, kLinear);
  return builder.AddRelu(y, shortcut);
}

Task Classify(Builder& builder, const Value& x) {
  const Value pooled = builder.Flatten(builder.GlobalAveragePool(x));
  return builder.Finish(builder.Gemm(pooled, kClasses, 1));
}

}  // namespace

Task MakeMobileNetV1(std::string_view name, const Types& types) {
  Builder builder(name, types, Spreading::kBell);
  Value x = builder.Input({1, 3, kImage, kImage}, types.activations);
  x = MobileNetConv(builder, x, 32, 3, 2, false);
  for (const SeparableBlock& block : MobileNetV1Blocks()) {
    x = MobileNetConv(builder, x, x.dims[1], 3, block.stride, true);
    x = MobileNetConv(builder, x, block.outputs, 1, 1, false);
  }
  return Classify(builder, x);
}

Task MakeResNet50(std::string_view name, const Types& types) {
  Builder builder(name, types, Spreading::kBell);
  Value x = builder.Input({1, 3, kImage, kImage}, types.activations);
  x = builder.MaxPool(ResNetConv(builder, x, 64, 7, 2, kRelu));
  for (const BottleneckStage& stage : ResNet50Stages()) {
    for (int i = 0; i < stage.blocks; ++i) {
      x = Bottleneck(builder, x, stage.width, i == 0 ? stage.stride : 1, i == 0);
    }
  }
  return Classify(builder, x);
}

}  // namespace qtx::bench
