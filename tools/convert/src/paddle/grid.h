// The quantization grid of Paddle's quantizers: real = stored * scale, scale = max_abs / quant_max,
// quant_max = 2^(bit_length - 1) - 1, no offset.
#pragma once

#include "paddle/ops.h"

namespace qtx::convert::paddle {

struct Grid {
  std::vector<float> scale;
  std::vector<float> max_abs;  // empty: only their ratios are known
  std::int64_t quant_max = 127;
  std::int64_t quant_min = -128;
  bool away = false;  // ties round away from zero, for values still to be quantized
  std::optional<std::int64_t> axis;

  format::ElementType storage() const {
    return quant_max <= 127 ? format::ElementType::kInt8 : format::ElementType::kInt16;
  }
  /// Rounding, by round_type: 0 half to even, clamped to -quant_max - 1; 1, and before there was
  /// such an attribute, clamped to max_abs and then half away from zero.
  /// Source: paddle/phi/kernels/funcs/fake_quantize_functor.h, QuantTensorFunctor;
  /// paddle/phi/kernels/funcs/fake_quantize_functor.cc, ClipAndFakeQuantFunctor.
  void Round(bool ties_away) {
    away = ties_away;
    quant_min = ties_away ? -quant_max : -quant_max - 1;
  }
};

/// 2^(bits - 1) - 1.  Errors: kUnsupported outside 2 to 16 bits.
Result<std::int64_t> QuantMax(const Op& op, std::int64_t bits);
/// The values of a FLOAT parameter.  Errors: kUnsupported when it is computed or not FLOAT.
Result<std::vector<float>> FloatsOf(const Builder& builder, const Op& op,
                                    std::string_view parameter, std::size_t i = 0);
/// The grid of `op`, which has max_abs in its input `parameter`.  Errors: kUnsupported for a
/// ZeroPoint that is not 0 and for float8.
Result<Grid> GridOf(const Builder& builder, const Op& op, std::string_view parameter);
/// scale, from max_abs.  Errors: kInvalid when one is not finite and above 0.
Result<void> FillScale(const Op& op, Grid& grid);

/// Annotates the real value `value`; the import folds that into its type.
void Annotate(Builder& builder, const std::string& value, const Grid& grid);
/// Declares `value` as the integers, with the shape of `like`.
void DeclareStored(Builder& builder, const std::string& value, const std::string& like,
                   const Grid& grid);
/// A QuantizeLinear or DequantizeLinear.
void Linear(Builder& builder, const char* op_type, const std::string& x, const std::string& y,
            const Grid& grid);
/// Emits QuantizeLinear and DequantizeLinear from `x` to Out.
Result<std::string> Pair(Builder& builder, const Op& op, const std::string& x, const Grid& grid);

/// Gives `var` the grid and units of `from`, for operators that only move elements. Does nothing if
/// `from` has no grid.
void Carry(Builder& builder, const std::string& from, const std::string& var);

/// Emits the integers of a constant (stored as floats or integers) as an initializer and a
/// DequantizeLinear to `y`.  Errors: kInvalid for values that are not integers of the grid.
Result<void> Weights(Builder& builder, const Op& op, const format::Tensor& tensor, Grid grid,
                     const std::string& y);
/// Quantizes a FLOAT constant as Paddle would at run time, by its own largest magnitudes, which
/// become the grid's.  REQUIRES: axis and rounding of the grid.
Result<format::Tensor> QuantizeConstant(const Op& op, const format::Tensor& tensor, Grid& grid);

}  // namespace qtx::convert::paddle
