// Initializers of ONNX as records of ggml's types.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "gguf/ggml_types.h"
#include "qtx/format/model.h"

namespace qtx::convert::gguf {

/// Whether the bytes of an initializer are the records of a tensor of that type and shape.
/// `declared`: its type, nullptr where the model declares none.
bool IsAsInFile(const GgmlType& type, const format::Dims& dims, const format::TensorData& data,
                const format::TensorType* declared);

/// Whether the type could hold such a tensor: the same storage, levels of the same blocks, no
/// offsets, no greater range. What the factors and the elements are is not looked at.
bool CouldHold(const GgmlType& type, const format::Dims& dims, const format::TensorType& declared);

/// Takes the next records.
using PutRecords = std::function<Result<void>(std::string records)>;

/// The records of an initializer that is an ordinary tensor, in chunks: elements that lie in a file
/// are read as they are needed.
/// Errors: kUnsupported for a value or factor that the records cannot hold, by element; those of
/// Decode and of `put`.  REQUIRES: CouldHold.
Result<void> EncodeTensor(const GgmlType& type, const format::Dims& dims,
                          const format::ModelView& view, const format::TensorData& data,
                          const format::TensorType& declared, const PutRecords& put);

}  // namespace qtx::convert::gguf
