// Helpers for the two errors of converters.
#pragma once

#include <string>
#include <utility>

#include "qtx/format/result.h"

namespace qtx::convert {

/// kInvalid: the source breaks its own format. `where`: node, value or field; callers add their
/// place.
inline Error Invalid(std::string where, std::string message) {
  return {ErrorCode::kInvalid, std::move(where), std::move(message)};
}
inline Error Invalid(std::string message) { return Invalid("", std::move(message)); }

/// kUnsupported: the source is valid, but the target cannot express it.
inline Error Unsupported(std::string where, std::string message) {
  return {ErrorCode::kUnsupported, std::move(where), std::move(message)};
}
inline Error Unsupported(std::string message) { return Unsupported("", std::move(message)); }

}  // namespace qtx::convert
