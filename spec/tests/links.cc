#include "tests/links.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

#include "qtx/conformance/coverage.h"

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

bool IsTest(const std::string& place) { return place.find("/tests/") != std::string::npos; }

PlacesCiting CitationsWhere(bool (*wanted)(const std::string&)) {
  static const std::regex kCitation(R"(\b([a-z][a-z0-9_]*\.[CS][0-9]+)\b)");
  PlacesCiting citations;
  const auto visit = [&](const std::string& place, const std::string& line) {
    if (!wanted(place)) return;
    for (std::sregex_iterator i(line.begin(), line.end(), kCitation), end; i != end; ++i) {
      citations[place].insert((*i)[1]);
    }
  };
  for (const char* module : {"proto", "reference", "backends", "conformance", "tools"}) {
    for (const char* extension : {".h", ".cc"}) ForEachLine(kRoot / module, extension, visit);
  }
  return citations;
}

}  // namespace

Clauses StatedClauses() {
  Clauses places;
  const auto clauses = conformance::ReadClauses((kRoot / "spec").string());
  if (!clauses.has_value()) return places;
  for (const conformance::Clause& clause : *clauses) places[clause.id].push_back(clause.place);
  return places;
}

PlacesCiting Citations() {
  return CitationsWhere([](const std::string& place) { return !IsTest(place); });
}

PlacesCiting TestCitations() { return CitationsWhere(IsTest); }

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
