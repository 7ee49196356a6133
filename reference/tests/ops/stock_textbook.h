// Stock operators a second time: parameters as inputs, tensors as reals.
#pragma once

#include <algorithm>

#include "../run_op.h"

namespace qtx::reference::testing {

inline OutputType PlainType(ElementType type) { return {type, std::nullopt}; }

/// A plain tensor with its parameters: what a stock operator reads, and what the textbook does.
struct StockTensor {
  Tensor stored, scale, zero;
  Tensor quantized;  // the same elements as reals
  OutputType type;   // of a result with these parameters

  StockTensor(ElementType storage, const Dims& dims, const Values& values, const Quantization& q)
      : stored(Stored(storage, dims, values)),
        scale(Float(ParameterDims(q), q.scale)),
        zero(Stored(storage, ParameterDims(q), Offsets(q))),
        quantized(stored),
        type{*format::QuantizedOf(storage), q} {
    quantized.elem_type = type.elem_type;
    quantized.quantization = q;
  }
  std::vector<mpq_class> Reals() const { return TextbookReals(quantized); }

 private:
  static Dims ParameterDims(const Quantization& q) {
    return q.axis.empty() ? Dims{} : Dims{static_cast<std::int64_t>(q.scale.size())};
  }
  static Values Offsets(const Quantization& q) {
    Values offsets(q.scale.size(), 0);
    std::ranges::copy(q.offset, offsets.begin());
    return offsets;
  }
};

/// Random elements and parameters of 8 bits; zero points often at the ends of the range.
class StockRandom : public Random {
 public:
  using Random::Random;
  std::int32_t ZeroPoint(ElementType storage) {
    const format::IntegerRange range = format::StorageRange(storage);
    const Values candidates = {range.min, range.max, 0, In(range.min, range.max)};
    return static_cast<std::int32_t>(candidates[static_cast<std::size_t>(In(0, 3))]);
  }
  Quantization One(ElementType storage, float scale) { return Q({scale}, {ZeroPoint(storage)}); }
  Quantization Each(ElementType storage, std::int64_t axis, std::int64_t size) {
    Quantization q = PerAxis(axis, size);
    for (std::int64_t i = 0; i < size; ++i) q.offset.push_back(ZeroPoint(storage));
    return q;
  }
  StockTensor Of(ElementType storage, const Dims& dims, const Quantization& q) {
    const format::IntegerRange range = format::StorageRange(storage);
    Values values;
    for (std::int64_t i = 0; i < *format::ElementCount(std::span<const std::int64_t>(dims)); ++i) {
      values.push_back(In(range.min, range.max));
    }
    return {storage, dims, values, q};
  }
  ElementType Byte() { return In(0, 1) == 0 ? ElementType::kUint8 : ElementType::kInt8; }
};

/// The stored integers of an operator of ONNX Runtime.
inline Values MicrosoftIntegers(const std::string& op, std::vector<Attribute> attributes,
                                std::vector<const Tensor*> inputs, ElementType storage,
                                const std::string& arithmetic = "exact") {
  OpRun run{op, std::move(attributes), std::move(inputs), PlainType(storage), arithmetic};
  run.domain = "com.microsoft";
  return Integers(std::move(run));
}

}  // namespace qtx::reference::testing
