// Writes ONNX nodes as TFLite operators: one function for each kind of node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tflite/writer.h"

namespace qtx::convert {

/// A node to write, with the following activation if TFLite fuses it.
struct Job {
  const format::Node& node;
  std::string output;  // of the activation, if any
  std::optional<schema::ActivationFunctionType> fused = {};

  const std::string& Input(std::size_t i) const;  // "" when absent
};

/// Errors: kUnsupported naming node and reason.
Result<void> WriteNode(TfliteWriter& writer, const Job& job);
/// True for nodes whose operator has a fused activation.
bool TakesActivation(const TfliteWriter& writer, const format::Node& node);
/// TFLite's activation for a Relu or Clip node; nullopt for other nodes and bounds.
std::optional<schema::ActivationFunctionType> ActivationOf(const TfliteWriter& writer,
                                                           const format::Node& node);

Result<void> WriteActivation(TfliteWriter& writer, const Job& job);
Result<void> WriteArg(TfliteWriter& writer, const Job& job);
Result<void> WriteBinary(TfliteWriter& writer, const Job& job);
Result<void> WriteBlocks(TfliteWriter& writer, const Job& job);
Result<void> WriteCast(TfliteWriter& writer, const Job& job);
Result<void> WriteConcat(TfliteWriter& writer, const Job& job);
Result<void> WriteConv(TfliteWriter& writer, const Job& job);
Result<void> WriteConvTranspose(TfliteWriter& writer, const Job& job);
Result<void> WriteCumSum(TfliteWriter& writer, const Job& job);
Result<void> WriteCustom(TfliteWriter& writer, const Job& job);
Result<void> WriteExpand(TfliteWriter& writer, const Job& job);
Result<void> WriteGather(TfliteWriter& writer, const Job& job);
Result<void> WriteGatherNd(TfliteWriter& writer, const Job& job);
Result<void> WriteGlobalPool(TfliteWriter& writer, const Job& job);
Result<void> WriteLpNormalization(TfliteWriter& writer, const Job& job);
Result<void> WriteMatMul(TfliteWriter& writer, const Job& job);
Result<void> WritePad(TfliteWriter& writer, const Job& job);
Result<void> WritePool(TfliteWriter& writer, const Job& job);
Result<void> WriteReduce(TfliteWriter& writer, const Job& job);
Result<void> WriteReshape(TfliteWriter& writer, const Job& job);
Result<void> WriteResize(TfliteWriter& writer, const Job& job);
Result<void> WriteShape(TfliteWriter& writer, const Job& job);
Result<void> WriteSlice(TfliteWriter& writer, const Job& job);
Result<void> WriteSoftmax(TfliteWriter& writer, const Job& job);
Result<void> WriteSum(TfliteWriter& writer, const Job& job);
Result<void> WriteTile(TfliteWriter& writer, const Job& job);
Result<void> WriteTopK(TfliteWriter& writer, const Job& job);
Result<void> WriteTranspose(TfliteWriter& writer, const Job& job);
Result<void> WriteUnary(TfliteWriter& writer, const Job& job);
Result<void> WriteWhere(TfliteWriter& writer, const Job& job);

}  // namespace qtx::convert
