// Models in and out of the extended form. Every conversion returns a ledger of what became of each
// field.  Converters see the format only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::convert {

struct LedgerEntry {
  std::string value;  // of which value, node or "model"
  std::string field;  // "scale", "min", "layout", ...
  enum class Fate { kKept, kChanged, kDropped } fate = Fate::kKept;
  std::string why;  // empty for kept
};

struct Conversion {
  format::Model model;
  std::vector<LedgerEntry> ledger;
};

/// A .tflite flatbuffer (int8 per-axis, uint8 per-tensor) to the extended form, NCHW inside, the
/// graph's inputs and outputs as TFLite has them.
/// Errors: kInvalid (not a verified TFLite file), kUnsupported (operator and tensor by name).
Result<Conversion> FromTflite(std::string_view bytes, const std::string& where);

/// Stock ONNX with QuantizeLinear/DequantizeLinear to the extended form. Annotated values
/// (elem_type FLOAT with quantization) take their type from the annotation.
Result<Conversion> FromQdq(const format::Model& model);

struct LowerOptions {
  std::int64_t opset = 0;  // 0: the smallest of 13, 19, 21 and 25 that has the types
};
/// The extended form to stock QDQ ONNX: every quantized value is a FLOAT value of the same name,
/// annotated.  Errors: kUnsupported, naming value and type that the opset cannot say.
Result<Conversion> ToQdq(const format::Model& model, const LowerOptions& options = {});

/// "tflite", "qdq" (stock ONNX with Q/DQ), "qtx" (extended form) or "onnx" (float).
/// Errors: kInvalid when the bytes are none of these.
Result<std::string> DetectKind(std::string_view bytes, const std::string& where);

}  // namespace qtx::convert
