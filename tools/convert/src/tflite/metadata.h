// ONNX's metadata_props as entries of a TFLite file's metadata.
#pragma once

#include <string_view>

#include "qtx/format/model.h"
#include "tflite_generated.h"

namespace qtx::convert {

inline constexpr std::string_view kPropertyPrefix = "onnx.metadata_props.";

/// The properties in the order of the file; none if they exceed `limit` bytes, which only happens
/// when entries share a buffer.
format::Metadata PropertiesOf(const schema::Model& file, std::size_t limit);

/// Replaces the properties of `tables` by those of `metadata`, except the skeleton.
void SetProperties(const format::Metadata& metadata, schema::ModelT& tables);

}  // namespace qtx::convert
