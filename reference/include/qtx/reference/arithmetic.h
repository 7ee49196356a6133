// Named arithmetics as points in a space of recipes: data, not code. The functions of
// src/arithmetic/ interpret these coordinates and never look at the name.
// Source: spec/arithmetic/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "qtx/format/feature.h"
#include "qtx/format/result.h"

namespace qtx::reference {

/// The first four round to the nearest integer and differ on ties; the others cut off.
enum class TieRule { kHalfEven, kHalfAway, kHalfUp, kHalfDown, kTowardZero, kDown };

/// What a number is rounded to, half even, before it is used.
enum class Width { kFloat32, kFloat64 };

/// What an operator without a kernel of its own computes in: exact reals; binary32 values in the
/// stated order; or exact reals, but stored integers where TFLite has a kernel for them.
enum class Domain { kExact, kFloat32, kStored };

/// How a real becomes a stored integer.
struct QuantizeRecipe {
  enum class Value { kExact, kFloat32 } value = Value::kExact;  // width of the quotient
  enum class Step { kDivide, kReciprocal } step = Step::kDivide;
  enum class Offset { kAfterRounding, kBeforeRounding } offset = Offset::kAfterRounding;
  TieRule tie = TieRule::kHalfEven;
  enum class Nan { kOffset, kMin, kMax } nan = Nan::kOffset;
};

/// The real factor of an accumulator: (x_scale * w_scale) / y_scale, in this order.
struct FactorRecipe {
  Width scales = Width::kFloat64;  // x_scale * w_scale; in binary64 it is exact
  Width ratio = Width::kFloat64;   // the quotient by y_scale
  // kQuotientFirst: x_scale * (w_scale / y_scale), each in `ratio`.  kReciprocal: the accumulator
  // times x_scale * w_scale, times 1 / y_scale, each in binary32.
  enum class Order { kProductFirst, kQuotientFirst, kReciprocal } order = Order::kProductFirst;
};

/// Exponents e of a factor q * 2^e, 0.5 <= q < 1, that a kernel takes; others are refused. With the
/// clause that says so, empty where every factor is taken.
struct ExponentRange {
  int min = 0;
  int max = 0;
  std::string_view clause = {};
  bool takes_zero = false;  // a factor that is 0 before it is rounded
};

/// How an integer accumulator becomes a stored integer.
struct RequantizeRecipe {
  enum class Multiplier {
    kNone,      // no such kernel: what the arithmetic's domain gives
    kExact,     // the exact rational
    kFloat,     // the factor as a float, one product in `product`
    kTwoSteps,  // binary32: times x_scale * w_scale, plus the bias, times 1 / y_scale
    kMantissa,  // an integer of `mantissa_bits` rounded half away, and a shift: tflite.S1
    kPreShift,  // a shift, an integer of 8 to 16 bits, a shift: glow.S2
  } multiplier = Multiplier::kExact;
  FactorRecipe factor;
  Width product = Width::kFloat32;
  int mantissa_bits = 31;  // a factor in binary32 leaves the low 7 of 31 zero
  ExponentRange exponents;
  // kDeclared: mantissa and shift of the output's own `requantization`, where it has one.
  enum class Origin { kScales, kDeclared } origin = Origin::kScales;
  // kTwice: after a saturating left shift the doubling high multiply rounds by `tie`, then the
  // right shift half away (tflite.S3). kTwiceUnsaturated: of a left shift the product is rounded
  // once, by `tie` (fixed_point_double.S1). kTwiceWrapped: as kTwice, the left shift wraps.
  // kTwiceHalfUp: so it does, and the right shift rounds half up (tflite_half_up.S1).
  enum class Rounds {
    kOnce,
    kTwice,
    kTwiceUnsaturated,
    kTwiceWrapped,
    kTwiceHalfUp
  } rounds = Rounds::kOnce;
  // Not 0: what kTwiceHalfUp says holds for the channels in whole blocks of so many, kTwiceWrapped
  // for the others.
  int block = 0;
  TieRule tie = TieRule::kHalfEven;
  // kTo15: 31 bits of mantissa are rounded half up to 15, at most 2^15 - 1: tflite.S12.
  enum class Narrowed { kNo, kTo15 } narrowed = Narrowed::kNo;
  QuantizeRecipe::Offset offset = QuantizeRecipe::Offset::kAfterRounding;
  QuantizeRecipe::Nan nan = QuantizeRecipe::Nan::kOffset;  // 0 times an infinite factor
  // kReal: as its exact real, or its binary32 (kTwoSteps).  kRescaled: in the accumulator, brought
  // to x_scale * w_scale.  kStored: in the accumulator, as stored where its scale is nearly that:
  // tflite.S4.
  enum class Bias { kReal, kRescaled, kStored } bias = Bias::kReal;
  // kPairs16: products of neighbouring channels are added in 16 bits, saturating: onednn_avx2.S1.
  // kShiftedPairs16: the same of signed x, shifted by 128 to be unsigned, and shifted back.
  // kWrappedPairs16: pairs of signed x, in 16 bits that wrap.
  // kFloat32: a running sum in binary32.
  enum class Accumulator {
    kExact,
    kWrap32,
    kClamp48,
    kPairs16,
    kShiftedPairs16,
    kWrappedPairs16,
    kFloat32,
    kWrap16,
    kWrap24,
    kClamp24
  } accumulator = Accumulator::kExact;
};

/// How two addends reach the scale of their sum.
struct AddRecipe {
  enum class Kind {
    kDomain,       // no kernel: as `domain`
    kShifted,      // gemmlowp's: to twice the larger scale in 2^-left_shift, and from there
    kCommonShift,  // a * m_a + b * m_b, one shift for both: xnnpack.S4
    kEach,         // each requantized to the output's scale by `rescale`, then added
  } kind = Kind::kDomain;
  int left_shift = 0;              // kShifted: bits of headroom
  int wide_left_shift = 0;         // the same, of 16-bit types
  int mantissa_bits = 0;           // kCommonShift: of the larger multiplier
  TieRule tie = TieRule::kHalfUp;  // kCommonShift: of the shift
  std::string_view clause = {};    // kCommonShift: refuses ratios outside [2^-10, 2^8)
};

/// How an average of stored integers is rounded when `domain` is kStored.
struct AverageRecipe {
  TieRule tie = TieRule::kHalfAway;
};

/// What the scales of a node must be, or the clause named refuses it.
struct Requirement {
  enum class Kind { kNone, kPowersOfTwo } kind = Kind::kNone;
  std::string_view clause = {};
};

/// Of each kernel with an accumulator, as TFLite names them.
struct ProductRecipes {
  RequantizeRecipe conv;        // and of every operator that is none of the others
  RequantizeRecipe depthwise;   // Conv where each group has one input channel
  RequantizeRecipe connected;   // Gemm, and MatMul with a constant matrix: FULLY_CONNECTED
  RequantizeRecipe batched;     // any other MatMul: BATCH_MATMUL
  RequantizeRecipe transposed;  // ConvTranspose: TRANSPOSE_CONV
};

/// One row of the space.
struct Arithmetic {
  std::string_view name;
  Domain domain = Domain::kExact;
  // kFused: a sum of products in binary32 adds each product unrounded.
  enum class Contraction { kNone, kFused } contraction = Contraction::kNone;
  QuantizeRecipe quantize;
  ProductRecipes products;           // signed x
  ProductRecipes unsigned_products;  // unsigned x
  bool transposes_bytes = false;     // domain kStored: ConvTranspose of 8 bits has a kernel
  // Domain kStored: all of them with x of 16 bits but FULLY_CONNECTED, which has `products`, or
  // with a bias the second. Where it is not kNone, Add, Sub, Mul and AveragePool have kernels of 16
  // bits too.
  RequantizeRecipe wide_requantize = {.multiplier = RequantizeRecipe::Multiplier::kNone};
  RequantizeRecipe wide_biased_requantize = wide_requantize;
  // Instead of the recipe's own in Gemm and MatMul when w has one scale.
  Width scalar_scales = Width::kFloat64;
  RequantizeRecipe rescale;     // one quantized type to another: Cast, Reshape, ...
  RequantizeRecipe activation;  // Relu, Clip
  RequantizeRecipe multiply;    // Mul
  AddRecipe add;
  AverageRecipe average;
  // Kernels that share no code with other arithmetics.  kTflite: tflite.S13 to .S19.
  // kOnnxRuntime: of tensors of one type of 8 bits, onnxruntime.S1 to .S5.  kXnnpack: of nodes that
  // stand for TFLite's, xnnpack.S7 to .S10.  kGgml, kGgmlAvx2: of FLOAT by blocks of 32 integers,
  // ggml.S1 to .S3, ggml_avx2.S1 and .S2.
  enum class Kernels {
    kNone,
    kTflite,
    kOnnxRuntime,
    kXnnpack,
    kGgml,
    kGgmlAvx2
  } kernels = Kernels::kNone;
  // Domain kStored: MEAN, RESIZE_BILINEAR, functions of 16 bits, products of FLOAT by int8.
  // kReference: tflite_float64.S3 to .S7.  kBuiltin: those, but of images tflite_half_up.S4, of
  // some scales .S5, of uint8 .S6, and .S7.
  enum class LiteRt { kNone, kReference, kBuiltin } litert = LiteRt::kNone;
  // kSubtracted: builds of TFLite up to 2022 took the offset of an LSTM's output with the wrong
  // sign (the note at tflite.S18). No named row has it.
  enum class LstmOffset { kAdded, kSubtracted } lstm_offset = LstmOffset::kAdded;
  Requirement requirement;
  // Every sum of products is held so, those of plain INT32 results too; kExact: as the recipes
  // say. No named row has it: it describes faults.
  RequantizeRecipe::Accumulator sums = RequantizeRecipe::Accumulator::kExact;
};

/// What the arithmetic met while it ran.
struct Counters {
  std::uint64_t rounded = 0;          // results rounded in arithmetic with an exact coordinate
  std::uint64_t exact_fallbacks = 0;  // of those, how many the error bound could not decide
  std::uint64_t refusals = 0;         // factors that a clause refuses: the node has no result
  std::string_view refused_by = {};   // the last such clause
};

/// A second name of a row: two systems that agree in every coordinate.
struct Alias {
  std::string_view name;
  std::string_view of;
};

std::span<const Arithmetic> Arithmetics();
std::span<const Alias> Aliases();
/// By name or alias, as `features` has it: a proposal may change what `exact` is.
/// Errors: kInvalid, listing the names there are.
Result<const Arithmetic*> FindArithmetic(std::string_view name,
                                         format::Features features = format::Features::Current());

}  // namespace qtx::reference
