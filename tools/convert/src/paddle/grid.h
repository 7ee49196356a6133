// The integers of one of Paddle's quantizers and what they stand for: real = stored * scale, scale
// = max_abs / quant_max, quant_max = 2^(bit_length - 1) - 1, no offset.
#pragma once

#include "paddle/ops.h"

namespace qtx::convert::paddle {

struct Grid {
  std::vector<float> scale;
  std::vector<float> max_abs;  // empty: only their quotients are known
  std::int64_t quant_max = 127;
  std::int64_t quant_min = -128;
  bool away = false;  // from zero: how ties are rounded, where something is yet to be
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
/// The values of a FLOAT parameter.  Errors: kUnsupported when it is computed, or no FLOAT.
Result<std::vector<float>> FloatsOf(const Builder& builder, const Op& op,
                                    std::string_view parameter, std::size_t i = 0);
/// The grid of `op`, whose input `parameter` has the max_abs.  Errors: kUnsupported for a ZeroPoint
/// that is not 0 and for float8.
Result<Grid> GridOf(const Builder& builder, const Op& op, std::string_view parameter);
/// scale, from max_abs.  Errors: kInvalid when one is not finite and above 0.
Result<void> FillScale(const Op& op, Grid& grid);

/// The annotation of the real value `value`: what the import folds into its type.
void Annotate(Builder& builder, const std::string& value, const Grid& grid);
/// `value` holds the integers, and has the shape of `like`.
void DeclareStored(Builder& builder, const std::string& value, const std::string& like,
                   const Grid& grid);
/// A QuantizeLinear or DequantizeLinear.
void Linear(Builder& builder, const char* op_type, const std::string& x, const std::string& y,
            const Grid& grid);
/// QuantizeLinear and DequantizeLinear from `x` to the output Out.
Result<std::string> Pair(Builder& builder, const Op& op, const std::string& x, const Grid& grid);

/// Makes what `var` stands for a value of the grid that `from` has, and gives it `from`'s units:
/// for an operator that gives nothing but elements of its input. Nothing where `from` has no grid.
void Carry(Builder& builder, const std::string& from, const std::string& var);

/// The integers of a constant, in floats or as such, as an initializer and a DequantizeLinear that
/// gives `y`.  Errors: kInvalid for what is no integer of the grid.
Result<void> Weights(Builder& builder, const Op& op, const format::Tensor& tensor, Grid grid,
                     const std::string& y);
/// A FLOAT constant quantized as a run would, by the largest magnitudes that it has itself, which
/// become the grid's.  REQUIRES: axis and rounding of the grid.
Result<format::Tensor> QuantizeConstant(const Op& op, const format::Tensor& tensor, Grid& grid);

}  // namespace qtx::convert::paddle
