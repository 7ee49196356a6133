// Single layers in `exact` against plain C loops of the same integers. Before anything is timed the
// results are compared: with these scales no product lies within 2^-31 of a tie, so they are equal,
// but for Softmax, whose peer computes in binary32.
#include <cmath>
#include <vector>

#include "race.h"

namespace qtx::reference::bench {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Tensor;

constexpr float kInputScale = 0.0173F;
constexpr float kWeightScale = 0.0091F;

// Of a result that sums `count` products of bytes: most of it within the range.
float OutputScale(std::int64_t count) {
  return kInputScale * kWeightScale * 90.0F * std::sqrt(static_cast<float>(count));
}

PlainScale ProductScale(float output) {
  const double product = static_cast<double>(kInputScale) * static_cast<double>(kWeightScale);
  return ScaleOf(product / static_cast<double>(output), 0);
}

// Element i of the reference's output is element at(i) of the peer's.
template <typename At>
Difference Compare(const Tensor& reference, const std::vector<std::int8_t>& peer, At at) {
  Difference difference;
  for (std::size_t i = 0; i < peer.size(); ++i) {
    difference.Add(Data<std::int8_t>(reference)[i], peer[at(i)]);
  }
  return difference;
}

struct Peer {
  std::function<void()> run;
  const std::vector<std::int8_t>& output;
  std::int64_t permitted = 0;  // difference in LSB
};

// Runs both once and compares, then races them.
template <typename At>
void CheckAndRace(benchmark::State& state, format::Model model, const Tensor& x, const Peer& peer,
                  At at) {
  auto interpreter = Interpreter::Prepare(std::move(model), "exact");
  if (!interpreter.has_value()) return state.SkipWithError(interpreter.error().message.c_str());
  const auto result = interpreter->Run({&x, 1});
  if (!result.has_value()) return state.SkipWithError(result.error().message.c_str());
  peer.run();
  const Difference difference = Compare(result->front(), peer.output, at);
  if (difference.largest > peer.permitted) return state.SkipWithError("the peer's results differ");
  Race(
      state,
      [&] {
        benchmark::DoNotOptimize(interpreter->Run({&x, 1}));
      },
      peer.run);
  Report(state, difference);
}

struct ConvSize {
  std::int64_t channels, outputs, size, kernel;
  bool depthwise;
};

// [outer][channels][pixels] of `tensor` as [outer][pixels][channels].
std::vector<std::int8_t> ChannelsLast(const Tensor& tensor, std::int64_t outer,
                                      std::int64_t channels) {
  const std::size_t pixels =
      tensor.bytes.size() / static_cast<std::size_t>(outer) / static_cast<std::size_t>(channels);
  const auto depth = static_cast<std::size_t>(channels);
  std::vector<std::int8_t> result(tensor.bytes.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t image = i / (depth * pixels);
    const std::size_t c = i / pixels % depth;
    result[(image * pixels + i % pixels) * depth + c] = Data<std::int8_t>(tensor)[i];
  }
  return result;
}

void RaceConv(benchmark::State& state, const ConvSize& size) {
  const std::int64_t depth = size.depthwise ? 1 : size.channels;
  const Tensor x =
      Ramp(ElementType::kInt8Q, {1, size.channels, size.size, size.size}, OneScale(kInputScale));
  const Tensor w = Ramp(ElementType::kInt8Q, {size.outputs, depth, size.kernel, size.kernel},
                        OneScale(kWeightScale));
  const float scale = OutputScale(depth * size.kernel * size.kernel);
  format::Node node;
  node.op_type = "Conv";
  const std::int64_t pad = size.kernel / 2;
  node.attributes = {Attribute::Int("group", size.depthwise ? size.channels : 1),
                     Attribute::Ints("pads", {pad, pad, pad, pad})};

  const std::vector<std::int8_t> input = ChannelsLast(x, 1, size.channels);
  const std::vector<std::int8_t> filter =
      size.depthwise ? ChannelsLast(w, 1, size.channels) : ChannelsLast(w, size.outputs, depth);
  const PlainLayer layer{.input = {size.size, size.size, size.channels},
                         .output = {size.size, size.size, size.outputs},
                         .window = {size.kernel, size.kernel, 1, pad, pad},
                         .input_offset = 0,
                         .filter_offset = 0,
                         .filter = filter.data(),
                         .bias = nullptr,
                         .scale = ProductScale(scale)};
  const auto pixels = static_cast<std::size_t>(size.size) * static_cast<std::size_t>(size.size);
  const auto outputs = static_cast<std::size_t>(size.outputs);
  std::vector<std::int8_t> output(outputs * pixels);
  const auto peer = [&] {
    (size.depthwise ? PlainDepthwise : PlainConv)(layer, input.data(), output.data());
    benchmark::DoNotOptimize(output.data());
  };
  const Dims dims = {1, size.outputs, size.size, size.size};
  CheckAndRace(state, OneNode(node, x, &w, dims, OneScale(scale)), x, {peer, output},
               [&](std::size_t i) { return i % pixels * outputs + i / pixels; });
}

void RaceMatMul(benchmark::State& state) {
  constexpr std::int64_t kRows = 128, kInner = 512, kColumns = 512;
  const Tensor x = Ramp(ElementType::kInt8Q, {kRows, kInner}, OneScale(kInputScale));
  const Tensor w = Ramp(ElementType::kInt8Q, {kInner, kColumns}, OneScale(kWeightScale));
  const float scale = OutputScale(kInner);
  format::Node node;
  node.op_type = "MatMul";
  const std::vector<std::int8_t> transposed = ChannelsLast(w, 1, kInner);
  std::vector<std::int8_t> output(kRows * kColumns);
  const auto peer = [&] {
    PlainMatMul({kRows, kInner, kColumns}, Data<std::int8_t>(x), transposed.data(),
                ProductScale(scale), output.data());
    benchmark::DoNotOptimize(output.data());
  };
  CheckAndRace(state, OneNode(node, x, &w, {kRows, kColumns}, OneScale(scale)), x, {peer, output},
               [](std::size_t i) { return i; });
}

// Accumulators of 20 bits to int8.
void RaceRequantize(benchmark::State& state) {
  constexpr std::int64_t kCount = 1 << 20;
  Tensor x = Ramp(ElementType::kInt32Q, {kCount}, OneScale(kInputScale * kWeightScale));
  for (std::int32_t& value : x.As<std::int32_t>()) value >>= 12;
  const float scale = OutputScale(256);
  format::Node node;
  node.op_type = "Cast";
  node.attributes = {Attribute::Int("to", static_cast<std::int64_t>(ElementType::kInt8Q))};
  const double factor = static_cast<double>(x.quantization->scale[0]) / static_cast<double>(scale);
  std::vector<std::int8_t> output(kCount);
  const auto peer = [&] {
    PlainRequantize(kCount, Data<std::int32_t>(x), ScaleOf(factor, 0), output.data());
    benchmark::DoNotOptimize(output.data());
  };
  CheckAndRace(state, OneNode(node, x, nullptr, {kCount}, OneScale(scale)), x, {peer, output},
               [](std::size_t i) { return i; });
}

void RaceSoftmax(benchmark::State& state, float scale) {
  constexpr std::int64_t kRows = 64, kSize = 1001;
  const Tensor x = Ramp(ElementType::kInt8Q, {kRows, kSize}, OneScale(scale));
  format::Node node;
  node.op_type = "Softmax";
  std::vector<std::int8_t> output(kRows * kSize);
  const auto peer = [&] {
    PlainSoftmax(kRows, kSize, scale, Data<std::int8_t>(x), output.data());
    benchmark::DoNotOptimize(output.data());
  };
  CheckAndRace(state, OneNode(node, x, nullptr, {kRows, kSize}, OneScale(0x1p-8F, -128)), x,
               {peer, output, 1}, [](std::size_t i) { return i; });
}

BENCHMARK_CAPTURE(RaceConv, pointwise_96_24_56, ConvSize{96, 24, 56, 1, false})->UseManualTime();
BENCHMARK_CAPTURE(RaceConv, depthwise_144_56, ConvSize{144, 144, 56, 3, true})->UseManualTime();
BENCHMARK_CAPTURE(RaceConv, full_32_32_56, ConvSize{32, 32, 56, 3, false})->UseManualTime();
BENCHMARK(RaceMatMul)->UseManualTime();
BENCHMARK(RaceRequantize)->UseManualTime();
BENCHMARK_CAPTURE(RaceSoftmax, flat, 0.0173F)->UseManualTime();
BENCHMARK_CAPTURE(RaceSoftmax, steep, 0.37F)->UseManualTime();

}  // namespace
}  // namespace qtx::reference::bench
