// The LSTM kernel of TFLite for 8-bit activations.
#pragma once

#include <optional>
#include <vector>

#include "ops/recurrent.h"

namespace qtx::reference {

/// The outputs of an LSTM that comes from TFLite, or nullopt where its kernel takes other types:
/// tflite.S18.  REQUIRES: `layer` is that of the call.
Result<std::optional<std::vector<format::Tensor>>> RunTfliteLstm(const Call& call,
                                                                 const RecurrentLayer& layer);

}  // namespace qtx::reference
