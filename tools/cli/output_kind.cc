#include "output_kind.h"

#include <filesystem>
#include <vector>

namespace qtx::cli {

namespace fs = std::filesystem;

bool IsFolder(const std::string& output) {
  std::error_code code;
  return output.ends_with('/') || fs::is_directory(output, code);
}

Result<const convert::Kind*> KindToWrite(const std::string& output, const std::string& to) {
  const convert::Kind* kind = convert::FindKind(to.empty() ? std::string_view("qtx") : to);
  if (IsFolder(output)) return kind;
  const std::string extension = fs::path(output).extension().string();
  std::vector<const convert::Kind*> others;
  std::string names;
  for (const convert::Kind& other : convert::Kinds()) {
    if (other.write == nullptr || other.extension != extension) continue;
    others.push_back(&other);
    names += (names.empty() ? "" : ", ") + std::string(other.name);
  }
  if (others.empty() || kind->extension == extension) return kind;
  if (to.empty() && others.size() == 1) return others[0];
  return Error{
      ErrorCode::kUsage, "--output",
      "found '" + output + "', a name for " + names + ", expected " +
          (to.empty() ? "--to with one of these"
                      : std::string(kind->extension) + ", which is of " + std::string(kind->name))};
}

}  // namespace qtx::cli
