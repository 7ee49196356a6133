// Every operator's table entry, each defined in the file of its name. A new operator is one file,
// one line here and one in registry.cc.
#pragma once

#include "qtx/reference/op.h"

namespace qtx::reference::ops {

/// The domain of ONNX Runtime's own operators.
inline constexpr std::string_view kMicrosoft = "com.microsoft";

extern const Operator kAbs;
extern const Operator kAdd;
extern const Operator kArgMax;
extern const Operator kArgMin;
extern const Operator kAttention;
extern const Operator kAveragePool;
extern const Operator kBatchNormalization;
extern const Operator kCast;
extern const Operator kClip;
extern const Operator kConcat;
extern const Operator kConstant;
extern const Operator kConv;
extern const Operator kConvInteger;
extern const Operator kConvTranspose;
extern const Operator kDepthToSpace;
extern const Operator kDequantizeLinear;
extern const Operator kDiv;
extern const Operator kDynamicQuantizeLinear;
extern const Operator kElu;
extern const Operator kErf;
extern const Operator kExp;
extern const Operator kExpand;
extern const Operator kFlatten;
extern const Operator kGRU;
extern const Operator kGather;
extern const Operator kGatherND;
extern const Operator kGelu;
extern const Operator kGemm;
extern const Operator kGlobalAveragePool;
extern const Operator kGlobalMaxPool;
extern const Operator kHardSigmoid;
extern const Operator kHardSwish;
extern const Operator kIdentity;
extern const Operator kInstanceNormalization;
extern const Operator kLSTM;
extern const Operator kLayerNormalization;
extern const Operator kLeakyRelu;
extern const Operator kLog;
extern const Operator kLogSoftmax;
extern const Operator kLpPool;
extern const Operator kMatMul;
extern const Operator kMatMulInteger;
extern const Operator kMax;
extern const Operator kMaxPool;
extern const Operator kMean;
extern const Operator kMicrosoftDequantizeLinear;
extern const Operator kMicrosoftQuantizeLinear;
extern const Operator kMin;
extern const Operator kMish;
extern const Operator kMul;
extern const Operator kNeg;
extern const Operator kPRelu;
extern const Operator kPad;
extern const Operator kPow;
extern const Operator kQGemm;
extern const Operator kQLinearAdd;
extern const Operator kQLinearAveragePool;
extern const Operator kQLinearConcat;
extern const Operator kQLinearConv;
extern const Operator kQLinearGlobalAveragePool;
extern const Operator kQLinearLeakyRelu;
extern const Operator kQLinearMatMul;
extern const Operator kQLinearMul;
extern const Operator kQLinearSigmoid;
extern const Operator kQLinearSoftmax;
extern const Operator kQuantizeLinear;
extern const Operator kRMSNormalization;
extern const Operator kReciprocal;
extern const Operator kReduceL2;
extern const Operator kReduceMax;
extern const Operator kReduceMean;
extern const Operator kReduceMin;
extern const Operator kReduceSum;
extern const Operator kReduceSumSquare;
extern const Operator kRelu;
extern const Operator kReshape;
extern const Operator kResize;
extern const Operator kScatterND;
extern const Operator kShape;
extern const Operator kSigmoid;
extern const Operator kSlice;
extern const Operator kSoftmax;
extern const Operator kSoftplus;
extern const Operator kSpaceToDepth;
extern const Operator kSplit;
extern const Operator kSqrt;
extern const Operator kSqueeze;
extern const Operator kSub;
extern const Operator kSum;
extern const Operator kTanh;
extern const Operator kTile;
extern const Operator kTopK;
extern const Operator kTranspose;
extern const Operator kUnsqueeze;
extern const Operator kWhere;

}  // namespace qtx::reference::ops
