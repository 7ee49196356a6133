// A .tflite file after verification: plain values over the flatbuffer, every index and size
// checked.
#pragma once

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
  std::string name;  // unique in the file: "name#7" for the later of two tensors of one name
  format::Dims dims;
  schema::TensorType type = schema::TensorType::FLOAT32;
  const schema::QuantizationParameters* quantization = nullptr;
  std::span<const std::byte> data;  // of a constant; empty for every other tensor
  bool dynamic = false;             // the file says that a dimension may change
  bool variable = false;            // keeps its value between runs
  bool sparse = false;
  bool shapeless = false;  // the file gives it no shape; `dims` are those of a scalar

  bool constant() const { return !data.empty(); }
};

struct TfliteOperator {
  std::size_t index = 0;
  schema::BuiltinOperator code = schema::BuiltinOperator::CUSTOM;
  std::string name;                  // "CONV_2D", "CUSTOM 'Sinh'"
  std::vector<int> inputs, outputs;  // indices of tensors; -1 is an absent optional input
  std::vector<int> intermediates;
  const schema::Operator* options = nullptr;

  std::string Place() const { return "operator " + std::to_string(index) + " (" + name + ")"; }
};

struct TfliteFile {
  std::string
      aligned;  // the bytes, where the flatbuffer may be read in place; all pointers go here
  std::string name, description;
  std::vector<TfliteTensor> tensors;
  std::vector<int> inputs, outputs;
  std::vector<TfliteOperator> operators;
  std::vector<std::string> metadata;  // names of entries
  std::vector<std::string> left_out;  // other subgraphs, "1 'decode'"
  bool signatures = false;

  /// The subgraph that has `subgraph` as its name, signature or index; the first when that is
  /// empty. Errors: kInvalid (no TFLite file, damaged, an index or size out of range, no such
  /// subgraph), kUnsupported (data outside the flatbuffer). `where` names the tensor or operator.
  static Result<std::unique_ptr<TfliteFile>> Open(std::string_view bytes,
                                                  std::string_view subgraph = {});
};

/// True when `bytes` has TFLite's file identifier.
bool LooksLikeTflite(std::string_view bytes);

}  // namespace qtx::convert
