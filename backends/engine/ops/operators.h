// Preparation of the operators that have no kernels: exact over numbers, for all types.
#pragma once

#include "engine/plan.h"

namespace qtx::backend::engine {

StepResult PrepareArithmetic(const NodePlan& node);  // Add, Div, Max, Mean, Min, Mul, PRelu, ...
StepResult PreparePow(const NodePlan& node);
StepResult PrepareFunction(const NodePlan& node);  // of one real: Abs, Sigmoid, Sqrt, ...
StepResult PrepareGeneralClip(const NodePlan& node);

StepResult PrepareSlice(const NodePlan& node);
StepResult PrepareSplit(const NodePlan& node);
StepResult PrepareExpand(const NodePlan& node);
StepResult PrepareTile(const NodePlan& node);
StepResult PrepareDepthAndSpace(const NodePlan& node);  // DepthToSpace, SpaceToDepth
StepResult PrepareGather(const NodePlan& node);
StepResult PrepareGatherNd(const NodePlan& node);
StepResult PrepareScatterNd(const NodePlan& node);
StepResult PrepareWhere(const NodePlan& node);
StepResult PrepareCondition(const NodePlan& node);  // And, Or, Xor, Not
StepResult PrepareIsNan(const NodePlan& node);

StepResult PrepareReduce(const NodePlan& node);      // ReduceSum, ReduceMax, ReduceL2, ...
StepResult PrepareArgExtreme(const NodePlan& node);  // ArgMax, ArgMin
StepResult PrepareTopK(const NodePlan& node);
StepResult PrepareResize(const NodePlan& node);
StepResult PrepareGlobalMaxPool(const NodePlan& node);
StepResult PrepareLpPool(const NodePlan& node);
StepResult PrepareLayerNormalization(const NodePlan& node);  // RMSNormalization too
StepResult PrepareInstanceNormalization(const NodePlan& node);
StepResult PrepareBatchNormalization(const NodePlan& node);
StepResult PrepareLogSoftmax(const NodePlan& node);
StepResult PrepareGeneralCast(const NodePlan& node);
StepResult PrepareQLinear(const NodePlan& node);  // Add, Mul, Sigmoid, AveragePool, ...
StepResult PrepareQLinearConcat(const NodePlan& node);
StepResult PrepareQLinearConv(const NodePlan& node);
StepResult PrepareQLinearMatMul(const NodePlan& node);
StepResult PrepareQGemm(const NodePlan& node);
StepResult PrepareMatMulInteger(const NodePlan& node);
StepResult PrepareConvInteger(const NodePlan& node);
StepResult PrepareConvTranspose(const NodePlan& node);
StepResult PrepareDynamicQuantizeLinear(const NodePlan& node);
StepResult PrepareLstm(const NodePlan& node);
StepResult PrepareGru(const NodePlan& node);
StepResult PrepareAttention(const NodePlan& node);

}  // namespace qtx::backend::engine
