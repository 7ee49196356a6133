// Parameters and statistics that come in a file of their own, put on the values of a model beside
// it; and the values of a model that such a file is written of.
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

/// Every name of a value: inputs, initializers, what nodes give.
std::set<std::string> ValueNames(const format::Graph& graph);

/// The declaration of `value`, made if need be: what a table names without one is FLOAT.
/// Errors: kUnsupported when it is declared, and not FLOAT.
Result<format::TensorType*> DeclareFloat(format::Model& model, const std::string& value);

/// Every value that has parameters or statistics, in the order of the graph's inputs, values and
/// outputs, each name once.
std::vector<const format::ValueInfo*> Described(const format::Model& model);

/// The quantization of `info` as a storage of INT8, per tensor: UINT8 loses 128 from its offset.
/// nullopt, and a loss of "parameters", where there is no such: several scales, another storage, a
/// narrowed range, an initializer.  Errors: kUnsupported where that loss is not allowed.
/// REQUIRES: info.type->quantization.
Result<std::optional<format::Quantization>> AsInt8(const format::Model& model,
                                                   const format::ValueInfo& info, Ledger& ledger);

}  // namespace qtx::convert
