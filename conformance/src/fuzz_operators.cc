// The operators that fuzzing generates, with inputs and attributes. Combinations may be invalid:
// the reference refuses them and another is generated.
#include <algorithm>
#include <numeric>

#include "fuzz_maker.h"

namespace qtx::conformance {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;

void Unary(Maker& m) { m.Value(Operand::kReal, 0, 4); }

// Random dims that broadcast with those given: some axes have size 1, leading ones may be omitted.
Dims BroadcastTo(Maker& m, const Dims& dims) {
  Dims other = dims;
  for (std::int64_t& dim : other) {
    if (m.Chance(25)) dim = 1;
  }
  if (!other.empty() && m.Chance(30)) {
    other.erase(other.begin(), other.begin() + m.Between(1, std::ssize(other)));
  }
  return other;
}

void Binary(Maker& m) {
  const Tensor a = m.Value(Operand::kReal, 0, 4);
  m.New(Operand::kReal, BroadcastTo(m, a.dims), std::nullopt, m.Chance(40));
  if (m.Chance(30)) std::swap(m.draft().node.inputs[0], m.draft().node.inputs[1]);
}

void LeakyRelu(Maker& m) {
  Unary(m);
  if (m.Chance(70)) m.Float("alpha", m.Scale());
}

void Clip(Maker& m) {
  Unary(m);
  if (m.Chance(70)) {
    m.New(Operand::kReal, {}, std::nullopt, true);
  } else {
    m.Absent();
  }
  if (m.Chance(70)) m.New(Operand::kReal, {}, std::nullopt, true);
}

void AlongAxis(Maker& m) {
  const Tensor x = m.Value(Operand::kReal, 1, 4);
  if (m.Chance(70)) m.Int("axis", m.Axis(x.dims));
}

// Shapes of a, b for a product of matrices, b's first dimensions as they broadcast.
Dims RightOf(Maker& m, const Dims& a) {
  Dims b = {a.back(), m.Size(33)};
  if (a.size() > 2 && m.Chance(40)) {
    const Dims batch = BroadcastTo(m, Dims(a.begin(), a.end() - 2));
    b.insert(b.begin(), batch.begin(), batch.end());
  }
  return b;
}

void MatMul(Maker& m) {
  const Tensor a = m.Value(Operand::kReal, 2, 4);
  const Dims b = RightOf(m, a.dims);
  const auto rank = std::ssize(b);
  m.New(Operand::kReal, b, m.Between(rank - 2, rank - 1), m.Chance(75));
}

void Gemm(Maker& m) {
  const Tensor a = m.Value(Operand::kReal, 2, 2);
  const bool a_transposed = m.Chance(25);
  const bool b_transposed = m.Chance(50);
  const std::int64_t k = a.dims[a_transposed ? 0 : 1];
  const std::int64_t n = m.Size(33);
  const std::int64_t channels = b_transposed ? 0 : 1;
  const Tensor b = m.New(Operand::kReal, b_transposed ? Dims{n, k} : Dims{k, n}, channels, true);
  m.Bias(a, b, channels, n);
  if (a_transposed) m.Int("transA", 1);
  if (b_transposed) m.Int("transB", 1);
  if (m.Chance(15)) m.Float("alpha", m.Scale());
  if (m.Chance(10)) m.Float("beta", m.Scale());
}

// Random strides, dilations and padding.
void Window(Maker& m, const Dims& kernel, bool dilates) {
  const std::size_t axes = kernel.size();
  if (m.Chance(50)) {
    Dims strides(axes);
    for (std::int64_t& stride : strides) stride = m.Between(1, 3);
    m.Ints("strides", strides);
  }
  if (dilates && m.Chance(25)) {
    Dims dilations(axes);
    for (std::int64_t& dilation : dilations) dilation = m.Between(1, 3);
    m.Ints("dilations", dilations);
  }
  if (m.Chance(15)) {
    m.String("auto_pad", m.Chance(50) ? "SAME_UPPER" : "SAME_LOWER");
  } else if (m.Chance(60)) {
    Dims pads(2 * axes);
    for (std::size_t i = 0; i < pads.size(); ++i) pads[i] = m.Between(0, kernel[i % axes] - 1);
    m.Ints("pads", pads);
  }
}

struct ConvShape {
  Dims kernel;
  std::int64_t groups = 1;
  std::int64_t filters = 1;  // of each group
};

ConvShape ConvShapeFor(Maker& m, const Dims& x) {
  ConvShape shape;
  for (std::size_t i = 2; i < x.size(); ++i) {
    shape.kernel.push_back(m.Between(1, std::min<std::int64_t>(x[i], 4)));
  }
  if (m.Chance(30)) shape.groups = std::max<std::int64_t>(x[1], 1);  // depthwise
  if (m.Chance(15) && x[1] > 0 && x[1] % 2 == 0) shape.groups = 2;
  shape.filters = m.Chance(30) ? 1 : m.Size(shape.groups > 4 ? 2 : 17);
  return shape;
}

void ConvAttributes(Maker& m, const ConvShape& shape, bool dilates = true) {
  if (shape.groups != 1) m.Int("group", shape.groups);
  if (m.Chance(50)) m.Ints("kernel_shape", shape.kernel);
  Window(m, shape.kernel, dilates);
}

Dims Joined(Dims first, const Dims& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void Conv(Maker& m) {
  const Tensor x = m.Value(Operand::kReal, 3, 4);
  const ConvShape shape = ConvShapeFor(m, x.dims);
  const std::int64_t channels = shape.groups * shape.filters;
  const Tensor w = m.New(Operand::kReal, Joined({channels, x.dims[1] / shape.groups}, shape.kernel),
                         0, m.Chance(90));
  m.Bias(x, w, 0, channels);
  ConvAttributes(m, shape);
}

void ConvTranspose(Maker& m) {
  const Tensor x = m.Value(Operand::kReal, 3, 4);
  const ConvShape shape = ConvShapeFor(m, x.dims);
  const Tensor w = m.New(Operand::kReal, Joined({x.dims[1], shape.filters}, shape.kernel), 1, true);
  m.Bias(x, w, 1, shape.groups * shape.filters);
  ConvAttributes(m, shape);
}

void Pool(Maker& m, bool dilates) {
  const Tensor x = m.Value(Operand::kReal, 3, 4);
  const Dims kernel = ConvShapeFor(m, x.dims).kernel;
  m.Ints("kernel_shape", kernel);
  Window(m, kernel, dilates);
  if (m.Chance(25)) m.Int("ceil_mode", 1);
}

void MaxPool(Maker& m) { Pool(m, true); }
void AveragePool(Maker& m) {
  Pool(m, m.opset() >= 19);
  if (m.Chance(40)) m.Int("count_include_pad", 1);
}
void GlobalPool(Maker& m) { m.Value(Operand::kReal, 3, 4); }

std::vector<std::int64_t> SomeAxes(Maker& m, const Dims& dims) {
  std::vector<std::int64_t> axes;
  const std::int64_t rank = std::ssize(dims);
  for (std::int64_t i = 0; i < rank; ++i) {
    if (m.Chance(50)) axes.push_back(m.Chance(30) ? i - rank : i);
  }
  if (axes.empty() && rank > 0) axes.push_back(rank - 1);
  return axes;
}

// The axes were an attribute before opset 18.
void Reduce(Maker& m) {
  const Tensor x = m.Value(Operand::kReal, 1, 4);
  const auto axes = SomeAxes(m, x.dims);
  if (m.Chance(80)) {
    if (m.opset() >= 18) {
      m.Int64s(axes);
    } else {
      m.Ints("axes", axes);
    }
  }
  if (m.Chance(50)) m.Int("keepdims", 0);
}

// Normalises over the last axes; gain and bias have their shape.
void LayerNormalization(Maker& m) {
  const Tensor x = m.Value(Operand::kReal, 1, 4);
  const std::int64_t rank = std::ssize(x.dims);
  const std::int64_t axis = m.Between(0, rank - 1);
  const Dims group(x.dims.begin() + axis, x.dims.end());
  m.New(Operand::kReal, group, std::nullopt, true);
  if (m.Chance(70)) m.New(Operand::kReal, group, std::nullopt, true);
  m.Int("axis", m.Chance(50) ? axis : axis - rank);
}

void Concat(Maker& m) {
  const Tensor x = m.Value(Operand::kReal, 1, 4);
  const std::int64_t axis = m.Between(0, std::ssize(x.dims) - 1);
  for (std::int64_t more = m.Between(0, 3); more > 0; --more) {
    Dims dims = x.dims;
    dims[static_cast<std::size_t>(axis)] = m.Size(9);
    m.New(Operand::kReal, dims, std::nullopt, m.Chance(30));
  }
  m.Int("axis", m.Chance(70) ? axis : axis - std::ssize(x.dims));
}

void Pad(Maker& m) {
  const Tensor x = m.Value(Operand::kReal, 1, 4);
  std::vector<std::int64_t> pads(2 * x.dims.size());
  for (std::int64_t& pad : pads) pad = m.Chance(15) ? -1 : m.Between(0, 2);
  m.Int64s(pads);
  if (m.Chance(30)) m.New(Operand::kReal, {}, std::nullopt, true);
  constexpr const char* kModes[] = {"constant", "edge", "reflect"};
  if (m.Chance(60)) m.String("mode", kModes[m.Between(0, 2)]);
}

void Transpose(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 1, 4);
  std::vector<std::int64_t> order(x.dims.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(m.Between(0, std::ssize(x.dims) - 1)) % i]);
  }
  if (m.Chance(85)) m.Ints("perm", order);
}

void Reshape(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 0, 4);
  std::int64_t left = format::ElementCount(x);
  std::vector<std::int64_t> shape;
  for (std::int64_t divisor : {2, 3, 5}) {
    if (left % divisor != 0 || m.Chance(40)) continue;
    shape.push_back(divisor);
    left /= divisor;
  }
  shape.insert(shape.begin() + m.Between(0, std::ssize(shape)), m.Chance(50) ? -1 : left);
  m.Int64s(shape);
}

void Slice(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 1, 4);
  const auto axes = SomeAxes(m, x.dims);
  std::vector<std::int64_t> starts, ends, steps;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t rank = std::ssize(x.dims);
    const std::int64_t size = x.dims[static_cast<std::size_t>((axes[i] + rank) % rank)];
    const bool backwards = m.Chance(25);
    starts.push_back(backwards ? size - 1 : m.Between(0, (size - 1) / 2));
    ends.push_back(backwards ? -size - 1 : (m.Chance(50) ? size : size + 100));
    steps.push_back(m.Between(1, 3) * (backwards ? -1 : 1));
  }
  m.Int64s(starts);
  m.Int64s(ends);
  m.Int64s(axes);
  m.Int64s(steps);
}

void Split(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 1, 4);
  const std::int64_t axis = m.Between(0, std::ssize(x.dims) - 1);
  const std::int64_t size = x.dims[static_cast<std::size_t>(axis)];
  const std::int64_t first = m.Between(0, size);
  m.draft().outputs = 2;
  m.Int("axis", axis);
  if (m.opset() >= 18 && m.Chance(40)) {
    m.Int("num_outputs", 2);
  } else {
    m.Int64s({first, size - first});
  }
}

void Gather(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 1, 4);
  const std::int64_t axis = m.Between(0, std::ssize(x.dims) - 1);
  const std::int64_t size = x.dims[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> indices;
  for (std::int64_t more = m.Between(1, 6); more > 0; --more) {
    indices.push_back(m.Between(-size, size - 1));
  }
  m.Int64s(indices);
  m.Int("axis", axis);
}

void Squeeze(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 1, 4);
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < std::ssize(x.dims); ++i) {
    if (x.dims[static_cast<std::size_t>(i)] == 1) axes.push_back(i);
  }
  if (m.Chance(70)) m.Int64s(axes);
}

void Unsqueeze(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 0, 3);
  m.Int64s({m.Between(-std::ssize(x.dims) - 1, std::ssize(x.dims))});
}

void Flatten(Maker& m) {
  m.draft().moves = true;
  const Tensor x = m.Value(Operand::kAny, 0, 4);
  if (m.Chance(70)) m.Int("axis", m.Between(-std::ssize(x.dims), std::ssize(x.dims)));
}

// Scalar parameters, per axis, or (opset 21) in blocks.
void Linear(Maker& m, const Tensor& x, ElementType type) {
  const std::int64_t rank = std::ssize(x.dims);
  if (rank == 0 || m.Chance(55)) return m.ScaleAndZero(type, {}, m.Scale());
  const std::int64_t axis = m.Between(0, rank - 1);
  Dims dims = {x.dims[static_cast<std::size_t>(axis)]};
  if (m.opset() >= 21 && dims[0] > 1 && m.Chance(40)) {
    const std::int64_t block = m.Between(2, std::min<std::int64_t>(dims[0], 16));
    const std::int64_t blocks = (dims[0] + block - 1) / block;
    dims = x.dims;
    dims[static_cast<std::size_t>(axis)] = blocks;
    m.Int("block_size", block);
  }
  m.ScaleAndZero(type, dims, m.Scale());
  m.Int("axis", m.Chance(70) ? axis : axis - rank);
}

void QuantizeLinear(Maker& m) {
  const Tensor x = m.Value(Operand::kFloat, 0, 4);
  constexpr ElementType kTypes[] = {ElementType::kUint8,  ElementType::kInt8, ElementType::kInt16,
                                    ElementType::kUint16, ElementType::kInt4, ElementType::kUint4};
  const ElementType type = kTypes[m.Between(0, m.opset() >= 21 ? 5 : 1)];
  m.draft().result = type;
  Linear(m, x, type);
}

void DequantizeLinear(Maker& m) {
  const Tensor x = m.Value(Operand::kByte, 0, 4);
  m.draft().result = ElementType::kFloat;
  Linear(m, x, x.elem_type);
}

Dims ZeroShape(Maker& m, std::int64_t channels) { return m.Chance(40) ? Dims{channels} : Dims{}; }

void MatMulInteger(Maker& m) {
  const Tensor a = m.Value(Operand::kByte, 2, 3);
  const Tensor b = m.New(Operand::kByte, RightOf(m, a.dims), std::nullopt, m.Chance(70));
  m.draft().result = ElementType::kInt32;
  const auto zero = [&m](const Tensor& of, const Dims& dims) {
    m.ScaleAndZero(of.elem_type, dims, 1);  // only the zero point is an input here
    auto& inputs = m.draft().node.inputs;
    inputs.erase(inputs.end() - 2);
    m.draft().data.erase(m.draft().data.end() - 2);
  };
  if (m.Chance(80)) zero(a, {});
  if (m.draft().node.inputs.size() == 3 && m.Chance(80)) zero(b, ZeroShape(m, b.dims.back()));
}

void ConvInteger(Maker& m) {
  const Tensor x = m.Value(Operand::kByte, 3, 4);
  const ConvShape shape = ConvShapeFor(m, x.dims);
  const std::int64_t channels = shape.groups * shape.filters;
  const Dims dims = Joined({channels, x.dims[1] / shape.groups}, shape.kernel);
  m.New(Operand::kByte, dims, std::nullopt, true);
  m.draft().result = ElementType::kInt32;
  if (m.Chance(80)) m.New(Operand::kByte, {}, std::nullopt, true);  // refused if the type differs
  ConvAttributes(m, shape);
}

void QLinearMatMul(Maker& m) {
  const Tensor a = m.Value(Operand::kByte, 2, 3);
  m.ScaleAndZero(a.elem_type, {}, m.Scale());
  const Tensor b = m.New(Operand::kByte, RightOf(m, a.dims), std::nullopt, m.Chance(80));
  m.ScaleAndZero(b.elem_type, ZeroShape(m, b.dims.back()), m.Scale());
  const ElementType type = m.Chance(50) ? ElementType::kUint8 : ElementType::kInt8;
  m.draft().result = type;
  m.ScaleAndZero(type, {}, m.Scale() * 64);
}

void QLinearConv(Maker& m) {
  const Tensor x = m.Value(Operand::kByte, 3, 4);
  m.ScaleAndZero(x.elem_type, {}, m.Scale());
  const ConvShape shape = ConvShapeFor(m, x.dims);
  const std::int64_t channels = shape.groups * shape.filters;
  const Tensor w = m.New(Operand::kByte, Joined({channels, x.dims[1] / shape.groups}, shape.kernel),
                         std::nullopt, true);
  m.ScaleAndZero(w.elem_type, ZeroShape(m, channels), m.Scale());
  const ElementType type = m.Chance(50) ? ElementType::kUint8 : ElementType::kInt8;
  m.draft().result = type;
  m.ScaleAndZero(type, {}, m.Scale() * 32);
  ConvAttributes(m, shape);
}

constexpr FuzzedOperator kOperators[] = {
    {"Abs", 13, Unary},
    {"Add", 13, Binary},
    {"AveragePool", 13, AveragePool},
    {"Clip", 13, Clip},
    {"Concat", 13, Concat},
    {"Conv", 13, Conv},
    {"ConvInteger", 13, ConvInteger},
    {"ConvTranspose", 13, ConvTranspose},
    {"DequantizeLinear", 13, DequantizeLinear},
    {"Div", 13, Binary},
    {"Elu", 13, Unary},
    {"Exp", 13, Unary},
    {"Flatten", 13, Flatten},
    {"Gather", 13, Gather},
    {"Gemm", 13, Gemm},
    {"GlobalAveragePool", 13, GlobalPool},
    {"GlobalMaxPool", 13, GlobalPool},
    {"HardSigmoid", 13, Unary},
    {"HardSwish", 14, Unary},
    {"LayerNormalization", 17, LayerNormalization},
    {"LeakyRelu", 13, LeakyRelu},
    {"LogSoftmax", 13, AlongAxis},
    {"MatMul", 13, MatMul},
    {"MatMulInteger", 13, MatMulInteger},
    {"Max", 13, Binary},
    {"MaxPool", 13, MaxPool},
    {"Min", 13, Binary},
    {"Mul", 13, Binary},
    {"Neg", 13, Unary},
    {"PRelu", 16, Binary},
    {"Pad", 13, Pad},
    {"QLinearConv", 13, QLinearConv},
    {"QLinearMatMul", 13, QLinearMatMul},
    {"QuantizeLinear", 13, QuantizeLinear},
    {"ReduceMax", 13, Reduce},
    {"ReduceMean", 13, Reduce},
    {"ReduceMin", 13, Reduce},
    {"Relu", 13, Unary},
    {"Reshape", 13, Reshape},
    {"Sigmoid", 13, Unary},
    {"Slice", 13, Slice},
    {"Softmax", 13, AlongAxis},
    {"Split", 13, Split},
    {"Sqrt", 13, Unary},
    {"Squeeze", 13, Squeeze},
    {"Sub", 13, Binary},
    {"Tanh", 13, Unary},
    {"Transpose", 13, Transpose},
    {"Unsqueeze", 13, Unsqueeze},
};

}  // namespace

std::span<const FuzzedOperator> FuzzedOperators() { return kOperators; }

}  // namespace qtx::conformance
