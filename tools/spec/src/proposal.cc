#include "qtx/spec/proposal.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "proto_change.h"
#include "qtx/conformance/proposal_examples.h"
#include "qtx/format/file.h"
#include "qtx/spec/coverage.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;
using conformance::Case;

constexpr std::size_t kNumberDigits = 4;
constexpr std::size_t kMaxExampleFiles = 1000;
constexpr std::array kStatuses = {Status::kDraft, Status::kAccepted, Status::kRejected,
                                  Status::kPromoted};

Error Invalid(std::string where, std::string message) {
  return {ErrorCode::kInvalid, std::move(where), std::move(message)};
}

std::string FoundExpected(const std::string& found, const std::string& expected) {
  return "found " + found + ", expected " + expected;
}

std::optional<std::int64_t> ToNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// Of "YYYY-MM-DD".
bool IsDay(const std::string& date) {
  const auto number = [&](std::size_t at, std::size_t count) {
    return static_cast<unsigned>(*ToNumber(date.substr(at, count)));
  };
  const std::chrono::year year(static_cast<int>(number(0, 4)));
  return (year / std::chrono::month(number(5, 2)) / std::chrono::day(number(8, 2))).ok();
}

// "0003-slug": the number.
std::optional<std::int64_t> NumberOf(std::string_view folder) {
  if (folder.size() < kNumberDigits + 2 || folder[kNumberDigits] != '-') return std::nullopt;
  return ToNumber(folder.substr(0, kNumberDigits));
}

std::string NameOf(const std::string& folder) {
  std::error_code status;
  const fs::path path = fs::absolute(folder, status).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

std::string StemOf(std::string slug) {
  std::ranges::replace(slug, '-', '_');
  return slug;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

struct Cell {
  std::string text;
  int line = 0;
};

// The table between the title and the first section, by its first column.
std::map<std::string, Cell, std::less<>> StatusTable(const Document& text) {
  std::map<std::string, Cell, std::less<>> rows;
  const auto second = std::ranges::find(text.sections, 2, &Section::level);
  const int end = second == text.sections.end() ? INT_MAX : second->line;
  int line = 0;
  for (std::size_t at = 0; at < text.markdown.size();) {
    const std::size_t stop = std::min(text.markdown.find('\n', at), text.markdown.size());
    const std::string_view row = std::string_view(text.markdown).substr(at, stop - at);
    at = stop + 1;
    if (++line >= end) break;
    const std::size_t middle = row.find('|', 1);
    if (!row.starts_with('|') || middle == std::string_view::npos) continue;
    const std::size_t last = row.find('|', middle + 1);
    rows.emplace(Trimmed(row.substr(1, middle - 1)),
                 Cell{std::string(Trimmed(row.substr(middle + 1, last - middle - 1))), line});
  }
  return rows;
}

class Loader {
 public:
  Loader(const std::string& folder, std::span<const std::string> clauses)
      : path_(folder + "/proposal.md"), clauses_(clauses.begin(), clauses.end()) {
    proposal_.folder = folder;
  }

  Result<Proposal> Load() {
    QTX_RETURN_IF_ERROR(ReadName());
    QTX_ASSIGN_OR_RETURN(proposal_.text, ReadDocument(path_));
    QTX_RETURN_IF_ERROR(ReadTitle());
    QTX_RETURN_IF_ERROR(ReadStatus());
    QTX_RETURN_IF_ERROR(CheckSections());
    QTX_RETURN_IF_ERROR(CheckProtoChange(proposal_.text));
    QTX_RETURN_IF_ERROR(ReadExamples());
    return std::move(proposal_);
  }

 private:
  Result<void> ReadName() {
    const std::string name = NameOf(proposal_.folder);
    std::error_code status;
    if (!fs::is_directory(proposal_.folder, status)) {
      return Error{ErrorCode::kUnreadable, proposal_.folder, "found no folder of that name"};
    }
    const auto number = NumberOf(name);
    if (!number) return Invalid(proposal_.folder, FoundExpected("'" + name + "'", "NNNN-slug"));
    proposal_.number = *number;
    proposal_.slug = name.substr(kNumberDigits + 1);
    return {};
  }

  Result<void> ReadTitle() {
    const auto& sections = proposal_.text.sections;
    const std::string prefix = NameOf(proposal_.folder).substr(0, kNumberDigits) + ": ";
    const bool there = !sections.empty() && sections[0].level == 1;
    if (!there || !sections[0].title.starts_with(prefix) ||
        sections[0].title.size() == prefix.size()) {
      return Invalid(path_ + ":1", FoundExpected(there ? "'" + sections[0].title + "'" : "no title",
                                                 "# " + prefix + "Title"));
    }
    proposal_.title = sections[0].title.substr(prefix.size());
    return {};
  }

  // Each section of level 2 is one of the list, in its order; the draft of an overlay may lack
  // some.
  Result<void> CheckSections() const {
    std::size_t next = 0;
    const bool any = proposal_.status == Status::kDraft && proposal_.overlay != nullptr;
    for (const Section& section : proposal_.text.sections) {
      if (section.level != 2) continue;
      const std::string place = path_ + ":" + std::to_string(section.line);
      const auto known = std::ranges::find(kProposalSections, section.title);
      const auto index = static_cast<std::size_t>(known - kProposalSections.begin());
      if (any && known != kProposalSections.end() && index > next) next = index;
      if (next == kProposalSections.size()) {
        return Invalid(place,
                       FoundExpected("a section '" + section.title + "'", "none after 'Decision'"));
      }
      if (section.title != kProposalSections[next]) {
        return Invalid(place, FoundExpected("a section '" + section.title + "'",
                                            "'" + std::string(kProposalSections[next]) + "'"));
      }
      if (Trimmed(OneLine(proposal_.text.Text(section))).empty()) {
        return Invalid(place, "the section '" + section.title + "' is empty");
      }
      ++next;
    }
    if (any || next == kProposalSections.size()) return {};
    return Invalid(path_, "found no section '" + std::string(kProposalSections[next]) + "'");
  }

  static std::string OneLine(std::string_view text) {
    std::string line(text);
    std::ranges::replace(line, '\n', ' ');
    return line;
  }

  Result<void> ReadStatus() {
    const auto rows = StatusTable(proposal_.text);
    for (const std::string_view key : {"status", "feature", "version", "date"}) {
      if (rows.contains(key)) continue;
      return Invalid(path_, "found no row '" + std::string(key) + "' in the table below the title");
    }
    QTX_RETURN_IF_ERROR(ReadFeature(rows.find("feature")->second));
    QTX_RETURN_IF_ERROR(ReadWord(rows.find("status")->second));
    const Cell& version = rows.find("version")->second;
    QTX_RETURN_IF_ERROR(ReadVersion(version));
    const Cell& date = rows.find("date")->second;
    proposal_.date = date.text;
    std::string shape = date.text;
    std::ranges::replace_if(
        shape, [](char c) { return c >= '0' && c <= '9'; }, '0');
    if (shape == "0000-00-00" && IsDay(date.text)) return {};
    return Invalid(Place(date, "date"), FoundExpected("'" + date.text + "'", "YYYY-MM-DD"));
  }

  Result<void> ReadVersion(const Cell& cell) {
    const auto version = ToNumber(cell.text);
    const auto* feature = proposal_.feature;
    if (version && (feature == nullptr || *version == feature->version)) {
      proposal_.version = *version;
      return {};
    }
    const std::string expected = feature == nullptr
                                     ? "a number"
                                     : std::to_string(feature->version) + ", that of its feature";
    return Invalid(Place(cell, "version"), FoundExpected("'" + cell.text + "'", expected));
  }

  Result<void> ReadFeature(const Cell& cell) {
    if (HasOverlay(proposal_.folder) != (cell.text == kOverlayFeature)) {
      return Invalid(Place(cell, "feature"),
                     FoundExpected("'" + cell.text + "'",
                                   "'overlay' where there is a folder overlay/, "
                                   "a feature where there is none"));
    }
    if (cell.text == kOverlayFeature) {
      QTX_ASSIGN_OR_RETURN(Overlay overlay, ReadOverlay(proposal_.folder));
      proposal_.examples = std::move(overlay.examples);
      proposal_.overlay = std::make_unique<const Overlay>(std::move(overlay));
      return {};
    }
    const auto row = format::FindFeature(cell.text);
    if (!row.has_value()) return Invalid(Place(cell, "feature"), row.error().message);
    if ((*row)->proposal != proposal_.number) {
      return Invalid(Place(cell, "feature"),
                     FoundExpected("that of proposal " + std::to_string((*row)->proposal),
                                   "one of proposal " + std::to_string(proposal_.number)));
    }
    proposal_.feature = *row;
    return {};
  }

  Result<void> ReadWord(const Cell& cell) {
    const auto status = std::ranges::find(kStatuses, cell.text, [](Status s) { return Name(s); });
    if (status == kStatuses.end()) {
      return Invalid(Place(cell, "status"),
                     FoundExpected("'" + cell.text + "'", "draft, accepted, rejected or promoted"));
    }
    proposal_.status = *status;
    if (proposal_.overlay != nullptr) return {};  // which no code knows of
    if ((*status == Status::kPromoted) == proposal_.promoted()) return {};
    return Invalid(
        Place(cell, "status"),
        FoundExpected(cell.text, proposal_.promoted()
                                     ? "promoted, for its feature is part of the current spec"
                                     : "another, for its feature is not part of the spec"));
  }

  std::string Place(const Cell& cell, const std::string& row) const {
    return path_ + ":" + std::to_string(cell.line) + ": " + row;
  }

  Result<void> ReadExamples() {
    const std::string folder = proposal_.folder + "/examples";
    std::vector<std::string> paths;
    std::error_code status;
    for (fs::directory_iterator entry(folder, status); !status && entry != fs::directory_iterator();
         entry.increment(status)) {
      const bool file = entry->is_regular_file(status);
      if (file && entry->path().extension() == ".yaml") paths.push_back(entry->path().string());
      if (paths.size() > kMaxExampleFiles) {
        return Error{ErrorCode::kTooLarge, folder, "found more than 1000 files .yaml"};
      }
    }
    std::ranges::sort(paths);
    for (const std::string& path : paths) {
      QTX_ASSIGN_OR_RETURN(const std::string text,
                           format::ReadFile(path, conformance::kMaxCaseFileBytes));
      QTX_ASSIGN_OR_RETURN(std::vector<Case> cases, ParseExamples(text, path));
      std::ranges::move(cases, std::back_inserter(proposal_.examples));
    }
    for (Case& c : proposal_.examples) {
      c.folder = folder;
      QTX_RETURN_IF_ERROR(CheckExample(c));
    }
    if (!proposal_.examples.empty()) return {};
    return Invalid(folder, "found no example, expected at least one case in a file .yaml");
  }

  Result<std::vector<Case>> ParseExamples(const std::string& text, const std::string& path) const {
    if (proposal_.overlay == nullptr) return conformance::ParseProposalExamples(text, path);
    return conformance::ParseOverlayExamples(text, path, 1, NamesOf(proposal_.overlay->after));
  }

  Result<void> CheckExample(const Case& c) {
    const std::string stem = StemOf(proposal_.slug) + "/";
    if (!c.id.starts_with(stem)) {
      return Invalid(c.where, FoundExpected("id '" + c.id + "'", "one that begins with " + stem));
    }
    if (!ids_.insert(c.id).second) {
      return Invalid(c.where, "another example has the id '" + c.id + "'");
    }
    const conformance::Expectation before = c.before.value_or(conformance::Expectation());
    for (const std::string& clause : {c.spec, c.error, before.error}) {
      if (clause.empty() || IsStated(clause)) continue;
      return Invalid(c.where,
                     "cites " + clause + ", which neither the spec nor the proposal states");
    }
    for (const auto* outputs : {&c.outputs, &before.outputs}) {
      for (const conformance::CaseValue& output : *outputs) {
        const bool refused = !(outputs == &c.outputs ? c.error : before.error).empty();
        if (output.data || !output.file.empty() || refused) continue;
        return Invalid(c.where,
                       "output '" + output.name + "' has no data; an example says what comes out");
      }
    }
    return {};
  }

  bool IsStated(const std::string& clause) const {
    const auto* overlay = proposal_.overlay.get();
    return clauses_.contains(clause) ||
           (overlay != nullptr &&
            std::ranges::find(overlay->clauses, clause) != overlay->clauses.end()) ||
           std::ranges::find(proposal_.text.clauses, clause, &StatedClause::id) !=
               proposal_.text.clauses.end();
  }

  std::string path_;
  std::set<std::string, std::less<>> clauses_;
  std::set<std::string, std::less<>> ids_;
  Proposal proposal_;
};

}  // namespace

Edition Proposal::Before() const {
  if (overlay != nullptr) return {.text = &overlay->before};
  // What was promoted in its version or a later one was not there yet.
  format::Features features = format::Features::Current().Without(feature->feature);
  for (const format::FeatureRow& row : format::AllFeatures()) {
    const bool later = feature->promoted && row.promoted && row.version >= feature->version;
    if (later) features = features.Without(row.feature);
  }
  return {.features = features};
}

Edition Proposal::After() const {
  if (overlay != nullptr) return {.text = &overlay->after};
  return {.features = format::Features::Current().With(feature->feature)};
}

std::string_view Name(Status status) {
  switch (status) {
    case Status::kDraft:
      return "draft";
    case Status::kAccepted:
      return "accepted";
    case Status::kRejected:
      return "rejected";
    case Status::kPromoted:
      return "promoted";
  }
  return "draft";
}

Result<std::string> FindProposal(const std::string& proposals, const std::string& name) {
  const auto number = ToNumber(name);
  std::error_code status;
  if (!number) {
    if (fs::is_directory(name, status)) return name;
    return Error{ErrorCode::kUnreadable, name,
                 "found no folder of that name, nor is it a number NNNN"};
  }
  std::vector<std::string> folders;
  for (fs::directory_iterator entry(proposals, status);
       !status && entry != fs::directory_iterator(); entry.increment(status)) {
    if (NumberOf(entry->path().filename().string()) == number) {
      folders.push_back(entry->path().string());
    }
  }
  std::ranges::sort(folders);
  if (folders.size() == 1) return folders[0];
  if (folders.empty()) {
    return Error{ErrorCode::kUnreadable, proposals, "found no proposal of number " + name};
  }
  return Invalid(proposals,
                 "number " + name + " is that of " + folders[0] + " and of " + folders[1]);
}

Result<Proposal> LoadProposal(const std::string& folder, std::span<const std::string> clauses) {
  return Loader(folder, clauses).Load();
}

Result<Proposal> ReadProposal(const std::string& folder, const std::string& spec_folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Clause> clauses, ReadClauses(spec_folder));
  std::vector<std::string> ids;
  ids.reserve(clauses.size());
  for (const Clause& clause : clauses) ids.push_back(clause.id);
  return LoadProposal(folder, ids);
}

}  // namespace qtx::spec
