// Caffe2: a predict net, its init net, and the types of its inputs.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool IsCaffe2(const Source& source);

/// Companions: the init net and value_info.json (ParseValueInfo), given or beside the file under
/// the usual names: predict_net.pb and init_net.pb, x_pred_net.pbtxt and x_init_net.pbtxt.
/// Errors: kInvalid (not a net, operators that are malformed), kUnsupported (operator by name and
/// reason), kUnreadable.
Result<Conversion> ReadCaffe2(const Source& source, const Options& options);

}  // namespace qtx::convert
