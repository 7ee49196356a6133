#include <sys/prctl.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "commands.h"
#include "qtx/format/print.h"

namespace qtx::cli {
namespace {

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return kUsage;
    case ErrorCode::kInvalid:
    case ErrorCode::kUnsupported:
    case ErrorCode::kTooLarge:
    case ErrorCode::kUnreadable:
      return kBadInput;
    case ErrorCode::kIo:
    case ErrorCode::kTimeout:
    case ErrorCode::kProtocol:
    case ErrorCode::kInternal:
    case ErrorCode::kMemory:
    case ErrorCode::kSystem:
      break;
  }
  return kInternal;
}

// A file that the system permits may be one that the sandbox does not.
std::string SandboxNote(const Error& error) {
  const bool refused = error.message.ends_with(std::strerror(EACCES));
  if (!refused || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return "";
  return ", or outside of the folders that the command names, which --sandbox off permits";
}

}  // namespace

int Fail(const Error& error) {
  const format::Printable where(error.where.empty() ? "qtx" : error.where, format::kMaxMessage);
  const format::Printable message(error.message + SandboxNote(error), format::kMaxMessage);
  if (error.clause.empty()) {
    format::Print(stderr, "{}: {}\n", where, message);
  } else {
    format::Print(stderr, "{}: {} [{}]\n", where, message, error.clause);
  }
  return StatusOf(error.code);
}

Error AsUsage(const std::string& option, Error error) {
  if (error.code == ErrorCode::kInvalid || error.code == ErrorCode::kUnsupported)
    error.code = ErrorCode::kUsage;
  return At(option, std::move(error));
}

Error OfRequest(const std::string& backend, const std::string& model, Error error) {
  const bool has_failed = error.code == ErrorCode::kIo || error.code == ErrorCode::kTimeout ||
                          error.code == ErrorCode::kProtocol ||
                          error.code == ErrorCode::kInternal || error.code == ErrorCode::kSystem;
  const std::string place = has_failed ? "--backend " + backend : model;
  return place.empty() ? error : At(place, std::move(error));
}

Error OutOfMemory(const std::string& file) {
  return {ErrorCode::kMemory, file, "what it describes takes more memory than there is"};
}

}  // namespace qtx::cli
