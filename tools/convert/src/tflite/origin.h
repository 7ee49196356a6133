// The origin of a node: the TFLite operator it comes from.
#pragma once

#include "qtx/format/model.h"
#include "tflite/file.h"

namespace qtx::convert {

/// The common origin of an operator's nodes: group is the operator's index (TFLite has no names);
/// attributes are those that the nodes do not express.
format::Origin OriginOf(const TfliteOperator& op);

}  // namespace qtx::convert
