// Joins files of parameters and statistics (profiles, tables) with a model, and lists the values
// for such files.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The ONNX model of a table: the first of `source.with`, or the .onnx beside it of the same stem.
/// Errors: those of Model::Load; kInvalid when there is neither.
Result<format::Model> ModelBeside(const Source& source);

/// All names of values: inputs, initializers, node outputs.
std::set<std::string> ValueNames(const format::Graph& graph);

/// The declaration of `value`; an undeclared value is declared as FLOAT. Errors: kUnsupported when
/// it is declared with another type.
Result<format::TensorType*> DeclareFloat(format::Model& model, const std::string& value);

/// Every value with parameters or statistics, in the order of the graph's inputs, values and
/// outputs, without repeats.
std::vector<const format::ValueInfo*> Described(const format::Model& model);

/// The quantization of `info` as per-tensor INT8 (for UINT8 the offset is reduced by 128). nullopt
/// and a loss of "parameters" if impossible: several scales, another storage, a narrowed range, an
/// initializer.  Errors: kUnsupported if that loss is not allowed.
/// REQUIRES: info.type->quantization.
Result<std::optional<format::Quantization>> AsInt8(const format::Model& model,
                                                   const format::ValueInfo& info, Ledger& ledger);

/// True for a character that no line of text can hold.
inline bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace qtx::convert
