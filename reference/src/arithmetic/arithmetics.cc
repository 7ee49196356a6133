// The rows: every named arithmetic that the reference implements.
#include <algorithm>
#include <array>
#include <string>

#include "qtx/reference/arithmetic.h"

namespace qtx::reference {
namespace {

using Multiplier = RequantizeRecipe::Multiplier;
using Product = RequantizeRecipe::Product;
using Rounds = RequantizeRecipe::Rounds;

// exact.S1: everything rounds once, from the exact real.
constexpr Arithmetic Exact() {
  Arithmetic row;
  row.name = "exact";
  return row;
}

// float32.S1 to .S3: ONNX Runtime's QDQ and QLinear operators.
constexpr Arithmetic Float32() {
  constexpr RequantizeRecipe kRecipe{Multiplier::kFloat32, Product::kAllFloat32, Rounds::kOnce,
                                     TieRule::kHalfEven};
  Arithmetic row;
  row.name = "float32";
  row.domain = Domain::kFloat32;
  row.quantize.value = QuantizeRecipe::Value::kFloat32;
  row.requantize = row.depthwise_requantize = row.unsigned_requantize = kRecipe;
  row.rescale = row.activation = row.multiply = kRecipe;
  row.scalar_product = Product::kAllFloat32;
  return row;
}

// tflite.S1 onwards: the builtin kernels as deployed, each with its own rounding.
constexpr Arithmetic Tflite() {
  constexpr RequantizeRecipe kTwice{Multiplier::kFixed31, Product::kFloat64, Rounds::kTwice,
                                    TieRule::kHalfUp};
  Arithmetic row;
  row.name = "tflite";
  row.domain = Domain::kStored;
  row.quantize.value = QuantizeRecipe::Value::kFloat32;
  row.quantize.tie = TieRule::kHalfAway;
  row.requantize = {Multiplier::kFixed31, Product::kFloat64, Rounds::kOnce, TieRule::kHalfUp};
  // uint8 goes through gemmlowp's output pipeline also in CONV_2D: one rounding misses 2230
  // elements of the golden data of MobileNet v1, two miss none.
  row.unsigned_requantize = kTwice;
  row.unsigned_requantize.product = Product::kFloat32;
  row.depthwise_requantize = row.rescale = row.activation = row.multiply = kTwice;
  row.scalar_product = Product::kFloat32;
  row.activation.product = row.multiply.product = Product::kAllFloat32;
  row.add = {AddRecipe::Kind::kShifted, 20};
  return row;
}

constexpr std::array<Arithmetic, 3> kArithmetics = {Exact(), Float32(), Tflite()};

}  // namespace

std::span<const Arithmetic> Arithmetics() { return kArithmetics; }

Result<const Arithmetic*> FindArithmetic(std::string_view name) {
  std::string names;
  for (const Arithmetic& row : kArithmetics) {
    if (row.name == name) return &row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return Error{ErrorCode::kInvalid, "arithmetic",
               "found '" + std::string(name) + "', expected one of " + names};
}

}  // namespace qtx::reference
