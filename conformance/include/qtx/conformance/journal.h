// Results kept as they come, so that an interrupted run goes on where it stopped.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

class JournalFile;

/// A file with one JSON object per line, `{"key": "…", "commit": "…", "result": {…}}`, written
/// before the next case begins: killing the run loses no finished case. Safe to share among
/// threads.
class Journal {
 public:
  /// Opens or creates `path` for results of the program built from `commit`, as Provenance has it.
  /// An incomplete last line is dropped. `text_answers`, which may be null, are those of the run;
  /// the journal keeps the pointer.
  /// Errors: kIo, also when another run has it open; kTooLarge; kInvalid at "path:line" for a file
  /// that is not a journal, and for results of another commit.
  static Result<std::unique_ptr<Journal>> Open(const std::string& path, const std::string& commit,
                                               const TextAnswers* text_answers = nullptr);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// The recorded result of a case; nullopt if the backend's description, or the case's contents,
  /// files (with external data), tolerance or the text's answer have changed.
  std::optional<CaseResult> Find(const BackendReport& row, const Case& c) const;
  /// Records `result`, before a list of expected failures is applied to it.
  void Append(const BackendReport& row, const Case& c, const CaseResult& result);
  /// The first write error, after which RunSuite begins no case.
  std::optional<Error> error() const;

 private:
  explicit Journal(const TextAnswers* text_answers);

  const TextAnswers* text_answers_;
  std::map<std::string, CaseResult> results_;  // by key
  std::unique_ptr<JournalFile> file_;
};

}  // namespace qtx::conformance
