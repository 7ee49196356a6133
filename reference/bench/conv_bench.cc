// How long the certified path takes: a pointwise and a depthwise Conv of MobileNet v2 at 224.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "qtx/reference/interpreter.h"

namespace qtx::reference {
namespace {

using format::Dims;
using format::ElementType;

struct ConvSize {
  std::int64_t channels, outputs, group, size, kernel;
};

format::Quantization Parameters(float scale) {
  format::Quantization q;
  q.scale = {scale};
  return q;
}

format::Tensor Ramp(const Dims& dims, float scale) {
  format::Tensor tensor = *format::MakeTensor(ElementType::kInt8Q, dims, Parameters(scale));
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
    tensor.bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
  }
  return tensor;
}

format::ValueInfo Info(const char* name, const Dims& dims, float scale) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = ElementType::kInt8Q;
  info.type->shape = format::ToShape(dims);
  info.type->quantization = Parameters(scale);
  return info;
}

format::Model ConvModel(const ConvSize& size, const Dims& x, const Dims& w) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  format::Node node;
  node.op_type = "Conv";
  node.inputs = {"x", "w"};
  node.outputs = {"y"};
  const std::int64_t pad = size.kernel / 2;
  node.attributes = {format::Attribute::Int("group", size.group),
                     format::Attribute::Ints("pads", {pad, pad, pad, pad})};
  model.graph.nodes = {node};
  format::Tensor weights = Ramp(w, 0x1p-8F);
  weights.elem_type = ElementType::kInt8;
  weights.quantization.reset();
  model.graph.initializers = {format::ToTensorData("w", weights)};
  model.graph.inputs = {Info("x", x, 0x1p-5F)};
  model.graph.outputs = {Info("y", {1, size.outputs, x[2], x[3]}, 0x1p-3F)};
  model.graph.values = {Info("w", w, 0x1p-8F)};
  return model;
}

void RunConv(benchmark::State& state, const ConvSize& size) {
  const Dims x = {1, size.channels, size.size, size.size};
  const Dims w = {size.outputs, size.channels / size.group, size.kernel, size.kernel};
  auto interpreter = Interpreter::Prepare(ConvModel(size, x, w), "exact");
  if (!interpreter.has_value()) return state.SkipWithError(interpreter.error().message.c_str());
  const format::Tensor input = Ramp(x, 0x1p-5F);
  for (auto _ : state) benchmark::DoNotOptimize(interpreter->Run({&input, 1}));
  const std::int64_t products = size.outputs * size.size * size.size * w[1] * w[2] * w[3];
  state.counters["products"] = benchmark::Counter(
      static_cast<double>(products * state.iterations()), benchmark::Counter::kIsRate);
}

void BM_Pointwise(benchmark::State& state) { RunConv(state, {96, 24, 1, 56, 1}); }
void BM_Depthwise(benchmark::State& state) { RunConv(state, {144, 144, 144, 56, 3}); }
BENCHMARK(BM_Pointwise);
BENCHMARK(BM_Depthwise);

}  // namespace
}  // namespace qtx::reference
