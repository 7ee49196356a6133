// Models and types the tests start from.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::format {

inline Quantization PerTensor(float scale, std::vector<std::int32_t> offset = {}) {
  Quantization q;
  q.scale = {scale};
  q.offset = std::move(offset);
  return q;
}

inline ValueInfo Value(std::string name, ElementType type, const Dims& dims,
                       std::optional<Quantization> q = std::nullopt) {
  ValueInfo value;
  value.name = std::move(name);
  value.type.emplace();
  value.type->elem_type = type;
  value.type->shape = ToShape(dims);
  value.type->quantization = std::move(q);
  return value;
}

inline TensorData Stored(const std::string& name, ElementType type, const Dims& dims,
                         const std::vector<std::int64_t>& values) {
  Tensor tensor = *MakeTensor(type, dims);
  PackIntegers(values, tensor);
  return ToTensorData(name, tensor);
}

/// y = MatMul(x, w): x INT8Q[2,3], w INT8Q[3,4] per axis 1 and an initializer, y INT8Q[2,4]. Every
/// rule holds.
inline Model MatMulModel() {
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}};
  model.graph.name = "g";
  model.graph.inputs = {Value("x", ElementType::kInt8Q, {2, 3}, PerTensor(0.5F, {3}))};
  model.graph.outputs = {Value("y", ElementType::kInt8Q, {2, 4}, PerTensor(2.0F))};
  Quantization w;
  w.scale = {1.0F, 0.5F, 0.25F, 3.0F};
  w.axis = {1};
  w.quant_min = -7;
  w.quant_max = 7;
  model.graph.values = {Value("w", ElementType::kInt8Q, {3, 4}, w)};
  model.graph.initializers = {
      Stored("w", ElementType::kInt8, {3, 4}, {-7, 7, 0, 1, 2, 3, 4, 5, 6, -6, -5, -4})};
  Node node;
  node.name = "n";
  node.op_type = "MatMul";
  node.inputs = {"x", "w"};
  node.outputs = {"y"};
  model.graph.nodes = {node};
  return model;
}

/// Random types that keep every rule: each element type, granularity, scheme and annotation.
class TypeGenerator {
 public:
  explicit TypeGenerator(std::uint32_t seed) : random_(seed) {}

  TensorType Next() {
    TensorType type;
    const auto storage = kStorages[Below(std::size(kStorages))];
    Dims dims(1 + Below(4));
    for (auto& dim : dims) dim = 1 + static_cast<std::int64_t>(Below(6));
    type.shape = ToShape(dims);
    type.quantization = Parameters(storage, dims);
    if (Below(3) == 0) {
      type.elem_type = ElementType::kFloat;
      type.quantization->storage_type = storage;
    } else {
      type.elem_type = *QuantizedOf(storage);
    }
    if (Below(2) == 0) type.statistics = Measured(dims);
    return type;
  }

  std::size_t Below(std::size_t bound) { return random_() % bound; }

 private:
  static constexpr ElementType kStorages[] = {
      ElementType::kUint8,      ElementType::kInt8,           ElementType::kUint16,
      ElementType::kInt16,      ElementType::kInt32,          ElementType::kFloat8E4M3FN,
      ElementType::kFloat8E5M2, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2FNUZ,
      ElementType::kUint4,      ElementType::kInt4,           ElementType::kFloat4E2M1,
      ElementType::kUint2,      ElementType::kInt2,           ElementType::kBipolar1};

  float Scale() {  // any positive finite binary32, subnormals included
    const auto bits = static_cast<std::uint32_t>(1 + Below(0x7F7FFFFF));
    return std::bit_cast<float>(bits);
  }

  Quantization Parameters(ElementType storage, const Dims& dims) {
    Quantization q;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (Below(2) == 0) q.axis.push_back(static_cast<std::int64_t>(axis));
    }
    std::ranges::shuffle(q.axis, random_);
    if (!q.axis.empty() && Below(2) == 0) {
      for (std::size_t i = 0; i < q.axis.size(); ++i) {
        q.block_shape.push_back(1 + static_cast<std::int64_t>(Below(4)));
      }
    }
    const std::int64_t count = ParameterMap(q, dims).count();
    for (std::int64_t i = 0; i < count; ++i) q.scale.push_back(Scale());
    if (!IsIntegerStorage(storage) || storage == ElementType::kBipolar1) return q;
    const IntegerRange range = StorageRange(storage);
    if (Below(2) == 0) {
      for (std::int64_t i = 0; i < count; ++i)
        q.offset.push_back(static_cast<std::int32_t>(InRange(range)));
      q.scheme = Scheme::kAsymmetric;
    }
    if (Below(2) == 0) q.quant_min = range.min + 1;
    if (Below(2) == 0) q.quant_max = range.max;
    if (Below(4) == 0) q.requantization = Requantization{.multiplier = {1 << 30}, .shift = {-5}};
    return q;
  }

  std::int64_t InRange(IntegerRange range) {
    const auto width = static_cast<std::uint64_t>(range.max - range.min) + 1;
    return range.min + static_cast<std::int64_t>(Below(width));
  }

  Statistics Measured(const Dims& dims) {
    Statistics s;
    std::size_t count = 1;
    if (Below(2) == 0) {
      s.axis = {0};
      count = static_cast<std::size_t>(dims[0]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      s.min.push_back(-1.0 - static_cast<double>(Below(100)));
      s.max.push_back(std::nextafter(0.1, 1.0) + static_cast<double>(Below(100)));
      s.mean.push_back(-0.0);
      s.std.push_back(static_cast<double>(Below(3)) / 6);  // below half the least range, 1.1
    }
    s.count = 10;
    s.nan_count = Below(2);
    s.infinity_count = Below(3);
    if (Below(2) == 0) s.histogram = Histogram{-1, 1, {4, 0, 3}, 1, 2};
    s.source = Below(2) == 0 ? "" : "calibration \xC3\xA9";
    return s;
  }

  std::mt19937 random_;
};

/// A valid model with `count` random types, an origin, attributes of every kind named, and
/// metadata.
inline Model RandomModel(std::uint32_t seed, int count = 4) {
  TypeGenerator types(seed);
  Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17}, {"qtx", 1}, {"org.example", 1}};
  model.producer_name = "test";
  model.metadata = {{"key", "value"}, {"empty", ""}};
  model.graph.name = "random";
  model.graph.inputs = {Value("in", ElementType::kFloat, {1})};
  std::string previous = "in";
  for (int i = 0; i < count; ++i) {
    ValueInfo value;
    value.name = "v" + std::to_string(i);
    value.type = types.Next();
    Node node;
    node.name = "n" + std::to_string(i);
    node.op_type = "Anything";  // of a domain without rules
    node.domain = "org.example";
    node.inputs = {previous};
    node.outputs = {value.name};
    node.attributes = {
        Attribute::Int("i", -1), Attribute::Float("f", 0.1F), Attribute::Ints("is", {0, 1 << 20}),
        Attribute::String("s", std::string("\0\xFF", 2)), Attribute::Floats("fs", {-0.0F})};
    node.origin.emplace();
    node.origin->group = "group" + std::to_string(i);
    node.origin->framework = "tflite";
    node.origin->op_type = "ADD";
    node.origin->attributes = {Attribute::String("activation", "RELU6")};
    node.metadata = {{"m", std::to_string(i)}};
    previous = value.name;
    model.graph.nodes.push_back(node);
    (i + 1 == count ? model.graph.outputs : model.graph.values).push_back(value);
  }
  return model;
}

}  // namespace qtx::format
