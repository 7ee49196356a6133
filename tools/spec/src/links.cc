#include "qtx/spec/links.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <string_view>
#include <system_error>
#include <utility>

#include "qtx/conformance/files.h"
#include "qtx/spec/chapters.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;

constexpr std::array kModules = {"proto", "reference", "backends", "conformance", "tools"};

// Paths below `root` of the files of a module that end in `extension`, without packages,
// which a backend's `install` puts into folders `venv` and `node_modules`.
Result<std::vector<std::string>> FilesOf(const fs::path& root, const std::string& module,
                                         std::string_view extension) {
  QTX_ASSIGN_OR_RETURN(std::vector<std::string> paths,
                       conformance::FindFiles((root / module).string(), extension));
  for (std::string& path : paths) path.insert(0, module + "/");
  std::erase_if(paths, [](const std::string& path) {
    return path.find("/venv/") != std::string::npos ||
           path.find("/node_modules/") != std::string::npos;
  });
  return paths;
}

// Calls `visit` with "path:line" and the text of every line of the files that end in `extension`.
void ForEachLine(const fs::path& root, const std::string& module, const std::string& extension,
                 const std::function<void(const std::string&, const std::string&)>& visit) {
  const auto paths = FilesOf(root, module, extension);
  if (!paths) return;
  for (const std::string& path : *paths) {
    std::ifstream file(root / path);
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      visit(path + ":" + std::to_string(++number), line);
    }
  }
}

bool IsTest(const std::string& place) { return place.find("/tests/") != std::string::npos; }

PlacesCiting CitationsWhere(const std::string& root, bool tests) {
  static const std::regex kCitation(R"(\b([a-z][a-z0-9_]*\.[CS][0-9]+)\b)");
  PlacesCiting citations;
  const auto visit = [&](const std::string& place, const std::string& line) {
    if (IsTest(place) != tests) return;
    for (std::sregex_iterator i(line.begin(), line.end(), kCitation), end; i != end; ++i) {
      citations[place].insert((*i)[1]);
    }
  };
  for (const char* module : kModules) {
    for (const char* extension : {".h", ".cc"}) ForEachLine(root, module, extension, visit);
  }
  return citations;
}

bool IsElsewhere(std::string_view target) {
  const std::size_t colon = target.find(':');
  return colon != std::string_view::npos && target.find('/') > colon;
}

Result<bool> Resolves(const Document& from, std::string_view target) {
  const std::size_t hash = std::min(target.find('#'), target.size());
  const std::string_view path = target.substr(0, hash);
  const std::string_view anchor = target.substr(std::min(hash + 1, target.size()));
  const fs::path file = fs::path(from.where).parent_path() / path;
  std::error_code status;
  if (!path.empty() && !fs::exists(file, status)) return false;
  if (anchor.empty()) return true;
  const auto has = [&](const Document& document) {
    return std::ranges::any_of(document.sections, [&](const Section& section) {
      return AnchorOf(section.title) == anchor;
    });
  };
  if (path.empty()) return has(from);
  if (file.extension() != ".md") return false;
  QTX_ASSIGN_OR_RETURN(const Document to, ReadDocument(file.string()));
  return has(to);
}

Result<void> Check(const std::string& path, const std::string& shown,
                   std::vector<Dangling>& dangling) {
  QTX_ASSIGN_OR_RETURN(const Document document, ReadDocument(path));
  for (const Link& link : document.links) {
    if (IsElsewhere(link.target)) continue;
    QTX_ASSIGN_OR_RETURN(const bool resolves, Resolves(document, link.target));
    if (!resolves) dangling.push_back({shown + ":" + std::to_string(link.line), link.target});
  }
  return {};
}

}  // namespace

Result<std::vector<Dangling>> DanglingLinks(const std::string& folder, bool with_readmes) {
  std::vector<Dangling> dangling;
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, conformance::FindFiles(folder, ".md"));
  for (const std::string& path : paths) {
    if (path.starts_with("templates/")) continue;
    QTX_RETURN_IF_ERROR(Check((fs::path(folder) / path).string(), path, dangling));
  }
  if (!with_readmes) return dangling;
  const fs::path root = fs::absolute(folder).lexically_normal().parent_path();
  std::vector<std::string> readmes = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"};
  for (const char* module : kModules) {
    QTX_ASSIGN_OR_RETURN(const auto found, FilesOf(root, module, ".md"));
    std::ranges::copy(found, std::back_inserter(readmes));
  }
  for (const std::string& path : readmes) {
    QTX_RETURN_IF_ERROR(Check((root / path).string(), "../" + path, dangling));
  }
  return dangling;
}

std::string AnchorOf(std::string_view title) {
  std::string anchor;
  for (const char c : title) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (std::isalnum(byte) != 0 || c == '_' || c == '-' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    }
  }
  return anchor;
}

PlacesCiting Citations(const std::string& root) { return CitationsWhere(root, false); }

PlacesCiting TestCitations(const std::string& root) { return CitationsWhere(root, true); }

std::string SnakeCase(std::string_view op_type) {
  const auto is = [op_type](int (*kind)(int), std::size_t i) {
    return i < op_type.size() && kind(static_cast<unsigned char>(op_type[i])) != 0;
  };
  std::string snake;
  for (std::size_t i = 0; i < op_type.size(); ++i) {
    // A capital begins a word, but for those inside an abbreviation: RMSNormalization, GatherND.
    const bool begins =
        is(std::isupper, i) && (!is(std::isupper, i - 1) || is(std::islower, i + 1));
    if (begins && i > 0) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(op_type[i])));
  }
  return snake;
}

std::set<std::string> Stems(const std::string& folder, const std::string& extension) {
  std::set<std::string> stems;
  std::error_code status;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, status)) {
    if (entry.path().extension() == extension) stems.insert(entry.path().stem().string());
  }
  return stems;
}

}  // namespace qtx::spec
