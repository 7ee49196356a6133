// A .tflite file after verification: plain values over the flatbuffer, every index and size
// checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/format/shape.h"
#include "tflite_generated.h"

namespace qtx::convert {

struct TfliteTensor {
  std::string name;  // unique in the file: a repeated name becomes "name#7"
  format::Dims dims;
  schema::TensorType type = schema::TensorType::FLOAT32;
  const schema::QuantizationParameters* quantization = nullptr;
  std::span<const std::byte> data;  // empty unless constant
  bool dynamic = false;             // a dimension may change
  bool variable = false;            // keeps its value between runs
  bool sparse = false;
  bool shapeless = false;  // no shape in the file; `dims` are those of a scalar
  bool given = false;      // by an operator or as an input of the graph

  bool constant() const {
    const bool has_no_elements = std::ranges::find(dims, 0) != dims.end();
    return !data.empty() || (has_no_elements && !given && !variable);
  }
};

struct TfliteOperator {
  std::size_t index = 0;
  schema::BuiltinOperator code = schema::BuiltinOperator::CUSTOM;
  std::string name;                  // "CONV_2D", "CUSTOM 'Sinh'"
  std::string custom_code;           // "Sinh"; empty unless `code` is CUSTOM
  std::vector<int> inputs, outputs;  // indices of tensors; -1 is an absent optional input
  std::vector<int> intermediates;
  const schema::Operator* options = nullptr;

  std::string Place() const { return "operator " + std::to_string(index) + " (" + name + ")"; }
};

struct TfliteFile {
  std::string aligned;  // aligned copy of the bytes; all pointers point into it
  std::string name, description;
  std::vector<TfliteTensor> tensors;
  std::vector<int> inputs, outputs;
  std::vector<TfliteOperator> operators;
  std::vector<std::string> metadata;  // names of entries
  std::vector<std::string> left_out;  // other subgraphs, "1 'decode'"
  bool signatures = false;

  /// Opens the subgraph with the name, signature or index `subgraph`; the first if that is empty.
  /// Errors: kInvalid (not a TFLite file, damaged, an index or size out of range, no such
  /// subgraph), kUnsupported (data outside the flatbuffer). `where` names the tensor or operator.
  static Result<std::unique_ptr<TfliteFile>> Open(std::string_view bytes,
                                                  std::string_view subgraph = {});
};

/// True when `bytes` has TFLite's file identifier.
bool LooksLikeTflite(std::string_view bytes);

}  // namespace qtx::convert
