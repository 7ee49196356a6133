// Files of one model: NAME-00001-of-00003.gguf and so on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gguf/file.h"
#include "qtx/convert/convert.h"

namespace qtx::convert::gguf {

/// One file, in the order of the parts.
struct Part {
  std::string path;
  format::FileBytes opened;  // of a part that the source does not have open
  std::string_view bytes;
  GgufFile file;
};

/// The source's file, or all parts of the model that it is one of.
/// Errors: those of ParseGguf at the file; kUnreadable for a part that is missing; kInvalid where
/// parts disagree, or two of them have a tensor of one name.
Result<std::vector<Part>> OpenParts(const Source& source);

/// Whether the entry is about the split: the joined file does not have it.
bool IsOfSplit(std::string_view key);

}  // namespace qtx::convert::gguf
