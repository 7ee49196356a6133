// Fault models of numbers: rounding, accumulating and storing.
#include <algorithm>
#include <array>

#include "fault.h"

namespace qtx::conformance {
namespace {

using reference::Arithmetic;
using reference::FactorRecipe;
using reference::QuantizeRecipe;
using reference::RequantizeRecipe;
using reference::TieRule;
using Accumulator = RequantizeRecipe::Accumulator;

template <typename Change>
void ForEachRequantize(Arithmetic& row, Change change) {
  for (reference::ProductRecipes* products : {&row.products, &row.unsigned_products}) {
    for (RequantizeRecipe* recipe : {&products->conv, &products->depthwise, &products->connected,
                                     &products->batched, &products->transposed}) {
      change(*recipe);
    }
  }
  for (RequantizeRecipe* recipe : {&row.wide_requantize, &row.wide_biased_requantize, &row.rescale,
                                   &row.activation, &row.multiply}) {
    change(*recipe);
  }
}

template <TieRule kTie>
void Round(Arithmetic& row) {
  row.quantize.tie = row.average.tie = kTie;
  ForEachRequantize(row, [](RequantizeRecipe& recipe) { recipe.tie = kTie; });
}

template <Accumulator kWidth>
void Hold(Arithmetic& row) {
  row.sums = kWidth;
}

void AddOffsetFirst(Arithmetic& row) {
  row.quantize.offset = QuantizeRecipe::Offset::kBeforeRounding;
  ForEachRequantize(row, [](RequantizeRecipe& recipe) {
    recipe.offset = QuantizeRecipe::Offset::kBeforeRounding;
  });
}

// The binary32 factor that multiplies every accumulator; the exact row has none.
void SetFactor(Arithmetic& row, FactorRecipe::Order order) {
  ForEachRequantize(row, [order](RequantizeRecipe& recipe) {
    if (recipe.multiplier == RequantizeRecipe::Multiplier::kNone) return;
    recipe.multiplier = RequantizeRecipe::Multiplier::kFloat;
    recipe.factor = {reference::Width::kFloat32, reference::Width::kFloat32, order};
    recipe.product = reference::Width::kFloat32;
  });
}

// In binary64 the product of the scales is exact, and the quotient is nearly so.
void RoundFactorOnce(Arithmetic& row) {
  SetFactor(row, FactorRecipe::Order::kProductFirst);
  ForEachRequantize(row, [](RequantizeRecipe& recipe) {
    recipe.factor.scales = recipe.factor.ratio = reference::Width::kFloat64;
  });
}

void MultiplyTwice(Arithmetic& row) { SetFactor(row, FactorRecipe::Order::kReciprocal); }

// gemmlowp rounds twice: the doubled product, then the shift.
void RoundTwice(Arithmetic& row) {
  ForEachRequantize(row, [](RequantizeRecipe& recipe) {
    if (recipe.multiplier == RequantizeRecipe::Multiplier::kNone) return;
    if (recipe.multiplier == RequantizeRecipe::Multiplier::kMantissa) {
      recipe.rounds = RequantizeRecipe::Rounds::kTwice;
      return;
    }
    recipe = {.multiplier = RequantizeRecipe::Multiplier::kMantissa,
              .rounds = RequantizeRecipe::Rounds::kTwice,
              .tie = TieRule::kHalfUp,
              .bias = RequantizeRecipe::Bias::kRescaled};
  });
}

// The rounding shift away from zero of gemmlowp becomes one that adds a half and shifts.
void RoundShiftUp(Arithmetic& row) {
  ForEachRequantize(row, [](RequantizeRecipe& recipe) {
    if (recipe.rounds == RequantizeRecipe::Rounds::kOnce) return;
    recipe.rounds = RequantizeRecipe::Rounds::kTwiceHalfUp;
    recipe.tie = TieRule::kHalfUp;
  });
}

void RoundOnce(Arithmetic& row) {
  ForEachRequantize(
      row, [](RequantizeRecipe& recipe) { recipe.rounds = RequantizeRecipe::Rounds::kOnce; });
}

void NarrowMultiplier(Arithmetic& row) {
  ForEachRequantize(row, [](RequantizeRecipe& recipe) {
    if (recipe.multiplier == RequantizeRecipe::Multiplier::kNone) return;
    recipe = {.multiplier = RequantizeRecipe::Multiplier::kMantissa,
              .factor = {reference::Width::kFloat32, reference::Width::kFloat32},
              .mantissa_bits = 15,
              .bias = RequantizeRecipe::Bias::kRescaled};
  });
}

// Adds the bias to a 32-bit accumulator that wraps.
void WrapBias(Arithmetic& row) {
  ForEachRequantize(row, [](RequantizeRecipe& recipe) {
    if (recipe.multiplier != RequantizeRecipe::Multiplier::kExact) return;
    recipe.multiplier = RequantizeRecipe::Multiplier::kFloat;
    recipe.product = reference::Width::kFloat64;
    recipe.bias = RequantizeRecipe::Bias::kRescaled;
    recipe.accumulator = Accumulator::kWrap32;
  });
}

void DivideWeightScaleFirst(Arithmetic& row) {
  SetFactor(row, FactorRecipe::Order::kQuotientFirst);
}

void MultiplyByReciprocal(Arithmetic& row) {
  row.quantize.value = QuantizeRecipe::Value::kFloat32;
  row.quantize.step = QuantizeRecipe::Step::kReciprocal;
}

void SendNanToMaximum(Arithmetic& row) {
  row.quantize.nan = QuantizeRecipe::Nan::kMax;
  ForEachRequantize(row, [](RequantizeRecipe& recipe) { recipe.nan = QuantizeRecipe::Nan::kMax; });
}

std::int64_t Within(std::int64_t value, const format::IntegerRange& range) {
  return std::clamp(value, range.min, range.max);
}

// `value` modulo the size of `range`, which a storage type has.
std::int64_t Wrap(std::int64_t value, const format::IntegerRange& range) {
  const std::int64_t size = range.max - range.min + 1;
  const std::int64_t rest = (value - range.min) % size;
  return range.min + (rest < 0 ? rest + size : rest);
}

using StoredValue = std::optional<std::int64_t>;

StoredValue WrapIt(std::int64_t rounded, const Slot& slot) {
  if (rounded <= INT32_MIN || rounded >= INT32_MAX) return std::nullopt;  // of any larger value
  return Wrap(rounded + slot.offset, slot.storage);
}
StoredValue ClampFirst(std::int64_t rounded, const Slot& slot) {
  return Wrap(Within(rounded, slot.range) + slot.offset, slot.storage);
}
StoredValue ClampTwice(std::int64_t rounded, const Slot& slot) {
  return Within(Within(rounded, slot.range) + slot.offset, slot.range);
}
StoredValue ClampToStorage(std::int64_t rounded, const Slot& slot) {
  return Within(rounded + slot.offset, slot.storage);
}
StoredValue LoseBeyondInt32(std::int64_t rounded, const Slot& slot) {
  // The quotient was already clamped to INT32Q.
  const bool beyond = rounded <= INT32_MIN || rounded >= INT32_MAX;
  return beyond ? slot.range.min : Within(rounded + slot.offset, slot.range);
}
StoredValue ClampNarrowly(std::int64_t rounded, const Slot& slot) {
  const std::int64_t low = slot.range.min < 0 ? slot.range.min + 1 : slot.range.min;
  return std::clamp(rounded + slot.offset, low, slot.range.max);
}
template <std::int64_t kLow, std::int64_t kHigh>
StoredValue ClampBeside(std::int64_t rounded, const Slot& slot) {
  const format::IntegerRange range{slot.range.min + kLow, slot.range.max + kHigh};
  return Wrap(Within(rounded + slot.offset, range), slot.storage);
}
StoredValue DropOffset(std::int64_t rounded, const Slot& slot) {
  return Within(rounded, slot.range);
}

constexpr std::array kNumberFaults = {
    Fault{.name = "half_away",
          .says = "rounds halves away from zero",
          .row = Round<TieRule::kHalfAway>},
    Fault{.name = "half_up", .says = "rounds halves up", .row = Round<TieRule::kHalfUp>},
    Fault{.name = "half_down", .says = "rounds halves down", .row = Round<TieRule::kHalfDown>},
    Fault{.name = "truncates", .says = "truncates toward zero", .row = Round<TieRule::kTowardZero>},
    Fault{.name = "floors",
          .says = "rounds down, toward minus infinity",
          .row = Round<TieRule::kDown>},
    Fault{.name = "offset_before_rounding",
          .says = "adds the offset before it rounds",
          .row = AddOffsetFirst},
    Fault{.name = "reciprocal",
          .says = "multiplies by the binary32 reciprocal of the scale instead of dividing",
          .row = MultiplyByReciprocal},
    Fault{.name = "scales_in_other_order",
          .says = "forms the factor as x_scale * (w_scale / y_scale)",
          .row = DivideWeightScaleFirst},
    Fault{.name = "factor_rounded_once",
          .says = "forms the factor x_scale * w_scale / y_scale with one rounding to binary32",
          .row = RoundFactorOnce},
    Fault{.name = "scales_in_two_products",
          .says = "multiplies by x_scale * w_scale and then by the reciprocal of y_scale",
          .row = MultiplyTwice},
    Fault{.name = "rounds_twice",
          .says = "rounds twice: a doubling high product, then a shift",
          .row = RoundTwice},
    Fault{
        .name = "rounds_once", .says = "rounds once where it is to round twice", .row = RoundOnce},
    Fault{.name = "shift_half_up",
          .says =
              "rounds halves up, not away from zero, in the shift after the doubling high product",
          .row = RoundShiftUp},
    Fault{.name = "multiplier_15_bits",
          .says = "has a multiplier of 15 bits",
          .row = NarrowMultiplier},
    Fault{.name = "pairs_saturate",
          .says = "adds u8 by s8 products of neighbouring channels in 16 bits that saturate: a "
                  "saturating 16-bit multiply-add, wrong where pair sums pass 32767",
          .row = Hold<Accumulator::kPairs16>},
    Fault{.name = "pairs_wrap",
          .says = "adds s8 by s8 products of neighbouring channels in 16 bits that wrap",
          .row = Hold<Accumulator::kWrappedPairs16>},
    Fault{
        .name = "shifted_pairs_saturate",
        .says = "shifts s8 inputs by 128 and then adds products in pairs of 16 bits that saturate",
        .row = Hold<Accumulator::kShiftedPairs16>},
    Fault{.name = "accumulator_float",
          .says = "adds products in binary32, exact only up to 2^24",
          .row = Hold<Accumulator::kFloat32>},
    Fault{.name = "accumulator_16_bits",
          .says = "accumulates in 16 bits that wrap",
          .row = Hold<Accumulator::kWrap16>},
    Fault{.name = "accumulator_24_bits",
          .says = "accumulates in 24 bits that saturate",
          .row = Hold<Accumulator::kClamp24>},
    Fault{.name = "accumulator_24_bits_wraps",
          .says = "accumulates in 24 bits that wrap",
          .row = Hold<Accumulator::kWrap24>},
    Fault{.name = "accumulator_32_bits",
          .says = "accumulates in 32 bits that wrap",
          .row = Hold<Accumulator::kWrap32>},
    Fault{.name = "bias_sum_wraps", .says = "adds the bias in 32 bits that wrap", .row = WrapBias},
    Fault{.name = "nan_to_maximum",
          .says = "stores a NaN as the largest value instead of the offset",
          .row = SendNanToMaximum},
    Fault{.name = "wraps",
          .says = "wraps results that leave the range instead of clamping them",
          .store = WrapIt},
    Fault{.name = "beyond_int32_to_minimum",
          .says = "stores results beyond int32 as the smallest value",
          .store = LoseBeyondInt32},
    Fault{.name = "clamp_before_offset_wraps",
          .says = "clamps before it adds the offset, and wraps then",
          .store = ClampFirst},
    Fault{.name = "clamp_before_offset",
          .says = "clamps before it adds the offset",
          .store = ClampTwice},
    Fault{.name = "narrow_range",
          .says = "clamps to a symmetric range, without the smallest value",
          .store = ClampNarrowly},
    Fault{.name = "minimum_off_by_one",
          .says = "clamps to one more than the smallest value",
          .store = ClampBeside<1, 0>},
    Fault{.name = "maximum_off_by_one",
          .says = "clamps to one less than the largest value",
          .store = ClampBeside<0, -1>},
    Fault{.name = "clamps_below_minimum",
          .says = "clamps to one less than the smallest value, which wraps at the type's end",
          .store = ClampBeside<-1, 0>},
    Fault{.name = "clamps_beyond_maximum",
          .says = "clamps to one more than the largest value, which wraps at the type's end",
          .store = ClampBeside<0, 1>},
    Fault{.name = "quant_range_ignored",
          .says = "ignores quant_min and quant_max",
          .store = ClampToStorage},
    Fault{.name = "output_offset_ignored",
          .says = "ignores the offset of its output",
          .store = DropOffset},
};

}  // namespace

std::span<const Fault> NumberFaults() { return kNumberFaults; }

}  // namespace qtx::conformance
