#include "tests/links.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = QTX_SOURCE_DIR;

// Calls `visit` with "path:line" and the text of every line of the files that end in `extension`.
void ForEachLine(const fs::path& folder, const std::string& extension,
                 const std::function<void(const std::string&, const std::string&)>& visit) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != extension) continue;
    std::ifstream file(entry.path());
    const std::string name = fs::relative(entry.path(), kRoot).string();
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      visit(name + ":" + std::to_string(++number), line);
    }
  }
}

}  // namespace

Clauses StatedClauses() {
  static const std::regex kClause(R"(^(?:\| *)?\*\*([a-z0-9_]+\.[CS][0-9]+)\*\*.*)");
  Clauses clauses;
  ForEachLine(kRoot / "spec", ".md", [&](const std::string& place, const std::string& line) {
    std::smatch match;
    if (std::regex_match(line, match, kClause)) clauses[match[1]].push_back(place);
  });
  return clauses;
}

std::map<std::string, std::set<std::string>> Citations() {
  static const std::regex kCitation(R"(\b([a-z][a-z0-9_]*\.[CS][0-9]+)\b)");
  std::map<std::string, std::set<std::string>> citations;
  const auto visit = [&](const std::string& place, const std::string& line) {
    for (std::sregex_iterator i(line.begin(), line.end(), kCitation), end; i != end; ++i) {
      citations[place].insert((*i)[1]);
    }
  };
  for (const char* module : {"proto", "reference", "backends", "conformance", "tools"}) {
    for (const char* extension : {".h", ".cc"}) {
      for (const char* part : {"include", "src"}) {
        if (fs::exists(kRoot / module / part)) ForEachLine(kRoot / module / part, extension, visit);
      }
    }
  }
  return citations;
}

std::string SnakeCase(const std::string& op_type) {
  const auto is = [&op_type](int (*kind)(int), std::size_t i) {
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
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / folder)) {
    if (entry.path().extension() == extension) stems.insert(entry.path().stem().string());
  }
  return stems;
}

}  // namespace qtx::spec
