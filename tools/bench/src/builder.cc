#include "builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace qtx::bench {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

constexpr double kReach = 4;  // deviations that an unclamped type covers, either side
constexpr std::int32_t kWeightOffset =
    125;  // of unsigned weights: not the middle, to be no special case
constexpr double kLargestWeight = 127;
constexpr double kBiasShare = 0.2;  // of the results' deviation

double StoredDeviation(Spreading spreading) {
  return kLargestWeight *
         (spreading == Spreading::kEven ? 1 / std::sqrt(3.0) : 1 / std::sqrt(12.0));
}

// The mean square of a normal value of that deviation, no less than 0.
double RectifiedMeanSquare(double deviation) { return deviation * deviation / 2; }

format::ValueInfo Info(const std::string& name, ElementType type, const Dims& dims,
                       const Quantization& quantization) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = type;
  info.type->shape = format::ToShape(dims);
  info.type->quantization = quantization;
  return info;
}

std::uint64_t Hash(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

}  // namespace

Random::Random(std::string_view seed) : state_(Hash(seed)) {}

std::uint64_t Random::Next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::int64_t Random::Between(std::int64_t low, std::int64_t high) {
  const auto count = static_cast<std::uint64_t>(high - low) + 1;
  return low + static_cast<std::int64_t>((Next() >> 32) * count >> 32);
}

double Random::Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Random::Bell() {
  const std::uint64_t bits = Next();  // four numbers of 16 bits, whose sum is nearly normal
  std::uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += bits >> (16 * i) & 0xFFFF;
  return (static_cast<double>(sum) - 2.0 * 0xFFFF) / (2.0 * 0xFFFF);
}

Builder::Builder(std::string_view name, const Types& types, Spreading spreading)
    : types_(types), spreading_(spreading), random_(name) {
  task_.model.ir_version = 8;
  task_.model.opset_imports = {{"", 17, ""}, {std::string(format::kDomain), format::kVersion, ""}};
  task_.model.producer_name = "qtx bench";
  task_.model.graph.name = name;
}

Quantization Builder::TypeFor(ElementType type, Range range) const {
  const format::IntegerRange stored = format::StorageRange(type);
  const auto steps = static_cast<double>(stored.max - stored.min);
  Quantization q;
  q.scale = {static_cast<float>((range.high - range.low) / steps)};
  q.offset = {static_cast<std::int32_t>(
      std::lround(static_cast<double>(stored.min) - range.low / static_cast<double>(q.scale[0])))};
  return q;
}

const Quantization& Builder::TypeOf(const std::string& value) const {
  return *task_.model.graph.FindValue(value)->type->quantization;
}

void Builder::AddConstant(const std::string& name, const Tensor& tensor) {
  Tensor stored = tensor;
  stored.elem_type = format::StorageOf(tensor.elem_type);
  stored.quantization.reset();
  task_.model.graph.initializers.push_back(format::ToTensorData(name, stored));
  task_.model.graph.values.push_back(
      Info(name, tensor.elem_type, tensor.dims, *tensor.quantization));
}

Builder::Value Builder::Input(Dims dims, ElementType type) {
  constexpr Range kRange = {-1.9, 2.1};  // an offset that is not the middle
  constexpr double kMeanSquare = 4.0 / 3 + 0.01;
  Tensor tensor = *format::MakeTensor(type, dims, TypeFor(type, kRange));
  for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random_.Next());
  const std::string name = "input" + std::to_string(task_.inputs.size());
  task_.model.graph.inputs.push_back(Info(name, type, dims, *tensor.quantization));
  task_.inputs.push_back(std::move(tensor));
  return {name, std::move(dims), kMeanSquare};
}

Builder::Value Builder::AddNode(format::Node node, Dims dims, const Quantization& type) {
  node.name = node.op_type + std::to_string(next_++);
  std::string name = node.name + "/result";
  node.outputs = {name};
  task_.model.graph.nodes.push_back(std::move(node));
  task_.model.graph.values.push_back(Info(name, types_.activations, dims, type));
  return {std::move(name), std::move(dims), 0};
}

std::string Builder::Weights(const Value& x, Dims dims, std::int64_t axis, std::int64_t inner,
                             double deviation) {
  const auto channels = static_cast<std::size_t>(dims[static_cast<std::size_t>(axis)]);
  const double scale = deviation / (StoredDeviation(spreading_) *
                                    std::sqrt(static_cast<double>(inner) * x.mean_square));
  Quantization q;
  q.scale.resize(types_.per_channel ? channels : 1);
  for (float& s : q.scale) {
    s = static_cast<float>(types_.per_channel ? scale * (0.5 + random_.Unit()) : scale);
  }
  if (types_.per_channel) q.axis = {axis};
  const bool is_signed = format::StorageRange(types_.weights).min < 0;
  if (!is_signed) q.offset = {kWeightOffset};
  Tensor tensor = *format::MakeTensor(types_.weights, std::move(dims), q);
  for (std::byte& byte : tensor.bytes) {
    const auto value = spreading_ == Spreading::kEven
                           ? random_.Between(-127, 127)
                           : std::lround(kLargestWeight * random_.Bell());
    byte = static_cast<std::byte>(is_signed ? value : std::clamp(value + kWeightOffset, 0L, 255L));
  }
  std::string name = "weights" + std::to_string(next_);
  AddConstant(name, tensor);
  return name;
}

std::string Builder::Bias(const Value& x, const std::string& weights, double deviation) {
  const Quantization& w = TypeOf(weights);
  const format::TensorData& data = *task_.model.graph.FindInitializer(weights);
  Quantization q;
  for (const float scale : w.scale) q.scale.push_back(TypeOf(x.name).scale[0] * scale);
  if (types_.per_channel) q.axis = {0};
  Tensor tensor = *format::MakeTensor(ElementType::kInt32Q, {data.dims[0]}, q);
  for (std::size_t i = 0; std::int32_t & value : tensor.As<std::int32_t>()) {
    const double real = kBiasShare * deviation * (2 * random_.Unit() - 1);
    const float scale = q.scale[types_.per_channel ? i++ : 0];
    value = static_cast<std::int32_t>(std::lround(real / static_cast<double>(scale)));
  }
  std::string name = "bias" + std::to_string(next_);
  AddConstant(name, tensor);
  return name;
}

Builder::Value Builder::Conv(const Value& x, const ConvShape& shape, double deviation,
                             Range range) {
  const std::int64_t depth = shape.depthwise ? 1 : shape.channels;
  const std::int64_t pad = shape.kernel / 2;
  const std::string w = Weights(x, {shape.outputs, depth, shape.kernel, shape.kernel}, 0,
                                depth * shape.kernel * shape.kernel, deviation);
  const std::string b = Bias(x, w, deviation);
  format::Node node;
  node.op_type = "Conv";
  node.inputs = {x.name, w, b};
  node.attributes = {Attribute::Int("group", shape.depthwise ? shape.channels : 1),
                     Attribute::Ints("kernel_shape", {shape.kernel, shape.kernel}),
                     Attribute::Ints("pads", {pad, pad, pad, pad}),
                     Attribute::Ints("strides", {shape.stride, shape.stride})};
  Value y =
      AddNode(std::move(node), {x.dims[0], shape.outputs, shape.output_size(), shape.output_size()},
              TypeFor(types_.activations, range));
  y.mean_square = range.low == 0 ? RectifiedMeanSquare(deviation) : deviation * deviation;
  return y;
}

Builder::Value Builder::Gemm(const Value& x, std::int64_t outputs, double deviation) {
  const std::string w = Weights(x, {outputs, x.dims[1]}, 0, x.dims[1], deviation);
  const std::string b = Bias(x, w, deviation);
  format::Node node;
  node.op_type = "Gemm";
  node.inputs = {x.name, w, b};
  node.attributes = {Attribute::Int("transB", 1)};
  return AddNode(std::move(node), {x.dims[0], outputs},
                 TypeFor(types_.activations, {-kReach * deviation, kReach * deviation}));
}

Builder::Value Builder::MatMul(const Value& x, std::int64_t columns) {
  format::Node node;
  node.op_type = "MatMul";
  node.inputs = {x.name, Weights(x, {x.dims.back(), columns}, 1, x.dims.back(), 1)};
  Dims dims = x.dims;
  dims.back() = columns;
  return AddNode(std::move(node), std::move(dims), TypeFor(types_.activations, {-3.9, 4.1}));
}

Builder::Value Builder::MatMul(const Value& a, const Value& b) {
  format::Node node;
  node.op_type = "MatMul";
  node.inputs = {a.name, b.name};
  Dims dims = a.dims;
  dims.back() = b.dims.back();
  const double deviation =
      std::sqrt(static_cast<double>(a.dims.back()) * a.mean_square * b.mean_square);
  return AddNode(std::move(node), std::move(dims),
                 TypeFor(types_.activations, {-kReach * deviation, kReach * deviation}));
}

Builder::Value Builder::AddRelu(const Value& a, const Value& b) {
  format::Node node;
  node.op_type = "Add";
  node.inputs = {a.name, b.name};
  const double mean_square = a.mean_square + b.mean_square;
  Value y = AddNode(std::move(node), a.dims,
                    TypeFor(types_.activations, {0, kReach * std::sqrt(mean_square)}));
  // Of two summands around 0 the rectifier takes half; of one that was rectified before, less.
  y.mean_square = 0.75 * mean_square;
  return y;
}

Builder::Value Builder::SameType(std::string op, const Value& x, Dims dims) {
  format::Node node;
  node.op_type = std::move(op);
  node.inputs = {x.name};
  Value y = AddNode(std::move(node), std::move(dims), TypeOf(x.name));
  y.mean_square = x.mean_square;
  return y;
}

Builder::Value Builder::MaxPool(const Value& x) {
  Value y = SameType("MaxPool", x,
                     {x.dims[0], x.dims[1], (x.dims[2] - 1) / 2 + 1, (x.dims[3] - 1) / 2 + 1});
  task_.model.graph.nodes.back().attributes = {Attribute::Ints("kernel_shape", {3, 3}),
                                               Attribute::Ints("pads", {1, 1, 1, 1}),
                                               Attribute::Ints("strides", {2, 2})};
  y.mean_square = 4 * x.mean_square;  // the largest of nine
  return y;
}

Builder::Value Builder::GlobalAveragePool(const Value& x) {
  Value y = SameType("GlobalAveragePool", x, {x.dims[0], x.dims[1], 1, 1});
  y.mean_square = x.mean_square / 2;
  return y;
}

Builder::Value Builder::Flatten(const Value& x) {
  return SameType("Flatten", x, {x.dims[0], x.dims[1] * x.dims[2] * x.dims[3]});
}

Task Builder::Finish(const Value& y) {
  auto& values = task_.model.graph.values;
  const auto found = std::ranges::find(values, y.name, &format::ValueInfo::name);
  task_.model.graph.outputs = {*found};
  values.erase(found);
  return std::move(task_);
}

}  // namespace qtx::bench
