// Turns exceptions of in-process backends into errors.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// Returns `request()`, or kIo if it throws. QTX does not throw, but an in-process backend is
/// third-party code.
template <typename Request>
auto Guarded(Request request) -> decltype(request()) {
  try {
    return request();
  } catch (const std::exception& fault) {
    return Error{ErrorCode::kIo, "", std::string("the backend threw: ") + fault.what()};
  } catch (...) {
    return Error{ErrorCode::kIo, "", "the backend threw an unknown exception"};
  }
}

/// Calls work() in a destructor. Without memory it ends early: what it was to end goes with this
/// process.
template <typename Work>
void Attempt(const Work& work) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace qtx::conformance
