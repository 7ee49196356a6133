// A file of results as they come, one JSON object a line: `{"key": "…", "commit": "…", "result":
// {…}}`.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "qtx/format/file.h"
#include "qtx/format/result.h"
#include "report_json.h"

namespace qtx::conformance {

/// Safe to share among threads. A line is written before Append returns.
class JournalFile {
 public:
  /// Called with each line's key and result; `where` is "path:line".
  using Take = std::function<Result<void>(std::string key, const rapidjson::Value& result,
                                          const std::string& where)>;
  /// Opens or creates `path`. An incomplete last line is dropped.
  /// Errors: kIo, also when another run has it open; kTooLarge; kInvalid at "path:line" for a file
  /// that is not a journal, and for results of another commit; those of `take`.
  static Result<std::unique_ptr<JournalFile>> Open(const std::string& path,
                                                   const std::string& commit, const Take& take);

  void Append(const std::string& key, const std::function<void(JsonWriter&)>& write_result);
  /// The first write error.
  std::optional<Error> error() const;

 private:
  JournalFile(std::string path, std::string commit, format::FileLock lock, format::Descriptor file)
      : path_(std::move(path)),
        commit_(std::move(commit)),
        lock_(std::move(lock)),
        file_(std::move(file)) {}
  Result<void> Read(const Take& take);
  Result<void> TakeLine(std::string_view line, const std::string& where, const Take& take) const;
  Result<bool> ReadMore(std::size_t size, std::string& text) const;

  std::string path_, commit_;
  format::FileLock lock_;
  format::Descriptor file_;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace qtx::conformance
