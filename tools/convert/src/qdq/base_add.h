// The base of a quantized type as an Add after a DequantizeLinear in stock ONNX.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/graph_index.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// `dims` as an INT64 tensor for Reshape.
format::Tensor ShapeTensor(const format::Dims& dims);

struct StockBase {
  format::Tensor value;  // FLOAT, broadcast to the product, which is first reshaped to `blocks`
  format::Dims blocks;   // each blocked dimension as blocks and elements of one; empty: no Reshape
};
/// Errors: kUnsupported without a fixed shape, and where the last block of an axis is short.
/// REQUIRES: inline parameters with a base.
Result<StockBase> ToStockBase(const format::TensorType& type);

/// The nodes into which lowering turned an initializer with a base.
struct LoweredBase {
  std::string value;                 // the initializer
  std::vector<std::size_t> nodes;    // the DequantizeLinear and those after it
  std::vector<std::string> between;  // values that only these nodes write and read
};
/// Finds the nodes that add a base to the output of the DequantizeLinear `node`, if they compute
/// exactly what the annotation states.
Result<std::optional<LoweredBase>> BaseAfter(const GraphIndex& index, std::size_t node);

}  // namespace qtx::convert
