// Reads the files of deviations.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "qtx/conformance/suite.h"
#include "qtx/format/file.h"
#include "qtx/scoreboard/scoreboard.h"

namespace qtx::scoreboard {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 18;  // of a text, and of a program

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

// The lines of a file with their numbers.
class Lines {
 public:
  Lines(const std::string& text, std::string path) : stream_(text), path_(std::move(path)) {}
  bool Next(std::string& line) {
    ++number_;
    return static_cast<bool>(std::getline(stream_, line));
  }
  Error At(std::string message) const {
    return {ErrorCode::kInvalid, path_ + ":" + std::to_string(number_), std::move(message)};
  }
  std::string Rest() {
    std::ostringstream rest;
    rest << stream_.rdbuf();
    return rest.str();
  }

 private:
  std::istringstream stream_;
  std::string path_;
  int number_ = 0;
};

Result<void> SetField(const std::string& line, const Lines& lines, std::set<std::string>& seen,
                      Deviation& deviation) {
  const std::size_t colon = std::min(line.find(": "), line.size());
  const std::string key = line.substr(0, colon);
  const std::string value = colon == line.size() ? "" : line.substr(colon + 2);
  if (value.empty() || !seen.insert(key).second)
    return lines.At("found '" + line + "', expected 'key: value', each key once");
  if (key == "systems") {
    deviation.systems = Words(value);
  } else if (key == "candidates") {
    deviation.candidates = Words(value);
  } else if (key == "cases") {
    deviation.cases = Words(value);
  } else if (key == "issue") {
    if (!value.starts_with("https://")) return lines.At("found '" + value + "', expected https://");
    deviation.issue = value;
  } else if (key == "kind" && (value == "deviation" || value == "latitude")) {
    deviation.is_latitude = value == "latitude";
  } else {
    return lines.At(
        "found '" + line +
        "', expected systems, candidates, cases, issue, or kind: deviation or latitude");
  }
  return {};
}

Result<Deviation> Parse(const std::string& text, const fs::path& path) {
  Deviation deviation;
  deviation.name = path.stem().string();
  Lines lines(text, path.string());
  std::string line;
  if (!lines.Next(line) || !line.starts_with("# ") || line.size() < 3)
    return lines.At("expected '# title'");
  deviation.title = line.substr(2);
  std::set<std::string> seen;
  lines.Next(line);
  if (line.empty()) lines.Next(line);
  for (; !line.empty(); line.clear(), lines.Next(line)) {
    QTX_RETURN_IF_ERROR(SetField(line, lines, seen, deviation));
  }
  if (deviation.systems.empty()) return lines.At("expected a line 'systems: GLOB...'");
  deviation.markdown = lines.Rest();
  return deviation;
}

}  // namespace

Result<std::vector<Deviation>> ReadDeviations(const std::string& folder) {
  std::vector<Deviation> deviations;
  std::error_code status;
  for (fs::directory_iterator entry(folder, status); !status && entry != fs::directory_iterator();
       entry.increment(status)) {
    if (entry->path().extension() != ".md" || entry->path().stem() == "README") continue;
    if (deviations.size() == kMaxDeviations) {
      return Error{ErrorCode::kTooLarge, folder,
                   "expected at most " + std::to_string(kMaxDeviations) + " deviations"};
    }
    QTX_ASSIGN_OR_RETURN(const std::string text,
                         format::ReadFile(entry->path().string(), kMaxBytes));
    QTX_ASSIGN_OR_RETURN(Deviation deviation, Parse(text, entry->path()));
    const fs::path script = fs::path(entry->path()).replace_extension(".py");
    std::error_code missing;
    if (fs::exists(script, missing)) {
      QTX_ASSIGN_OR_RETURN(deviation.script, format::ReadFile(script.string(), kMaxBytes));
    }
    deviations.push_back(std::move(deviation));
  }
  if (status) return Error{ErrorCode::kUnreadable, folder, status.message()};
  std::ranges::sort(deviations, {}, &Deviation::name);
  return deviations;
}

}  // namespace qtx::scoreboard
