#include "qtx/spec/chapters.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "qtx/conformance/files.h"

namespace qtx::spec {
Result<std::vector<std::string>> FindChapters(const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(std::vector<std::string> paths, conformance::FindFiles(folder, ".md"));
  std::erase_if(paths, [](const std::string& path) {
    return path.starts_with("proposals/") || path.starts_with("templates/") ||
           path.starts_with("onnx/") || ("/" + path).find("/overlay/") != std::string::npos;
  });
  return paths;
}

Result<std::vector<Document>> ReadChapters(const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindChapters(folder));
  std::vector<Document> chapters;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(chapters.emplace_back(),
                         ReadDocument((std::filesystem::path(folder) / path).string()));
  }
  return chapters;
}

std::string PathBelow(std::string_view folder, std::string_view path) {
  if (path.starts_with(folder)) path.remove_prefix(folder.size());
  while (path.starts_with('/')) path.remove_prefix(1);
  return std::string(path);
}

Result<std::vector<conformance::Case>> ExamplesOf(const Document& chapter) {
  std::vector<conformance::Case> examples;
  for (const Fence& fence : chapter.fences) {
    if (fence.info != "yaml") continue;
    QTX_ASSIGN_OR_RETURN(std::vector<conformance::Case> found,
                         conformance::ParseCases(fence.text, chapter.where, fence.line + 1));
    std::ranges::move(found, std::back_inserter(examples));
  }
  return examples;
}

Result<conformance::Suite> LoadExamples(const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Document> chapters, ReadChapters(folder));
  conformance::Suite suite;
  suite.folder = folder;
  std::map<std::string, std::string> places;  // of ids
  for (const Document& chapter : chapters) {
    QTX_ASSIGN_OR_RETURN(std::vector<conformance::Case> examples, ExamplesOf(chapter));
    for (conformance::Case& example : examples) {
      const auto [known, inserted] = places.emplace(example.id, example.where);
      if (!inserted) {
        return Error{ErrorCode::kInvalid, example.where,
                     "id '" + example.id + "' is taken by " + known->second};
      }
      example.folder = folder;
      example.position = std::ssize(suite.cases);
      suite.cases.push_back(std::move(example));
    }
  }
  if (suite.cases.empty()) return Error{ErrorCode::kInvalid, folder, "found no example"};
  return suite;
}

}  // namespace qtx::spec
