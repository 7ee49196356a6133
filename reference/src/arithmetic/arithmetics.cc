// The rows: every named arithmetic that the reference implements.
#include <algorithm>
#include <array>
#include <string>

#include "qtx/reference/arithmetic.h"

namespace qtx::reference {
namespace {

using Accumulator = RequantizeRecipe::Accumulator;
using BiasUse = RequantizeRecipe::Bias;
using Multiplier = RequantizeRecipe::Multiplier;
using Offset = QuantizeRecipe::Offset;
using Origin = RequantizeRecipe::Origin;
using Rounds = RequantizeRecipe::Rounds;
using Step = QuantizeRecipe::Step;

constexpr FactorRecipe kInBinary32{Width::kFloat32, Width::kFloat32};
constexpr FactorRecipe kInBinary64{Width::kFloat64, Width::kFloat64};

// Every sum of products by one recipe.
constexpr void SetSums(const RequantizeRecipe& recipe, Arithmetic* row) {
  row->products = row->unsigned_products = {recipe, recipe, recipe, recipe, recipe};
  row->scalar_scales = recipe.factor.scales;
}

constexpr Arithmetic Named(std::string_view name, Domain domain) {
  Arithmetic row;
  row.name = name;
  row.domain = domain;
  row.rescale.multiplier = row.activation.multiplier = row.multiply.multiplier = Multiplier::kNone;
  if (domain != Domain::kExact) row.quantize.value = QuantizeRecipe::Value::kFloat32;
  return row;
}

// binary32(accumulator) times a binary32 factor, one rounding.
constexpr RequantizeRecipe Float(Accumulator accumulator) {
  RequantizeRecipe recipe;
  recipe.multiplier = Multiplier::kFloat;
  recipe.factor = kInBinary32;
  recipe.bias = BiasUse::kRescaled;
  recipe.accumulator = accumulator;
  return recipe;
}

// An int32 accumulator times a Q0.31 mantissa, then a shift.
constexpr RequantizeRecipe Fixed(const FactorRecipe& factor, Rounds rounds, TieRule tie) {
  RequantizeRecipe recipe;
  recipe.multiplier = Multiplier::kMantissa;
  recipe.factor = factor;
  recipe.rounds = rounds;
  recipe.tie = tie;
  recipe.bias = BiasUse::kRescaled;
  recipe.accumulator = Accumulator::kWrap32;
  return recipe;
}

// exact.S1: everything rounds once, from the exact real.
constexpr Arithmetic Exact() { return Named("exact", Domain::kExact); }

// Proposal 0003: the offset is added to the exact quotient, and their sum is rounded.
constexpr Arithmetic ExactOffsetBeforeRounding() {
  Arithmetic row = Exact();
  row.quantize.offset = Offset::kBeforeRounding;
  RequantizeRecipe recipe;
  recipe.offset = Offset::kBeforeRounding;
  SetSums(recipe, &row);
  for (RequantizeRecipe Arithmetic::*other : {&Arithmetic::wide_requantize, &Arithmetic::rescale,
                                              &Arithmetic::activation, &Arithmetic::multiply}) {
    (row.*other).offset = Offset::kBeforeRounding;
  }
  return row;
}
constexpr Arithmetic kExactOffsetBeforeRounding = ExactOffsetBeforeRounding();

// float32.S1 to .S7: ONNX Runtime's QDQ and QLinear operators.
constexpr Arithmetic Float32() {
  Arithmetic row = Named("float32", Domain::kFloat32);
  SetSums(Float(Accumulator::kExact), &row);
  return row;
}

// float32_fma.S1: as float32, but compilers and kernels fuse sums of products.
constexpr Arithmetic Float32Fma() {
  Arithmetic row = Float32();
  row.name = "float32-fma";
  row.contraction = Arithmetic::Contraction::kFused;
  return row;
}

// onnxruntime.S1 to .S8: as float32, with kernels of 8 bits and accumulators of 32.
constexpr Arithmetic OnnxRuntime() {
  Arithmetic row = Float32();
  row.name = "onnxruntime";
  row.quantize.nan = QuantizeRecipe::Nan::kMin;
  RequantizeRecipe recipe = Float(Accumulator::kWrap32);
  recipe.nan = QuantizeRecipe::Nan::kMin;
  SetSums(recipe, &row);
  row.kernels = Arithmetic::Kernels::kOnnxRuntime;
  return row;
}

// TFLite's kernels, with one pair of rounding rules in those that tflite_double.S1 and
// tflite_single.S1 name; those of 16 bits and tflite.S13 to .S19 have their own.
constexpr Arithmetic TfliteEverywhere(std::string_view name, Rounds rounds) {
  Arithmetic row = Named(name, Domain::kStored);
  row.quantize.tie = TieRule::kHalfAway;
  RequantizeRecipe recipe = Fixed(kInBinary64, rounds, TieRule::kHalfUp);
  recipe.bias = BiasUse::kStored;
  SetSums(recipe, &row);
  row.scalar_scales = Width::kFloat32;
  RequantizeRecipe of_unsigned = recipe;
  of_unsigned.factor.scales = Width::kFloat32;
  row.unsigned_products = {of_unsigned, of_unsigned, of_unsigned, of_unsigned, of_unsigned};
  row.rescale = row.activation = row.multiply = recipe;
  row.activation.factor = row.multiply.factor = kInBinary32;
  row.add = {.kind = AddRecipe::Kind::kShifted, .left_shift = 20, .wide_left_shift = 15};
  row.wide_requantize = Fixed(kInBinary64, Rounds::kOnce, TieRule::kHalfUp);
  row.wide_requantize.bias = BiasUse::kStored;
  row.wide_requantize.narrowed = RequantizeRecipe::Narrowed::kTo15;
  row.wide_requantize.accumulator = Accumulator::kClamp48;
  row.wide_requantize.exponents = {-2000, 7, "tflite.S12"};
  row.wide_biased_requantize = Float(Accumulator::kExact);
  row.wide_biased_requantize.factor = kInBinary64;
  row.wide_biased_requantize.product = Width::kFloat64;
  row.wide_biased_requantize.tie = TieRule::kHalfAway;
  row.wide_biased_requantize.bias = BiasUse::kStored;
  row.kernels = Arithmetic::Kernels::kTflite;
  return row;
}

// tflite.S1 onwards: the builtin kernels as deployed. uint8 goes through gemmlowp's output pipeline
// also in CONV_2D: one rounding misses 2230 elements of the golden data of MobileNet v1, two none.
constexpr Arithmetic Tflite() {
  Arithmetic row = TfliteEverywhere("tflite", Rounds::kTwice);
  row.products.conv.rounds = row.products.connected.rounds = Rounds::kOnce;
  return row;
}

constexpr Arithmetic TfliteDouble(std::string_view name) {
  Arithmetic row = TfliteEverywhere(name, Rounds::kTwice);
  row.transposes_bytes = true;
  return row;
}

// tflite_half_up.S1 to .S7: the builtin kernels of LiteRT on x86-64.
constexpr Arithmetic TfliteHalfUp() {
  Arithmetic row = TfliteDouble("tflite-half-up");
  for (ProductRecipes* products : {&row.products, &row.unsigned_products}) {
    products->conv.rounds = products->connected.rounds = Rounds::kTwiceHalfUp;
    products->depthwise.rounds = products->batched.rounds = Rounds::kTwiceWrapped;
    products->transposed = products->conv;
  }
  row.products.depthwise.rounds = Rounds::kTwiceHalfUp;
  row.products.depthwise.block = row.products.transposed.block = 8;
  row.litert = Arithmetic::LiteRt::kBuiltin;
  return row;
}

// tflite_float64.S1 to .S7: LiteRT's reference kernels.
constexpr Arithmetic TfliteFloat64() {
  Arithmetic row = TfliteDouble("tflite-float64");
  RequantizeRecipe recipe = row.wide_biased_requantize;
  recipe.accumulator = Accumulator::kWrap32;
  row.products.connected = row.unsigned_products.connected = recipe;
  row.litert = Arithmetic::LiteRt::kReference;
  return row;
}

// TOSA's RESCALE: fixed_point.S1 to .S5, fixed_point_double.S1.
constexpr Arithmetic FixedPoint(std::string_view name, Rounds rounds, std::string_view clause) {
  Arithmetic row = Named(name, Domain::kExact);
  RequantizeRecipe recipe = Fixed(kInBinary64, rounds, TieRule::kHalfUp);
  recipe.origin = Origin::kDeclared;
  recipe.exponents = {-31, 29, clause};
  SetSums(recipe, &row);
  row.rescale = recipe;
  return row;
}

// fixed_point_16.S1: a 16-bit multiplier and 48-bit accumulators.
constexpr Arithmetic FixedPoint16() {
  Arithmetic row = Named("fixed-point-16", Domain::kExact);
  RequantizeRecipe recipe = Fixed(kInBinary64, Rounds::kOnce, TieRule::kHalfUp);
  recipe.mantissa_bits = 15;
  recipe.exponents = {-47, 13, "fixed_point_16.C1"};
  recipe.accumulator = Accumulator::kClamp48;
  SetSums(recipe, &row);
  row.rescale = recipe;
  return row;
}

// pow2.S1, pow2_half_up.S1: with such scales every factor is a shift, and exact arithmetic is one
// shift with one rounding.
constexpr Arithmetic Pow2(std::string_view name, TieRule tie, std::string_view clause) {
  Arithmetic row = Named(name, Domain::kExact);
  row.quantize.tie = tie;
  row.requirement = {Requirement::Kind::kPowersOfTwo, clause};
  return row;
}

// fbgemm.S1 to .S4.
constexpr Arithmetic Fbgemm() {
  Arithmetic row = Named("fbgemm", Domain::kFloat32);
  row.quantize.step = Step::kReciprocal;
  SetSums(Float(Accumulator::kWrap32), &row);
  return row;
}

constexpr AddRecipe CommonShift(int bits, TieRule tie, std::string_view clause) {
  return {
      .kind = AddRecipe::Kind::kCommonShift, .mantissa_bits = bits, .tie = tie, .clause = clause};
}

// xnnpack.S1 to .S10.
constexpr Arithmetic Xnnpack() {
  Arithmetic row = Named("xnnpack", Domain::kFloat32);
  row.quantize.step = Step::kReciprocal;
  row.quantize.nan = QuantizeRecipe::Nan::kMax;
  RequantizeRecipe recipe = Float(Accumulator::kWrap32);
  recipe.exponents = {-2000, 8, "xnnpack.C1"};
  SetSums(recipe, &row);
  row.multiply = recipe;
  row.add = CommonShift(21, TieRule::kHalfUp, "xnnpack.C2");
  row.kernels = Arithmetic::Kernels::kXnnpack;
  return row;
}

// xnnpack_rndnu.S1 to .S3: Arm's kernels, a 24-bit mantissa in place of the binary32 product.
constexpr Arithmetic XnnpackRndnu() {
  Arithmetic row = Xnnpack();
  row.name = "xnnpack-rndnu";
  RequantizeRecipe recipe = Fixed(kInBinary32, Rounds::kOnce, TieRule::kHalfUp);
  recipe.exponents = {-31, 8, "xnnpack_rndnu.C1"};
  SetSums(recipe, &row);
  row.multiply = recipe;
  return row;
}

// qnnpack.S1 to .S5.
constexpr Arithmetic Qnnpack() {
  Arithmetic row = Named("qnnpack", Domain::kFloat32);
  row.quantize.step = Step::kReciprocal;
  RequantizeRecipe recipe = Fixed(kInBinary32, Rounds::kTwice, TieRule::kHalfUp);
  recipe.exponents = {-31, 0, "qnnpack.C1"};
  SetSums(recipe, &row);
  row.add = CommonShift(22, TieRule::kHalfAway, "qnnpack.C2");
  return row;
}

// glow.S1 to .S5.
constexpr Arithmetic Glow() {
  Arithmetic row = Named("glow", Domain::kFloat32);
  row.quantize.offset = Offset::kBeforeRounding;
  RequantizeRecipe recipe = Fixed(kInBinary32, Rounds::kOnce, TieRule::kHalfUp);
  recipe.multiplier = Multiplier::kPreShift;
  recipe.exponents = {-31, 8, "glow.C1"};
  SetSums(recipe, &row);
  row.rescale = row.multiply = recipe;
  row.add = {.kind = AddRecipe::Kind::kEach};
  return row;
}

// tvm_upward.S1 to .S5, tvm_to_nearest.S1.
constexpr Arithmetic Tvm(std::string_view name, TieRule tie, std::string_view clause) {
  Arithmetic row = Named(name, Domain::kFloat32);
  row.quantize.offset = Offset::kBeforeRounding;
  row.quantize.tie = TieRule::kHalfAway;
  RequantizeRecipe recipe = Fixed({Width::kFloat32, Width::kFloat64}, Rounds::kOnce, tie);
  recipe.exponents = {-2000, 2000, clause, true};  // every one of binary64
  SetSums(recipe, &row);
  row.rescale = row.multiply = recipe;
  row.add = {.kind = AddRecipe::Kind::kEach};
  return row;
}

// onnx_reference.S1 to .S3.
constexpr Arithmetic OnnxReference() {
  Arithmetic row = Named("onnx-reference", Domain::kFloat32);
  RequantizeRecipe recipe = Float(Accumulator::kWrap32);
  recipe.product = Width::kFloat64;
  recipe.offset = Offset::kBeforeRounding;
  SetSums(recipe, &row);
  return row;
}

// onednn.S1 to .S3.
constexpr Arithmetic Onednn(std::string_view name) {
  Arithmetic row = Named(name, Domain::kFloat32);
  row.quantize.step = Step::kReciprocal;
  row.quantize.offset = Offset::kBeforeRounding;
  row.quantize.nan = QuantizeRecipe::Nan::kMax;
  RequantizeRecipe recipe = Float(Accumulator::kWrap32);
  recipe.multiplier = Multiplier::kTwoSteps;
  recipe.offset = Offset::kBeforeRounding;
  recipe.nan = QuantizeRecipe::Nan::kMax;
  recipe.bias = BiasUse::kReal;
  SetSums(recipe, &row);
  return row;
}

// onednn_avx2.S1: without VNNI, pairs of products meet in 16 bits.
constexpr Arithmetic OnednnAvx2() {
  Arithmetic row = Onednn("onednn-avx2");
  for (RequantizeRecipe ProductRecipes::*kernel :
       {&ProductRecipes::conv, &ProductRecipes::depthwise, &ProductRecipes::connected,
        &ProductRecipes::batched, &ProductRecipes::transposed}) {
    (row.unsigned_products.*kernel).accumulator = Accumulator::kPairs16;
  }
  return row;
}

// ggml.S1 to .S4, ggml_avx2.S1 to .S3: as float32, with products by weights in blocks of 32.
constexpr Arithmetic Ggml(std::string_view name, Arithmetic::Kernels kernels) {
  Arithmetic row = Float32();
  row.name = name;
  row.kernels = kernels;
  return row;
}

constexpr std::array kArithmetics = {
    Exact(),
    Float32(),
    Float32Fma(),
    OnnxRuntime(),
    Tflite(),
    TfliteDouble("tflite-double"),
    TfliteEverywhere("tflite-single", Rounds::kOnce),
    TfliteHalfUp(),
    TfliteFloat64(),
    FixedPoint("fixed-point", Rounds::kOnce, "fixed_point.C1"),
    FixedPoint("fixed-point-double", Rounds::kTwiceUnsaturated, "fixed_point_double.C1"),
    FixedPoint16(),
    Pow2("pow2", TieRule::kHalfEven, "pow2.C1"),
    Pow2("pow2-half-up", TieRule::kHalfUp, "pow2_half_up.C1"),
    Fbgemm(),
    Xnnpack(),
    XnnpackRndnu(),
    Qnnpack(),
    Glow(),
    Tvm("tvm-upward", TieRule::kHalfUp, "tvm_upward.C1"),
    Tvm("tvm-to-nearest", TieRule::kHalfAway, "tvm_to_nearest.C1"),
    OnnxReference(),
    Onednn("onednn"),
    OnednnAvx2(),
    Ggml("ggml", Arithmetic::Kernels::kGgml),
    Ggml("ggml-avx2", Arithmetic::Kernels::kGgmlAvx2),
};

// cmsis_nn.S1: the same kernels as TFLite Micro's, optimised.
constexpr std::array kAliases = {Alias{"cmsis-nn", "tflite-double"}};

std::string Names() {
  std::string names;
  for (const Arithmetic& row : kArithmetics) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  for (const Alias& alias : kAliases) names += ", " + std::string(alias.name);
  return names;
}

}  // namespace

std::span<const Arithmetic> Arithmetics() { return kArithmetics; }
std::span<const Alias> Aliases() { return kAliases; }

Result<const Arithmetic*> FindArithmetic(std::string_view name, format::Features features) {
  if (name == "exact" && features.Has(format::Feature::kOffsetBeforeRounding)) {
    return &kExactOffsetBeforeRounding;
  }
  const auto alias = std::ranges::find(kAliases, name, &Alias::name);
  const std::string_view wanted = alias == kAliases.end() ? name : alias->of;
  const auto row = std::ranges::find(kArithmetics, wanted, &Arithmetic::name);
  if (row != kArithmetics.end()) return &*row;
  return Error{ErrorCode::kUnsupported, "arithmetic",
               "found '" + std::string(name) + "', expected one of " + Names()};
}

}  // namespace qtx::reference
