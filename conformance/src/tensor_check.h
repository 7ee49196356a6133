// Whether a tensor is what its own fields say: asked of everything that someone else made.
#pragma once

#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// Known type, dims that can be counted, bytes that fit them, parameters exactly for a quantized
/// type and as many as its dims ask for, scales positive and finite. What has passed may be read
/// element by element.  Errors: kProtocol, saying which of these is broken.
/// Source: spec/backend_protocol.md, S12 and S13.
Result<void> CheckTensor(const format::Tensor& tensor);

}  // namespace qtx::conformance
