// Files that are written step by step.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "qtx/format/file.h"

namespace qtx::format {

/// A regular file in the making: a temporary file beside it, as that of WriteFileAtomically, until
/// Keep gives it its name.
class NewFile {
 public:
  /// Errors: kIo at `path`.
  static Result<NewFile> Create(const std::string& path);
  NewFile(NewFile&&) noexcept = default;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();  // removes what was not kept

  /// Where the bytes are until Keep.
  const std::string& temporary() const { return temporary_; }
  /// Errors: kIo; those of ReadRange for a piece.
  Result<void> Append(std::span<const Piece> pieces, const WriteProgress& progress);
  Result<void> Append(std::span<const std::byte> bytes);
  /// Flushes and renames.  Errors: kIo, also where there is such a file and not `replace`.
  Result<void> Keep(bool replace);

 private:
  NewFile() = default;
  std::string path_, target_, temporary_;
  Descriptor file_;
};

}  // namespace qtx::format
