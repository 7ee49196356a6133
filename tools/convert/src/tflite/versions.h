// Versions of TFLite operators.
#pragma once

#include <vector>

#include "tflite/writer.h"

namespace qtx::convert {

/// The lowest version of the operator with the features that the call uses.
/// Source: TensorFlow, tensorflow/lite/tools/versioning/op_version.cc.
std::int32_t VersionOf(const schema::SubGraphT& graph, const Call& call,
                       const std::vector<int>& outputs);

}  // namespace qtx::convert
