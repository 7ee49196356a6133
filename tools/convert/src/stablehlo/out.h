// How each operator of ONNX is said in StableHLO's: the inverse of ops.h.
#pragma once

#include "stablehlo/writer.h"

namespace qtx::convert {

struct OutRow {
  std::string_view onnx;
  Result<void> (*write)(StablehloWriter&, const format::Node&, const OutRow&);
  std::string_view hlo = {};      // the operator, of one that is said by one
  std::string_view on_bool = {};  // the same over BOOL, or the argument of a comparison
};

// out_elementwise.cc
Result<void> WriteElementwise(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteUnary(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteReal(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteCompare(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteCast(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteClip(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteRelu(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteMod(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteWhere(StablehloWriter&, const format::Node&, const OutRow&);

// out_shape.cc
Result<void> WriteReshape(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteTranspose(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteExpand(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteConcat(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteSlice(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteSplit(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WritePad(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteGather(StablehloWriter&, const format::Node&, const OutRow&);

// out_product.cc
Result<void> WriteConv(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteMatMul(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteGemm(StablehloWriter&, const format::Node&, const OutRow&);

// out_reduce.cc
Result<void> WritePool(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteGlobalPool(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteReduce(StablehloWriter&, const format::Node&, const OutRow&);
Result<void> WriteSoftmax(StablehloWriter&, const format::Node&, const OutRow&);

/// Whether StableHLO's operator takes these quantized values as they are: the same storage, bounds
/// and reals in all, parameters per tensor, or along one axis in all that have it.
bool AgreeInStorage(const std::vector<HloValue>& operands, const HloType& result);
/// The element type in which an operator with this result computes on reals.
format::ElementType ComputedType(const HloType& result);
/// The operator over quantized values where they agree, else over their reals, cast to `result`.
Result<HloValue> Compute(StablehloWriter& writer, std::string_view op,
                         std::vector<HloValue> operands, const HloType& result);

}  // namespace qtx::convert
