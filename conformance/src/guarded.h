// Requests to a backend that may throw.
#pragma once

#include <exception>
#include <string>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// `request()`, or kIo when it throws. QTX throws nothing, but a backend in this process is someone
/// else's code.
template <typename Request>
auto Guarded(Request request) -> decltype(request()) {
  try {
    return request();
  } catch (const std::exception& fault) {
    return Error{ErrorCode::kIo, "", std::string("the backend threw: ") + fault.what()};
  } catch (...) {
    return Error{ErrorCode::kIo, "", "the backend threw something"};
  }
}

}  // namespace qtx::conformance
