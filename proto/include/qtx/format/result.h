// Errors as values: whatever a file, a protocol frame or a user can cause is a Result, never an
// exception.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace qtx {

/// Whose fault an error is; README, "Exit status", follows from it alone. The first six are the
/// numbers of backend.proto.
enum class ErrorCode {
  kInvalid,      // an input breaks a rule
  kUnsupported,  // an input is well formed; this code does not handle it
  kTooLarge,     // an input passes a limit of limits.h
  kIo,           // an output cannot be written, or a peer process cannot be started or has ended
  kTimeout,      // a peer process did not answer in time
  kProtocol,     // a peer process answered with something that is not the protocol
  kInternal,     // what this code made breaks a rule: a fault of its own
  kUnreadable,   // an input is missing, cannot be read, or ends early
  kMemory,       // an input needs more memory than the process can have
  kUsage,        // the command line is wrong
  kSystem,       // the system starts no process
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string where;        // "net.onnx: graph.input[0] 'x': quantization.offset"
  std::string message;      // "found 3 values, expected 4 (axis 1 has size 4)"
  std::string clause = {};  // the broken clause of the spec: "conv.C3"; may be empty

  /// "where: message [clause]", without empty parts.
  std::string Text() const {
    const std::string text = where.empty() ? message : where + ": " + message;
    return clause.empty() ? text : text + " [" + clause + "]";
  }
};

/// `size` bytes that the process cannot allocate.
inline Error NoMemoryFor(std::int64_t size, std::string where = {}) {
  return {ErrorCode::kMemory, std::move(where),
          "found " + std::to_string(size) + " bytes, more than there is memory for"};
}

/// A value or an Error. Used with the two macros below; the monadic chains of tl::expected do not
/// compile on it, by intent.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{...};` is the one style
  Result(Error error) : Base(tl::unexpect, std::move(error)) {}
};

/// Prefixes `where` with `place`; each layer adds its own place this way.
inline Error At(std::string place, Error error) {
  if (!error.where.empty()) place += ": " + error.where;
  error.where = std::move(place);
  return error;
}

}  // namespace qtx

#define QTX_CONCAT_INNER_(a, b) a##b
#define QTX_CONCAT_(a, b) QTX_CONCAT_INNER_(a, b)

#define QTX_ASSIGN_OR_RETURN(declaration, expression) \
  QTX_ASSIGN_OR_RETURN_INNER_(QTX_CONCAT_(qtx_result_, __LINE__), declaration, expression)
#define QTX_ASSIGN_OR_RETURN_INNER_(result, declaration, expression) \
  auto result = (expression);                                        \
  if (!result.has_value()) return std::move(result).error();         \
  declaration = *std::move(result)

#define QTX_RETURN_IF_ERROR(expression)                          \
  do {                                                           \
    if (auto qtx_status = (expression); !qtx_status.has_value()) \
      return std::move(qtx_status).error();                      \
  } while (false)
