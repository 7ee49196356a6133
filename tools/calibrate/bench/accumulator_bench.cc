// Nanoseconds an element takes in a StatisticsAccumulator, on one core.
#include <benchmark/benchmark.h>

#include <random>

#include "qtx/calibrate/statistics.h"

namespace {

using namespace qtx;  // NOLINT(google-build-using-namespace)

// Standard normal values, or those cut off at zero as behind a ReLU.
format::Tensor Activations(format::Dims dims, bool relu) {
  format::Tensor tensor = *format::MakeTensor(format::ElementType::kFloat, std::move(dims));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& value : tensor.As<float>()) {
    value = normal(random);
    if (relu) value = std::max(value, 0.0F);
  }
  return tensor;
}

// Arguments: elements of the last dimension, of the one before, axis (-1: none), bins, ReLU.
void Add(benchmark::State& state) {
  const format::Tensor tensor =
      Activations({1, state.range(1), state.range(0)}, state.range(4) != 0);
  calibrate::StatisticsOptions options{.bins = state.range(3)};
  if (state.range(2) >= 0) options.axis = state.range(2);
  calibrate::StatisticsAccumulator accumulator(options);
  for (auto _ : state) {
    if (!accumulator.Add(tensor).has_value()) state.SkipWithError("refused");
  }
  const auto elements = static_cast<double>(format::ElementCount(tensor));
  state.counters["ns_per_element"] = benchmark::Counter(
      elements * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(Add)
    ->ArgNames({"inner", "channels", "axis", "bins", "relu"})
    ->Args({802816, 1, -1, 0, 0})
    ->Args({802816, 1, -1, 2048, 0})
    ->Args({802816, 1, -1, 2048, 1})
    ->Args({12544, 64, 1, 2048, 1})
    ->Args({784, 1024, 1, 2048, 1})
    ->Args({49, 1024, 1, 2048, 1})
    ->Args({1024, 784, 2, 2048, 1})
    ->Args({1000, 1, -1, 2048, 0});

}  // namespace
