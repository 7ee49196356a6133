// The operators of NNEF, as nodes of ONNX.
// Source: the fragments of NNEF-Tools' standard library (1.x); NNEF 2.0 draft, chapter 4.
#pragma once

#include <string_view>

#include "nnef/builder.h"

namespace qtx::convert::nnef {

struct Operator {
  std::string_view name;
  std::string_view parameters;  // in order, separated by blanks
  Result<void> (*convert)(Builder&, const Call&, const Operator&);
  std::string_view onnx = {};  // the node, of an operator that is one
};

/// Converts one invocation.  Errors: kUnsupported for an operator that is not known, with its line.
Result<void> ConvertOperator(Builder& builder, const Invocation& invocation);
/// Whether it is one of those that are known.
bool IsOperator(std::string_view name);

// ops_declare.cc
Result<void> ConvertExternal(Builder&, const Call&, const Operator&);
Result<void> ConvertVariable(Builder&, const Call&, const Operator&);
Result<void> ConvertConstant(Builder&, const Call&, const Operator&);
Result<void> ConvertCast(Builder&, const Call&, const Operator&);

// ops_elementwise.cc
Result<void> ConvertUnary(Builder&, const Call&, const Operator&);
Result<void> ConvertBinary(Builder&, const Call&, const Operator&);
Result<void> ConvertCompare(Builder&, const Call&, const Operator&);
Result<void> ConvertSelect(Builder&, const Call&, const Operator&);
Result<void> ConvertClamp(Builder&, const Call&, const Operator&);
Result<void> ConvertPower(Builder&, const Call&, const Operator&);
Result<void> ConvertAlpha(Builder&, const Call&, const Operator&);
Result<void> ConvertSwish(Builder&, const Call&, const Operator&);
Result<void> ConvertAddN(Builder&, const Call&, const Operator&);
Result<void> ConvertCopy(Builder&, const Call&, const Operator&);

// ops_shape.cc
Result<void> ConvertReshape(Builder&, const Call&, const Operator&);
Result<void> ConvertTranspose(Builder&, const Call&, const Operator&);
Result<void> ConvertConcat(Builder&, const Call&, const Operator&);
Result<void> ConvertSplit(Builder&, const Call&, const Operator&);
Result<void> ConvertSlice(Builder&, const Call&, const Operator&);
Result<void> ConvertSqueeze(Builder&, const Call&, const Operator&);
Result<void> ConvertStack(Builder&, const Call&, const Operator&);
Result<void> ConvertUnstack(Builder&, const Call&, const Operator&);
Result<void> ConvertTile(Builder&, const Call&, const Operator&);
Result<void> ConvertPad(Builder&, const Call&, const Operator&);
Result<void> ConvertGather(Builder&, const Call&, const Operator&);

// ops_window.cc
Result<void> ConvertConv(Builder&, const Call&, const Operator&);
Result<void> ConvertDeconv(Builder&, const Call&, const Operator&);
Result<void> ConvertPool(Builder&, const Call&, const Operator&);
Result<void> ConvertUpsample(Builder&, const Call&, const Operator&);

// ops_reduce.cc
Result<void> ConvertReduce(Builder&, const Call&, const Operator&);
Result<void> ConvertArgReduce(Builder&, const Call&, const Operator&);
Result<void> ConvertSoftmax(Builder&, const Call&, const Operator&);
Result<void> ConvertMatmul(Builder&, const Call&, const Operator&);
Result<void> ConvertLinear(Builder&, const Call&, const Operator&);
Result<void> ConvertBatchNormalization(Builder&, const Call&, const Operator&);
Result<void> ConvertLocalResponse(Builder&, const Call&, const Operator&);
Result<void> ConvertNormalization(Builder&, const Call&, const Operator&);

/// The shape of two operands, which NNEF aligns at their first axes.  Errors: kInvalid.
Result<format::Dims> BroadcastDims(const Call& call, const format::Dims& a, const format::Dims& b);
/// The tensor with ones behind its dimensions, so that ONNX, which aligns the last axes, broadcasts
/// it as NNEF does.
Result<GraphTensor*> Aligned(Builder& builder, const Call& call, GraphTensor* tensor,
                             std::size_t rank);
/// Pads of an ONNX node, all begins, then all ends, of pairs of begin and end.
std::vector<std::int64_t> BeginsThenEnds(const std::vector<std::int64_t>& pairs);
/// A Pad by `pads` in the manner of `border`.  Errors: kUnsupported for 'reflect-even' and others.
Result<GraphTensor*> Padded(Builder& builder, const Call& call, GraphTensor* tensor,
                            const std::vector<std::int64_t>& pads, const std::string& border,
                            float value);

inline format::Attribute IntAttribute(std::string name, std::int64_t value) {
  return format::Attribute::Int(std::move(name), value);
}

}  // namespace qtx::convert::nnef
