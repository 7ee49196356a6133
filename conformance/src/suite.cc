// Loads the cases of a folder and selects among them.
#include "qtx/conformance/suite.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "digest.h"
#include "documents.h"
#include "files.h"
#include "golden.h"
#include "qtx/format/model.h"
#include "qtx/format/threads.h"
#include "test_data.h"

namespace qtx::conformance {
namespace {

// Checks that ids are unique and numbers the cases.
Result<void> Number(Suite& suite) {
  std::map<std::string_view, const Case*> first;
  std::int64_t position = 0;
  for (Case& c : suite.cases) {
    c.position = position++;
    const auto [known, inserted] = first.emplace(c.id, &c);
    if (inserted) continue;
    return Error{ErrorCode::kInvalid, c.where,
                 "id '" + c.id + "' is taken by " + known->second->where};
  }
  return {};
}

Result<void> CheckCount(const Suite& suite) {
  if (std::ssize(suite.cases) <= kMaxCases) return {};
  return Error{ErrorCode::kTooLarge, suite.folder,
               "found more than " + std::to_string(kMaxCases) + " cases"};
}

// Expands documents with a folder of data sets to one case for each.
Result<void> Add(std::vector<Case> cases, Suite& suite) {
  for (Case& c : cases) {
    c.folder = suite.folder;
    if (c.test_data.empty()) {
      suite.cases.push_back(std::move(c));
      continue;
    }
    QTX_ASSIGN_OR_RETURN(std::vector<Case> sets, ExpandTestData(c));
    std::ranges::move(sets, std::back_inserter(suite.cases));
  }
  return CheckCount(suite);
}

Error NoCase(const std::string& folder) { return {ErrorCode::kInvalid, folder, "found no case"}; }

Result<Suite> LoadFrom(const std::string& folder, const std::vector<std::string>& paths,
                       std::span<const std::string> filters) {
  Suite suite;
  suite.folder = folder;
  Digest digest;
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(texts.emplace_back(),
                         format::ReadFile(Join(folder, path), kMaxCaseFileBytes));
    digest.Add(path);
    digest.Add(texts.back());
    texts.back() = OnlyDocuments(texts.back(), filters);
  }
  std::vector<Result<std::vector<Case>>> parsed(paths.size(), Error{});
  std::atomic<std::size_t> next = 0;
  format::InThreads(std::thread::hardware_concurrency(), [&] {
    for (std::size_t i = next++; i < paths.size(); i = next++)
      parsed[i] = ParseCases(texts[i], Join(folder, paths[i]));
  });
  for (Result<std::vector<Case>>& cases : parsed) {
    if (!cases.has_value()) return cases.error();
    QTX_RETURN_IF_ERROR(Add(*std::move(cases), suite));
  }
  if (suite.cases.empty() && filters.empty()) return NoCase(folder);
  suite.digest = digest.Text();
  QTX_RETURN_IF_ERROR(Number(suite));
  return suite;
}

Result<Suite> LoadThirdParty(const std::string& folder, const ModelLoader& load) {
  Suite suite;
  suite.folder = folder;
  QTX_ASSIGN_OR_RETURN(suite.cases, FindTestData(folder));
  if (load) {
    QTX_ASSIGN_OR_RETURN(std::vector<Case> goldens, FindGoldens(folder, load, suite.left_out));
    std::ranges::move(goldens, std::back_inserter(suite.cases));
  }
  if (suite.cases.empty()) return NoCase(folder);
  QTX_RETURN_IF_ERROR(CheckCount(suite));
  QTX_RETURN_IF_ERROR(Number(suite));
  Digest digest;
  for (const Case& c : suite.cases) digest.Add(c.id);
  suite.digest = digest.Text();
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

Result<Suite> LoadSuite(const std::string& folder, const ModelLoader& load,
                        std::span<const std::string> filters) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindFiles(folder, ".yaml"));
  if (paths.empty()) return LoadThirdParty(folder, load);
  QTX_ASSIGN_OR_RETURN(Suite suite, LoadFrom(folder, paths, filters));
  QTX_ASSIGN_OR_RETURN(suite.text_answers, TextAnswers::Load(folder));
  for (Case& c : suite.cases) c.load = load;
  return suite;
}

Result<Suite> LoadTestData(const std::string& folder) { return LoadThirdParty(folder, {}); }

Result<Shard> ParseShard(std::string_view option, std::string_view text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !ParseCount(text.substr(0, slash), shard.index) ||
      !ParseCount(text.substr(slash + 1), shard.count) || shard.index < 1 ||
      shard.index > shard.count) {
    return Error{ErrorCode::kUsage, std::string(option),
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
    // Round robin, since neighbouring cases cost about the same.
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
