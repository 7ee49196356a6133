// Results kept as they come, so that an interrupted run goes on where it stopped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// A file with one JSON object per line, `{"key": "…", "result": {…}}`, written before the next
/// case begins: killing the run loses no finished case. Safe to share among threads.
class Journal {
 public:
  /// Opens `path`, or makes it. A last line without its end is dropped.
  /// Errors: kIo; kTooLarge; kInvalid at "path:line" for another file's contents; kIo when another
  /// run has it open.
  static Result<std::unique_ptr<Journal>> Open(const std::string& path);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// What is known of a case: nothing unless the backend describes itself as it did then and the
  /// case has the same contents and tolerance, files and the external data of initializers
  /// included.
  std::optional<CaseResult> Find(const BackendReport& row, const Case& c) const;
  /// `result` as the backend gave it, before any list of expected failures.
  void Append(const BackendReport& row, const Case& c, const CaseResult& result);
  /// The first write that failed.
  std::optional<Error> error() const;

 private:
  Journal(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Result<void> Read();

  std::string path_;
  int file_;
  mutable std::mutex mutex_;
  std::map<std::string, CaseResult> results_;  // by key
  std::optional<Error> error_;
};

}  // namespace qtx::conformance
