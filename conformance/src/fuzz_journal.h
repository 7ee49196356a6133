// What fuzzing has done so far, block by block of models.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal_file.h"
#include "qtx/conformance/fuzz.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// A block of models that were run.
struct FuzzBlock {
  FuzzCounts counts;
  std::vector<std::int64_t> failed;  // numbers of models
};

class FuzzJournal {
 public:
  /// The block of each number in a run of these options on this backend.
  /// Errors: those of JournalFile::Open.
  static Result<FuzzJournal> Open(const FuzzOptions& options, const std::string& arithmetic,
                                  const backend::Description& backend, const std::string& source);

  std::optional<FuzzBlock> Find(std::int64_t number) const;
  void Append(std::int64_t number, const FuzzBlock& block);
  std::optional<Error> error() const { return file_->error(); }

 private:
  std::string KeyOf(std::int64_t number) const;

  std::string run_;  // the digest of what the models and their outcome depend on
  std::map<std::string, FuzzBlock> blocks_;  // by key
  std::unique_ptr<JournalFile> file_;
};

}  // namespace qtx::conformance
