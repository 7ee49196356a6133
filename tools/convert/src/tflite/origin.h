// The origin of a node: the TFLite operator it comes from.
#pragma once

#include "qtx/format/model.h"
#include "tflite/file.h"

namespace qtx::convert {

/// The same for all nodes of one operator: group is the operator's index, since TFLite numbers its
/// operators and has no names; attributes are those that the nodes no longer state.
format::Origin OriginOf(const TfliteOperator& op);

}  // namespace qtx::convert
