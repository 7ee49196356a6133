// Tables in memory to the bytes of a file.
#pragma once

#include <memory>
#include <string>

#include "qtx/format/result.h"
#include "tflite_generated.h"

namespace qtx::convert {

/// The tables of a verified file, each of which Pack can follow.
std::unique_ptr<schema::ModelT> UnpackTflite(const schema::Model& model);

/// The same tables give the same bytes.  Errors: kTooLarge past what a flatbuffer can hold.
Result<std::string> PackTflite(const schema::ModelT& model);

}  // namespace qtx::convert
