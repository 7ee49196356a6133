// Finding the cases of a folder and choosing among them.
#include "qtx/conformance/suite.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "qtx/format/model.h"

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxFiles = 100'000;
constexpr std::int64_t kMaxCases = 1'000'000;

using Parser = Result<std::vector<Case>> (*)(std::string_view, const std::string&);

// Paths below `folder` that end in `extension`, relative to it, sorted by bytes so that the order
// does not depend on the file system.
Result<std::vector<std::string>> FindFiles(const std::string& folder, std::string_view extension) {
  std::error_code status;
  if (!fs::is_directory(folder, status)) {
    return Error{ErrorCode::kIo, folder, "found no folder of that name"};
  }
  std::vector<std::string> paths;
  fs::recursive_directory_iterator entry(folder, status);
  for (; !status && entry != fs::recursive_directory_iterator(); entry.increment(status)) {
    if (!entry->is_regular_file(status) || entry->path().extension() != extension) continue;
    paths.push_back(entry->path().lexically_relative(folder).generic_string());
    if (std::ssize(paths) > kMaxFiles) {
      return Error{ErrorCode::kTooLarge, folder,
                   "found more than " + std::to_string(kMaxFiles) + " case files"};
    }
  }
  if (status) return Error{ErrorCode::kIo, folder, status.message()};
  std::ranges::sort(paths);
  return paths;
}

Result<void> CheckIds(const Suite& suite) {
  if (suite.cases.empty()) return Error{ErrorCode::kInvalid, suite.folder, "found no case"};
  std::map<std::string_view, const Case*> first;
  for (const Case& c : suite.cases) {
    const auto [known, inserted] = first.emplace(c.id, &c);
    if (inserted) continue;
    return Error{ErrorCode::kInvalid, c.where,
                 "id '" + c.id + "' is taken by " + known->second->where};
  }
  return {};
}

Result<Suite> LoadFrom(const std::string& folder, std::string_view extension, Parser parse) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindFiles(folder, extension));
  Suite suite;
  suite.folder = folder;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(const std::string text,
                         format::ReadFile(folder + "/" + path, kMaxCaseFileBytes));
    QTX_ASSIGN_OR_RETURN(std::vector<Case> cases, parse(text, folder + "/" + path));
    for (Case& c : cases) {
      c.folder = folder;
      c.position = std::ssize(suite.cases) + (&c - cases.data());
    }
    std::ranges::move(cases, std::back_inserter(suite.cases));
    if (std::ssize(suite.cases) > kMaxCases) {
      return Error{ErrorCode::kTooLarge, folder,
                   "found more than " + std::to_string(kMaxCases) + " cases"};
    }
  }
  QTX_RETURN_IF_ERROR(CheckIds(suite));
  return suite;
}

bool ParseCount(std::string_view text, std::int64_t& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool MatchesAny(std::span<const std::string> filters, std::string_view id) {
  return filters.empty() ||
         std::ranges::any_of(filters, [&](const auto& glob) { return GlobMatches(glob, id); });
}

}  // namespace

Result<Suite> LoadSuite(const std::string& folder) { return LoadFrom(folder, ".yaml", ParseCases); }

Result<Suite> LoadExamples(const std::string& folder) {
  return LoadFrom(folder, ".md", ParseExamples);
}

Result<Shard> ParseShard(std::string_view text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !ParseCount(text.substr(0, slash), shard.index) ||
      !ParseCount(text.substr(slash + 1), shard.count) || shard.index < 1 ||
      shard.index > shard.count) {
    return Error{ErrorCode::kInvalid, "--shard",
                 "found '" + std::string(text) + "', expected I/N with 1 <= I <= N"};
  }
  return shard;
}

std::vector<Case> Select(std::span<const Case> cases, const Selection& selection) {
  std::vector<Case> selected;
  std::int64_t position = 0;
  for (const Case& c : cases) {
    if (!MatchesAny(selection.filters, c.id)) continue;
    if (!selection.level.empty() && c.level != selection.level) continue;
    // Round robin, so that neighbours, which cost alike, spread over the shards.
    if (position++ % selection.shard.count == selection.shard.index - 1) selected.push_back(c);
  }
  return selected;
}

bool GlobMatches(std::string_view pattern, std::string_view text) {
  // On a mismatch only the last * needs to take one more character; earlier ones never do.
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  for (std::size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace qtx::conformance
