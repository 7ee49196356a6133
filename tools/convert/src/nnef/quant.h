// Quantization of NNEF's tensors: the entries of graph.quant as types, and types as entries.
// Source: the fragments of these names in NNEF-Tools' standard library (1.x); NNEF 2.0 draft, 4.6.
#pragma once

#include <optional>
#include <string>

#include "ledger.h"
#include "nnef/text.h"
#include "qtx/format/tensor_type.h"

namespace qtx::convert::nnef {

/// The quantized type of an entry, for a tensor of `dims`; `stored` for one that has a binary.
/// nullopt, with a loss of "parameters", for what no quantized type holds: logarithmic_quantize,
/// reals without an integer zero where the tensor is computed.
/// zero_point_linear_quantize: real = scale * (stored - zero_point).
/// min_max_linear_quantize, linear_quantize: scale = (max - min) / r with r = 2^bits - 1, less 1 if
/// signed and symmetric; the stored integer of min is -p, p = 2^(bits - 1) - symmetric, 0 unsigned.
/// A list of parameters is along axis 0, one in a list of its own along axis 1, and so on, as
/// NNEF broadcasts; `channel_axis` (of 2.0) says it of a plain list.
/// Errors: kInvalid at the entry's line; kUnsupported for storages that no type has.
Result<std::optional<format::TensorType>> TypeOf(const Invocation& entry, const format::Dims& dims,
                                                 bool stored, Ledger& ledger);

/// `"name": zero_point_linear_quantize(...);` and a line end.  Errors: kUnsupported for blocks,
/// bases, code books, storages of floats, and ranges that are none of `bits`.
/// REQUIRES: type.quantization, resolved; fixed dimensions.
Result<std::string> EntryOf(const std::string& name, const format::TensorType& type);

/// The shortest decimal that reads back as this double; with ".0" where it looks like an integer.
std::string Decimal(double value);

}  // namespace qtx::convert::nnef
