#include "race.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <vector>

namespace qtx::reference::bench {
namespace {

struct Elapsed {
  double wall, processor;  // seconds
};

Elapsed Time(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t ticks = std::clock();
  work();
  const double processor = static_cast<double>(std::clock() - ticks) / CLOCKS_PER_SEC;
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          processor};
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

format::ValueInfo Info(const std::string& name, format::ElementType type, const format::Dims& dims,
                       const format::Quantization& quantization) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = type;
  info.type->shape = format::ToShape(dims);
  info.type->quantization = quantization;
  return info;
}

}  // namespace

void Race(benchmark::State& state, const std::function<void()>& reference,
          const std::function<void()>& peer) {
  std::vector<double> ratios;
  std::vector<double> peers;
  while (state.KeepRunning()) {
    const Elapsed own = Time(reference);
    const Elapsed other = Time(peer);
    state.SetIterationTime(own.wall);
    ratios.push_back(own.processor / std::max(other.processor, 1e-9));
    peers.push_back(other.wall);
  }
  if (ratios.empty()) return;
  state.counters["ratio"] = Median(ratios);
  state.counters["peer_ms"] = Median(peers) * 1e3;
}

void Difference::Add(std::int64_t reference, std::int64_t peer) {
  ++elements;
  if (reference != peer) ++differing;
  largest = std::max(largest, std::abs(reference - peer));
}

void Report(benchmark::State& state, const Difference& difference) {
  state.counters["differing"] = static_cast<double>(difference.differing);
  state.counters["of"] = static_cast<double>(difference.elements);
  state.counters["lsb"] = static_cast<double>(difference.largest);
}

PlainScale ScaleOf(double factor, std::int32_t offset) {
  int exponent = 0;
  const double fraction = std::frexp(factor, &exponent);
  auto multiplier = std::llround(std::ldexp(fraction, 31));
  if (multiplier == std::int64_t{1} << 31) {
    multiplier /= 2;
    ++exponent;
  }
  return {static_cast<std::int32_t>(multiplier), 31 - exponent, offset, -128, 127};
}

format::Quantization OneScale(float scale, std::int32_t offset) {
  format::Quantization quantization;
  quantization.scale = {scale};
  quantization.offset = {offset};
  return quantization;
}

format::Tensor Ramp(format::ElementType type, const format::Dims& dims,
                    const format::Quantization& quantization) {
  format::Tensor tensor = *format::MakeTensor(type, dims, quantization);
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
    tensor.bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
  }
  return tensor;
}

format::Model OneNode(format::Node node, const format::Tensor& x, const format::Tensor* w,
                      const format::Dims& dims, const format::Quantization& output) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17, ""}, {"qtx", 1, ""}};
  node.inputs = {"x"};
  node.outputs = {"y"};
  model.graph.inputs = {Info("x", x.elem_type, x.dims, *x.quantization)};
  model.graph.outputs = {Info("y", format::ElementType::kInt8Q, dims, output)};
  if (w != nullptr) {
    node.inputs.emplace_back("w");
    format::Tensor stored = *w;
    stored.elem_type = format::StorageOf(w->elem_type);
    stored.quantization.reset();
    model.graph.initializers = {format::ToTensorData("w", stored)};
    model.graph.values = {Info("w", w->elem_type, w->dims, *w->quantization)};
  }
  model.graph.nodes = {std::move(node)};
  return model;
}

}  // namespace qtx::reference::bench
