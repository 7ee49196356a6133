// Packs tables into the bytes of a flatbuffer.
#pragma once

#include <memory>
#include <string>

#include "qtx/format/result.h"
#include "tflite_generated.h"

namespace qtx::convert {

/// Unpacks a verified file to tables that Pack accepts.
std::unique_ptr<schema::ModelT> UnpackTflite(const schema::Model& model);

/// Deterministic.  Errors: kTooLarge past what a flatbuffer can hold.
Result<std::string> PackTflite(const schema::ModelT& model);

}  // namespace qtx::convert
