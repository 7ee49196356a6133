#include <fmt/core.h>

#include "commands.h"
#include "qtx/conformance/report.h"

namespace qtx::cli {

int Fail(const Error& error, int status) {
  constexpr std::size_t kMaxText = 8192;
  const std::string clause =
      error.clause.empty() ? "" : " [" + conformance::Printable(error.clause, 64) + "]";
  fmt::print(stderr, "{}: {}{}\n",
             error.where.empty() ? "qtx" : conformance::Printable(error.where, kMaxText),
             conformance::Printable(error.message, kMaxText), clause);
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
