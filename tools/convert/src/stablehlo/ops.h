// How each operator of StableHLO is said in ONNX's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/builder.h"

namespace qtx::convert {

/// Which plain integers ONNX's operator of a row takes: none, signed ones, all, or those of 32 bits
/// and more, to which narrower ones are widened.
enum class OnIntegers { kNone, kSigned, kAll, kWide };

struct StablehloRow {
  std::string_view name;
  int operands;  // -1: any number
  Result<void> (*convert)(StablehloBuilder&, const MlirOp&, const StablehloRow&);
  std::string_view onnx = {};     // the operator, of one that is said by one node
  std::string_view on_bool = {};  // the same over i1; "": none
  OnIntegers on_integers = OnIntegers::kNone;
};

/// Whether the parser may read an operator of that name: one of the table, or of the structure of
/// programs.
bool IsStablehloSyntax(std::string_view name);
/// What an error says of any other.
std::string NoFormOf(std::string_view name);

/// Converts one operator.  Errors: kInvalid and kUnsupported; `where` is line and operator.
Result<void> ConvertStablehloOp(StablehloBuilder& builder, const MlirOp& op);

// ops_elementwise.cc
Result<void> ConvertElementwise(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertCast(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertCompare(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertClamp(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertSelect(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertRoundAfz(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertInDouble(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertRsqrt(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertRemainder(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertIsFinite(StablehloBuilder&, const MlirOp&, const StablehloRow&);

// ops_shape.cc
Result<void> ConvertConstant(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertIota(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertBitcast(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertReshape(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertTranspose(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertBroadcastInDim(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertConcatenate(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertSlice(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertReverse(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertPad(StablehloBuilder&, const MlirOp&, const StablehloRow&);

// ops_reduce.cc, ops_product.cc, ops_gather.cc
Result<void> ConvertReduce(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertReduceWindow(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertDotGeneral(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertConvolution(StablehloBuilder&, const MlirOp&, const StablehloRow&);
Result<void> ConvertGather(StablehloBuilder&, const MlirOp&, const StablehloRow&);

/// The integers of an attribute, by any of its names; `fallback` when it is absent.
/// Errors: kInvalid for one that holds anything else.
Result<std::vector<std::int64_t>> IntsOf(StablehloBuilder& builder, const MlirOp& op,
                                         std::initializer_list<std::string_view> names,
                                         std::vector<std::int64_t> fallback);
Result<std::vector<std::int64_t>> IntsOf(StablehloBuilder& builder, const MlirOp& op,
                                         const MlirAttribute* attribute,
                                         std::vector<std::int64_t> fallback);
/// Errors: kInvalid unless `ints` are `count` values of at least `least`.
Result<void> CheckInts(StablehloBuilder& builder, const MlirOp& op, std::string_view what,
                       const std::vector<std::int64_t>& ints, std::size_t count,
                       std::int64_t least);
/// Errors: kInvalid unless `axes` are different axes of `rank`.
Result<void> CheckAxes(StablehloBuilder& builder, const MlirOp& op, std::string_view what,
                       const std::vector<std::int64_t>& axes, std::size_t rank);

}  // namespace qtx::convert
