// Which of TFLite's kernels a clause states, by types and parameters alone: what runs asks before
// it computes, FindUnmodelled before anything runs.
#pragma once

#include <array>

#include "qtx/reference/op.h"

namespace qtx::reference {

/// A value's type without its dims. Borrows the parameters. Implicit: of a tensor, or of an output
/// to be, the conditions below ask the same.
struct ValueType {
  ValueType(const format::Tensor& tensor)  // NOLINT(google-explicit-constructor)
      : ValueType(tensor.elem_type, tensor.quantization) {}
  ValueType(const OutputType& type)  // NOLINT(google-explicit-constructor)
      : ValueType(type.elem_type, type.quantization) {}
  ValueType(format::ElementType type, const std::optional<format::Quantization>& parameters)
      : elem_type(type), quantization(parameters ? &*parameters : nullptr) {}

  format::ElementType elem_type;
  const format::Quantization* quantization;  // nullptr: none
};

/// The node's origin is this operator of TFLite.
bool StandsFor(const format::Node& node, std::string_view kernel);
/// Its reals are FLOAT16 or BFLOAT16, which no kernel of stored integers is for: quantization.S13.
bool HasHalfReals(const ValueType& type);
/// Quantized by one scale and no base, with reals of FLOAT.
bool HasOneScale(const ValueType& type);
/// Equal scales and offsets.  REQUIRES: HasOneScale of both.
bool MapsAlike(const ValueType& a, const ValueType& b);
bool HasOffset(const ValueType& type);
/// INT8Q or UINT8Q.
bool Is8Bit(const ValueType& type);

/// The integer attribute of a TFLite operator that the node stands for, else `otherwise`.
std::int64_t OriginInt(const format::Node& node, std::string_view name, std::int64_t otherwise);

/// Add and Sub, or another operator that multiplies, of a and b to y, in that order: tflite.S5,
/// .S6, .S12, and the kernels of other systems.
bool HasBinaryKernel(const Arithmetic& arithmetic, const format::Node& node,
                     const std::array<ValueType, 3>& types);
/// ADD and SUB that shift one addend, by the power of two of their scales; `one_shape`: a and b
/// have one, which ADD needs.  Source: tflite.S12.
bool HasShiftedSum(const Arithmetic& arithmetic, const format::Node& node,
                   const std::array<ValueType, 3>& types, bool one_shape);
bool HasAverageKernel(const Arithmetic& arithmetic, const ValueType& x,
                      const ValueType& y);  // tflite.S7, .S12
/// MEAN, a node of that origin or of none: tflite_float64.S3, tflite_half_up.S4.
bool HasMeanKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                   const ValueType& y);
/// SUM, a node of that origin or of none: tflite_half_up.S9.
bool HasSumKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                  const ValueType& y);
bool HasSoftmaxKernel(const ValueType& x, const ValueType& y);  // tflite.S8
/// Sigmoid, Tanh, LeakyRelu, RSQRT; `wide`: of INT16Q too.  Source: tflite.S13, .S15, .S16.
bool HasUnaryKernel(const ValueType& x, const ValueType& y, bool wide);
/// Sigmoid, Tanh and Softmax of INT16Q: tflite_float64.S4, .S5.
bool HasWordKernel(const Arithmetic& arithmetic, const ValueType& x, const ValueType& y);
/// Exp and Gelu: tflite_float64.S9.
bool HasTableKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                    const ValueType& y);
/// HardSwish: tflite_float64.S10.
bool HasSwishKernel(const Arithmetic& arithmetic, const ValueType& x, const ValueType& y);
/// LpNormalization of 8 bits, a node that stands for L2_NORMALIZATION: tflite_float64.S12.
bool HasNormKernel(const Arithmetic& arithmetic, const format::Node& node, const ValueType& x,
                   const ValueType& y);
/// Div of a and b to y, a node that stands for DIV or has no origin: tflite_float64.S14.
bool HasDivKernel(const Arithmetic& arithmetic, const format::Node& node,
                  const std::array<ValueType, 3>& types);
/// LogSoftmax of 8 bits: tflite_float64.S11.
bool HasLogSoftmaxKernel(const Arithmetic& arithmetic, const ValueType& x, const ValueType& y);
/// FULLY_CONNECTED of FLOAT by INT8Q; `bias` may be nullptr.  Source: tflite.S14.
bool HasHybridKernel(const format::Node& node, const ValueType& x, const ValueType& w,
                     const ValueType* bias, const ValueType& y);

/// XNNPACK adds a value of this ratio to the result's scale: xnnpack.C2, qnnpack.C2.
bool HasXnnpackRatio(float ratio);
/// XNNPACK multiplies by it with 8 fractional bits: xnnpack.C3.
bool HasXnnpackFactor(float factor);

/// MatMul that is BATCH_MATMUL; `constant_matrix`: w is an initializer of rank 2.
bool IsBatchMatMul(const format::Node& node, bool constant_matrix);
/// Conv, ConvTranspose, Gemm, MatMul of integers that one accumulator sums: tflite.S2 to .S4, .S12.
bool HasProductKernel(const Arithmetic& arithmetic, const format::Node& node, bool batched,
                      const std::array<ValueType, 3>& types);

}  // namespace qtx::reference
