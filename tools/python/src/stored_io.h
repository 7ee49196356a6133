// Changes of a lowered model's inputs and outputs, for other programs that run it.
#pragma once

#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::python {

/// `lowered`, the QDQ form of `extended`, with the stored integers in place of the reals of each
/// graph input and output that is quantized in `extended`: in the same order, named as the integers
/// are in `lowered` ("x/stored"), without the QuantizeLinear and DequantizeLinear that are then of
/// no use. Errors: kUnsupported for an input that other nodes than QuantizeLinear read, and for an
/// output that no DequantizeLinear gives.
Result<format::Model> WithStoredIo(format::Model lowered, const format::Model& extended);

/// `model` with those of `names` that a node gives as graph outputs, too, after those it has.
format::Model WithOutputs(format::Model model, const std::vector<std::string>& names);

}  // namespace qtx::python
