// K-quants as quantized types with levels, against the reals that ggml's own package gives for the
// same bytes.
#include <gtest/gtest.h>

#include <cmath>

#include "qtx/format/file.h"
#include "qtx/format/npy.h"
#include "qtx/reference/interpreter.h"
#include "super_block.h"

namespace qtx::reference::testing::k_quants_test {
namespace {

using format::BlockFactors;
using format::Dims;
using format::ElementType;
using format::Tensor;

Tensor ReadGolden(const std::string& name) {
  const std::string path =
      std::string(QTX_SOURCE_DIR) + "/reference/tests/k_quants/" + name + ".npy";
  return *format::ParseNpy(*format::ReadFile(path, 1 << 20));
}

// Of a matrix, row after row.
struct Matrix {
  Dims dims;  // [rows, weights]
  std::vector<SuperBlock> blocks;
};

Matrix ReadMatrix(const KQuant& k_quant) {
  const Tensor golden = ReadGolden(k_quant.name + "_blocks");
  const auto bytes = golden.As<std::uint8_t>();
  Matrix matrix;
  for (std::size_t at = 0; at < bytes.size(); at += k_quant.bytes) {
    matrix.blocks.push_back(k_quant.unpack(bytes.subspan(at, k_quant.bytes)));
  }
  matrix.dims = {golden.dims[0], std::ssize(matrix.blocks) * 256 / golden.dims[0]};
  return matrix;
}

Tensor Integers(ElementType type, Dims dims, const std::vector<std::int32_t>& values) {
  Tensor tensor = *format::MakeTensor(type, std::move(dims));
  format::PackInt32(values, tensor);
  return tensor;
}

Tensor Halves(Dims dims, const std::vector<float>& values) {
  Tensor tensor = *format::MakeTensor(ElementType::kFloat16, std::move(dims));
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.As<std::uint16_t>()[i] = static_cast<std::uint16_t>(
        format::EncodeSmallFloat(ElementType::kFloat16, static_cast<double>(values[i])));
  }
  return tensor;
}

// The levels of one parameter: UINT8 factors of blocks, FLOAT16 ones of super-blocks.
std::vector<BlockFactors> AddLevels(const std::string& name, const Dims& dims,
                                    const std::vector<std::int32_t>& fine,
                                    const std::vector<float>& coarse, format::Model& model) {
  const std::int64_t rows = dims[0];
  model.graph.initializers.push_back(format::ToTensorData(
      name, Integers(ElementType::kUint8, {rows, std::ssize(fine) / rows}, fine)));
  model.graph.initializers.push_back(
      format::ToTensorData(name + "/super", Halves({rows, std::ssize(coarse) / rows}, coarse)));
  std::vector<BlockFactors> levels(2);
  levels[0].tensor = name;
  levels[1].tensor = name + "/super";
  levels[1].block_shape = {1, 256};
  return levels;
}

format::ValueInfo Info(const std::string& name, ElementType type, const Dims& dims) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = type;
  info.type->shape = format::ToShape(dims);
  return info;
}

// A model whose initializer 'w' is the matrix.
format::Model ModelOf(const Matrix& matrix) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17, {}}, {"qtx", 2, {}}};
  std::vector<std::int32_t> weights, scales, mins;
  std::vector<float> d, dmin;
  for (const SuperBlock& raw : matrix.blocks) {
    const SuperBlock block = Canonical(raw);
    weights.insert(weights.end(), block.weight.begin(), block.weight.end());
    scales.insert(scales.end(), block.scale.begin(), block.scale.end());
    mins.insert(mins.end(), block.min.begin(), block.min.end());
    d.push_back(block.d);
    dmin.push_back(-block.dmin);
  }
  format::ValueInfo w = Info("w", ElementType::kInt8Q, matrix.dims);
  format::Quantization& q = w.type->quantization.emplace();
  q.axis = {0, 1};
  q.block_shape = {1, std::ssize(weights) / std::ssize(scales)};
  q.scale_levels = AddLevels("scale", matrix.dims, scales, d, model);
  if (!mins.empty()) q.base_levels = AddLevels("min", matrix.dims, mins, dmin, model);
  model.graph.values = {std::move(w)};
  model.graph.initializers.push_back(
      format::ToTensorData("w", Integers(ElementType::kInt8, matrix.dims, weights)));
  return model;
}

Tensor RunOne(format::Model model, const std::vector<Tensor>& inputs, const char* arithmetic) {
  auto interpreter = Interpreter::Prepare(std::move(model), arithmetic);
  if (!interpreter.has_value()) {
    ADD_FAILURE() << interpreter.error().where << ": " << interpreter.error().message;
    return {};
  }
  auto outputs = interpreter->Run(inputs);
  if (!outputs.has_value()) {
    ADD_FAILURE() << outputs.error().where << ": " << outputs.error().message;
    return {};
  }
  return (*outputs)[0];
}

// d * scale * weight and dmin * min are exact in binary32, so ggml rounds their difference once, as
// both arithmetics here do. A zero has no sign here and may have one there: == takes them as equal.
TEST(KQuants, AreTheRealsOfGgml) {
  for (const KQuant& k_quant : KQuants()) {
    const Matrix matrix = ReadMatrix(k_quant);
    const Tensor golden = ReadGolden(k_quant.name + "_reals");
    ASSERT_EQ(golden.dims, matrix.dims) << k_quant.name;
    format::Model model = ModelOf(matrix);
    format::Node cast;
    cast.op_type = "Cast";
    cast.inputs = {"w"};
    cast.outputs = {"y"};
    cast.attributes = {format::Attribute::Int("to", 1)};
    model.graph.nodes = {cast};
    model.graph.outputs = {Info("y", ElementType::kFloat, matrix.dims)};
    for (const char* arithmetic : {"exact", "float32"}) {
      const Tensor y = RunOne(model, {}, arithmetic);
      ASSERT_EQ(y.dims, golden.dims);
      for (std::size_t i = 0; i < golden.As<float>().size(); ++i) {
        ASSERT_EQ(y.As<float>()[i], golden.As<float>()[i])
            << k_quant.name << " in " << arithmetic << ", weight " << i;
      }
    }
  }
}

// A reader of version 1 must not take the weights for something else. Source: versioning.C2.
TEST(KQuants, AreRefusedByVersionOne) {
  const auto before = format::Features::Current().Without(format::Feature::kHierarchicalScales);
  const auto interpreter =
      Interpreter::Prepare(ModelOf(ReadMatrix(KQuants()[2])), "exact", {}, before);
  ASSERT_FALSE(interpreter.has_value());
  EXPECT_EQ(interpreter.error().code, ErrorCode::kInvalid);
  format::Model claims_version_1 = ModelOf(ReadMatrix(KQuants()[2]));
  claims_version_1.opset_imports[1].version = 1;
  for (const auto features : {before, format::Features::Current()}) {
    EXPECT_FALSE(Interpreter::Prepare(claims_version_1, "exact", {}, features).has_value());
  }
}

// A binary16 is a multiple of 2^-24, so each weight is an integer of less than 2^34 of them; times
// an INT8 and summed over 512 it is less than 2^50.
std::int64_t WeightIn24Bits(const SuperBlock& block, std::size_t i) {
  const auto units = [](float half) {
    return static_cast<std::int64_t>(std::ldexp(static_cast<double>(half), 24));
  };
  const std::size_t at = i * block.scale.size() / 256;
  const std::int64_t product = units(block.d) * block.scale[at] * block.weight[i];
  return block.min.empty() ? product : product - units(block.dmin) * block.min[at];
}

TEST(KQuants, AreMultipliedWithoutRounding) {
  for (const KQuant& k_quant : KQuants()) {
    const Matrix matrix = ReadMatrix(k_quant);
    const std::int64_t length = matrix.dims[1];
    std::vector<std::int32_t> x(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::int32_t>(i * 37 % 255) - 127;
    format::Model model = ModelOf(matrix);
    format::ValueInfo input = Info("x", ElementType::kInt8Q, {1, length});
    input.type->quantization.emplace().scale = {0.5F};
    format::Node gemm;
    gemm.op_type = "Gemm";
    gemm.inputs = {"x", "w"};
    gemm.outputs = {"y"};
    gemm.attributes = {format::Attribute::Int("transB", 1)};
    model.graph.inputs = {input};
    model.graph.nodes = {gemm};
    model.graph.outputs = {Info("y", ElementType::kFloat, {1, matrix.dims[0]})};
    const Tensor y = RunOne(model, {Integers(ElementType::kInt8, {1, length}, x)}, "exact");
    ASSERT_EQ(y.dims, (Dims{1, matrix.dims[0]}));
    for (std::int64_t row = 0; row < matrix.dims[0]; ++row) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const auto at = static_cast<std::size_t>(row * length + i);
        sum += x[static_cast<std::size_t>(i)] * WeightIn24Bits(matrix.blocks[at / 256], at % 256);
      }
      const auto expected = static_cast<float>(std::ldexp(static_cast<double>(sum), -25));
      EXPECT_EQ(y.As<float>()[static_cast<std::size_t>(row)], expected)
          << k_quant.name << ", row " << row;
    }
  }
}

}  // namespace
}  // namespace qtx::reference::testing::k_quants_test
