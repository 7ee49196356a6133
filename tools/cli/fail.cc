#include "commands.h"
#include "qtx/format/print.h"

namespace qtx::cli {

int Fail(const Error& error, int status) {
  const format::Printable where(error.where.empty() ? "qtx" : error.where, format::kMaxMessage);
  const format::Printable message(error.message, format::kMaxMessage);
  if (error.clause.empty()) {
    format::Print(stderr, "{}: {}\n", where, message);
  } else {
    format::Print(stderr, "{}: {} [{}]\n", where, message, error.clause);
  }
  // A wrong option value is wrong usage, wherever it is detected.
  return error.where.starts_with("--") ? kUsage : status;
}

int StatusOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kUnsupported:
    case ErrorCode::kTooLarge:
      return kBadInput;
    case ErrorCode::kIo:
    case ErrorCode::kTimeout:
    case ErrorCode::kProtocol:
    case ErrorCode::kInternal:
      break;
  }
  return kInternal;
}

}  // namespace qtx::cli
