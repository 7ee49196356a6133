// Parameters of quantized types to and from the inputs and attributes of QuantizeLinear and
// DequantizeLinear.
#pragma once

#include <optional>
#include <string>

#include "onnx/graph_index.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The smallest of the opsets 13, 19, 21, 23 and 25 whose Q and DQ have this type and granularity.
/// Errors: kUnsupported for BIPOLAR1Q, and parameters along several axes of which none is blocked.
Result<std::int64_t> OpsetFor(const format::TensorType& type);

struct StockParameters {
  // [], [n], or the rank of the value when blocked; FLOAT, or the type of the reals where that has
  // each scale.
  format::Tensor scale;
  std::optional<format::Tensor> zero_point;  // storage type; absent for INT32
  std::optional<std::int64_t> axis;
  std::optional<std::int64_t> block_size;
};
/// Errors: those of OpsetFor; kUnsupported for INT32Q with an offset; kInvalid when sizes disagree.
/// REQUIRES: inline scale and offset.
Result<StockParameters> ToStock(const format::TensorType& type);

/// Adds the attributes of a QuantizeLinear or DequantizeLinear between reals of `real` and these
/// parameters in `opset`.  From 23 on the scale says in what is divided, and what is given, unless
/// an attribute does.
void AddPairAttributes(const StockParameters& stock, format::ElementType real, std::int64_t opset,
                       format::Node& node);

/// Whether the type names all axes, in their order, so that its parameters lie as its blocks do.
bool NamesAllAxes(const format::Quantization& q, std::size_t rank);

struct QdqParameters {
  format::ElementType elem_type = format::ElementType::kUndefined;  // quantized
  format::Quantization quantization;
  bool operator==(const QdqParameters&) const = default;
};
/// The parameters of the QuantizeLinear or DequantizeLinear `node`. nullopt if they are not
/// constant (scale computed, rank unknown) or the format lacks the type; `why` then has the reason.
/// Errors: kInvalid when a scale is not positive and finite, or sizes disagree.
Result<std::optional<QdqParameters>> FromStock(const GraphIndex& index, const format::Node& node,
                                               std::string& why);
inline Result<std::optional<QdqParameters>> FromStock(const GraphIndex& index,
                                                      const format::Node& node) {
  std::string why;
  return FromStock(index, node, why);
}

/// Replaces many inline scales of blocks, and their offsets, of the initializer `value` by the
/// names of the initializers that `dequantizer` reads them from: large parameters stay where they
/// are.
void NameParameters(const GraphIndex& index, const format::Node& dequantizer,
                    const std::string& value, format::Quantization& q);

/// True when `annotation`, whose parameters may be in initializers of `model`, maps stored values
/// to the same reals.  REQUIRES: IsAnnotated(annotation).
bool Agree(const format::ModelView& model, const format::TensorType& annotation,
           const QdqParameters& parameters);

}  // namespace qtx::convert
