#include <fmt/core.h>

#include "commands.h"

namespace qtx::cli {

int Fail(const Error& error, int status) {
  fmt::print(stderr, "{}: {}\n", error.where.empty() ? "qtx" : error.where, error.message);
  // What an option says wrongly is wrong usage, wherever it was noticed.
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
      break;
  }
  return kInternal;
}

}  // namespace qtx::cli
