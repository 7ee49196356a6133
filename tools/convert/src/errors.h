// The two errors that converters give, without the words around them.
#pragma once

#include <string>
#include <utility>

#include "qtx/format/result.h"

namespace qtx::convert {

/// The source breaks its own format. `where`: node, value or field; who calls adds its own place.
inline Error Invalid(std::string where, std::string message) {
  return {ErrorCode::kInvalid, std::move(where), std::move(message)};
}
inline Error Invalid(std::string message) { return Invalid("", std::move(message)); }

/// It is sound, and the target form cannot say it.
inline Error Unsupported(std::string where, std::string message) {
  return {ErrorCode::kUnsupported, std::move(where), std::move(message)};
}
inline Error Unsupported(std::string message) { return Unsupported("", std::move(message)); }

}  // namespace qtx::convert
