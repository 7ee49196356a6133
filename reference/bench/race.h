// Two implementations of the same work, timed turn by turn in one run.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "plain.h"
#include "qtx/format/model.h"
#include "qtx/reference/interpreter.h"

namespace qtx::reference::bench {

/// Times `reference` (the benchmark's time) and `peer` alternately. Reports `ratio`, the median
/// over the iterations of processor time of the first over that of the second, and peer_ms.
void Race(benchmark::State& state, const std::function<void()>& reference,
          const std::function<void()>& peer);

/// How far the peer's stored integers are from the reference's.
struct Difference {
  std::int64_t elements = 0, differing = 0, largest = 0;  // largest in LSB
  void Add(std::int64_t reference, std::int64_t peer);
};
/// Adds up `differing` and `largest` as counters of the benchmark.
void Report(benchmark::State& state, const Difference& difference);

/// factor as a multiplier of 31 bits; the stored range is that of int8.
PlainScale ScaleOf(double factor, std::int32_t offset);

format::Quantization OneScale(float scale, std::int32_t offset = 0);
/// Deterministic stored bytes that look random enough.
format::Tensor Ramp(format::ElementType type, const format::Dims& dims,
                    const format::Quantization& quantization);
/// The bytes of an int8 or int32 tensor as such.
template <typename T>
const T* Data(const format::Tensor& tensor) {
  return tensor.As<T>().data();
}

/// A model of one node: inputs named "x" and, when `w` is given, the initializer "w".
format::Model OneNode(format::Node node, const format::Tensor& x, const format::Tensor* w,
                      const format::Dims& dims, const format::Quantization& output);

}  // namespace qtx::reference::bench
