// What stock ONNX has no DequantizeLinear for: the base of a quantized type as an Add after one,
// and its code book as a Gather and a Mul.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "onnx/graph_index.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// `dims` as an INT64 tensor for Reshape.
format::Tensor ShapeTensor(const format::Dims& dims);

/// A node with a constant. Names are those of lowering.S2, to be put after "v/".
struct LoweredStep {
  const char* op_type;
  const char* node;      // its name's middle: "blocks" of "v/blocks/Reshape"; "" = none
  const char* output;    // "" = v itself
  const char* constant;  // the name of `value`
  format::Tensor value;
  bool constant_first = false;  // the constant is input 0, and not 1
};

/// The nodes after the DequantizeLinear of an initializer with a base, or after the Cast of one
/// with a code book.
/// Errors: kUnsupported without a fixed shape; kTooLarge where the last block of an axis is short,
/// so that its elements have a factor each, and there are more than one value may have parameters.
/// REQUIRES: inline parameters with a base or a code book.
Result<std::vector<LoweredStep>> StepsAfter(const format::TensorType& type);

/// The nodes into which lowering turned an initializer with a base or a code book.
struct LoweredBase {
  std::string value;                 // the initializer
  std::vector<std::size_t> nodes;    // the DequantizeLinear or Cast and those after it
  std::vector<std::string> between;  // values that only these nodes write and read
};
/// Finds the nodes that add a base to the output of the DequantizeLinear `node`, or look up the
/// codes that the Cast `node` gives, if they compute exactly what the annotation states.
Result<std::optional<LoweredBase>> BaseAfter(const GraphIndex& index, std::size_t node);

}  // namespace qtx::convert
