// Which types without scales LiteRT's kernels compute with.
#pragma once

#include "tflite/writer.h"

namespace qtx::convert {

/// Errors: kUnsupported, `where` empty, for a call that LiteRT refuses, crashes on or computes
/// wrongly, because its operands have no scales and a type other than FLOAT.
Result<void> CheckPlainTypes(const schema::SubGraphT& graph, const Call& call);

}  // namespace qtx::convert
