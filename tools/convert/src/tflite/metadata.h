// ONNX's metadata_props as entries of a TFLite file's metadata.
#pragma once

#include <string_view>

#include "qtx/format/model.h"
#include "tflite_generated.h"

namespace qtx::convert {

inline constexpr std::string_view kPropertyPrefix = "onnx.metadata_props.";

/// In the order of the file; none when they would take more than `limit` bytes, which happens only
/// where entries share a buffer.
format::Metadata PropertiesOf(const schema::Model& file, std::size_t limit);

/// `tables` has the properties of `metadata` and no others; the skeleton is none.
void SetProperties(const format::Metadata& metadata, schema::ModelT& tables);

}  // namespace qtx::convert
