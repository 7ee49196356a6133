#include "support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#if defined(__x86_64__)
#include "x86/x86.h"
#elif defined(__aarch64__)
#include "arm/arm.h"
#endif

namespace qtx::backend::engine {

std::span<const Kernels* const> KernelsUnderTest() {
#if defined(__x86_64__)
  return X86Kernels();
#elif defined(__aarch64__)
  return ArmKernels();
#else
  static const Kernels* const kPortable = &PortableKernels();
  return {&kPortable, 1};
#endif
}

format::Tensor Quantized(format::ElementType type, format::Dims dims,
                         std::vector<Parameters> parameters, std::span<const std::int32_t> stored,
                         std::int64_t axis) {
  format::Quantization q;
  for (const Parameters& p : parameters) {
    q.scale.push_back(p.scale);
    q.offset.push_back(p.offset);
  }
  if (parameters.size() > 1) q.axis = {axis};
  auto tensor = format::MakeTensor(type, std::move(dims), std::move(q));
  EXPECT_TRUE(tensor.has_value());
  if (!stored.empty()) format::PackInt32(stored, *tensor);
  return *tensor;
}

format::Tensor Integers(format::Dims dims, std::span<const std::int64_t> values) {
  auto tensor = format::MakeTensor(format::ElementType::kInt64, std::move(dims));
  std::ranges::copy(values, tensor->As<std::int64_t>().begin());
  return *tensor;
}

format::Tensor Floats(format::Dims dims, std::span<const float> values) {
  auto tensor = format::MakeTensor(format::ElementType::kFloat, std::move(dims));
  std::ranges::copy(values, tensor->As<float>().begin());
  return *tensor;
}

std::vector<std::int32_t> Random(format::ElementType type, std::int64_t count,
                                 std::mt19937& random) {
  const format::IntegerRange range = format::StorageRange(type);
  std::uniform_int_distribution<std::int64_t> stored(range.min, range.max);
  std::vector<std::int32_t> values(static_cast<std::size_t>(count));
  for (auto& value : values) value = static_cast<std::int32_t>(stored(random));
  return values;
}

namespace {

format::ValueInfo InfoOf(const std::string& name, const format::Tensor& tensor) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = tensor.elem_type;
  info.type->shape = format::ToShape(tensor.dims);
  info.type->quantization = tensor.quantization;
  return info;
}

}  // namespace

format::Model OneNode(const std::string& op_type, const std::vector<Argument>& arguments,
                      const format::Tensor& output, std::vector<format::Attribute> attributes) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 23}, {"qtx", 1}};
  format::Node node;
  node.op_type = op_type;
  node.name = op_type;
  node.outputs = {"y"};
  node.attributes = std::move(attributes);
  for (const Argument& argument : arguments) {
    node.inputs.push_back(argument.name);
    if (argument.name.empty()) continue;
    if (argument.constant) {
      model.graph.initializers.push_back(format::ToTensorData(argument.name, argument.tensor));
      model.graph.values.push_back(InfoOf(argument.name, argument.tensor));
    } else {
      model.graph.inputs.push_back(InfoOf(argument.name, argument.tensor));
    }
  }
  model.graph.outputs.push_back(InfoOf("y", output));
  model.graph.nodes.push_back(std::move(node));
  return model;
}

Result<format::Tensor> ComputeOneNode(const Kernels& kernels, const std::string& op_type,
                                      const std::vector<Argument>& arguments,
                                      const format::Tensor& output,
                                      std::vector<format::Attribute> attributes, Path path,
                                      int threads) {
  QTX_ASSIGN_OR_RETURN(const auto prepared,
                       PrepareModel(OneNode(op_type, arguments, output, std::move(attributes)),
                                    kernels, {.path = path, .threads = threads}));
  std::vector<format::Tensor> inputs;
  for (const Argument& argument : arguments) {
    if (!argument.constant && !argument.name.empty()) inputs.push_back(argument.tensor);
  }
  QTX_ASSIGN_OR_RETURN(std::vector<format::Tensor> outputs, prepared->Run(inputs));
  return std::move(outputs.front());
}

std::vector<std::int32_t> RunOneNode(const Kernels& kernels, const std::string& op_type,
                                     const std::vector<Argument>& arguments,
                                     const format::Tensor& output,
                                     std::vector<format::Attribute> attributes) {
  const auto y = ComputeOneNode(kernels, op_type, arguments, output, std::move(attributes));
  if (!y.has_value()) {
    ADD_FAILURE() << y.error().where << ": " << y.error().message;
    return {};
  }
  return format::UnpackInt32(*y);
}

Dyadic operator*(Dyadic a, Dyadic b) { return {a.mantissa * b.mantissa, a.exponent + b.exponent}; }

Dyadic operator+(Dyadic a, Dyadic b) {
  if (a.mantissa == 0) return b;
  if (b.mantissa == 0) return a;
  const int exponent = std::min(a.exponent, b.exponent);
  return {a.mantissa * (__int128{1} << (a.exponent - exponent)) +
              b.mantissa * (__int128{1} << (b.exponent - exponent)),
          exponent};
}

Dyadic Exactly(float value) {
  int exponent = 0;
  auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 24));
  if (mantissa == 0) return {0, 0};
  for (exponent -= 24; mantissa % 2 == 0; ++exponent) mantissa /= 2;
  return {mantissa, exponent};
}

std::int64_t RoundSlowly(Dyadic value, float scale, std::int32_t offset,
                         format::IntegerRange stored, std::int64_t divisor) {
  const Dyadic unit = Exactly(scale) * Exactly(divisor);
  if (value.mantissa == 0) return std::clamp<std::int64_t>(offset, stored.min, stored.max);
  const int exponent = std::min(value.exponent, unit.exponent);
  const __int128 top = value.mantissa * (__int128{1} << (value.exponent - exponent));
  const __int128 bottom = unit.mantissa * (__int128{1} << (unit.exponent - exponent));
  __int128 quotient = top / bottom;
  __int128 rest = top % bottom;
  if (rest < 0) {
    rest += bottom;
    --quotient;
  }
  if (2 * rest > bottom || (2 * rest == bottom && quotient % 2 != 0)) ++quotient;
  const __int128 result = quotient + offset;
  if (result < stored.min) return stored.min;
  return result > stored.max ? stored.max : static_cast<std::int64_t>(result);
}

}  // namespace qtx::backend::engine
