// The sandbox of commands that read what others wrote and start no other program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::cli {

/// An option of a command, given or not.
struct Option {
  std::string name;                 // the long one, "--output"; of a positional "model"
  std::vector<std::string> values;  // as given, or its default
};

/// Gives up what `command` with these options does not need: sockets, other programs, files
/// elsewhere than in the folders of those that its options name, in the system's and in those of
/// this program, and writing elsewhere than where --output and its like say. A command without
/// --sandbox, or with one of `off`, or that starts backends in processes of their own, keeps all.
/// Where this kernel lacks what it takes, `on` gives up the rest.
/// Errors: kSystem; kUnsupported for `strict` where this kernel lacks Landlock or seccomp.
Result<void> Confine(std::string_view command, const std::vector<Option>& options);

}  // namespace qtx::cli
