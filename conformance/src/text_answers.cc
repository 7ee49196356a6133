#include "qtx/conformance/text_answers.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "files.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/file.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::conformance {
namespace {

constexpr std::string_view kHead =
    "# What the text's own computation gives for each case; written by qtx spec run --all "
    "--write.\n"
    "# A case: digest of its model and inputs, id. Below: digest of its outputs, the clause of its "
    "refusal or `declined`; arithmetics.\n";
constexpr std::string_view kIndent = "  ";

// The text up to the next blank, which is removed with it.
std::string_view TakeWord(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

// The text up to the next end of line, which is removed with it.
std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

bool IsComment(std::string_view line) { return line.empty() || line.front() == '#'; }

Error Unexpected(const std::string& where, std::int64_t line, const std::string& expected) {
  return {ErrorCode::kInvalid, where + ":" + std::to_string(line), "expected " + expected};
}

bool HasControls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

bool IsDigest(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string_view Name(TextVerdict verdict) {
  constexpr std::array<std::string_view, kTextVerdicts> kNames = {
      "absent", "stale", "confirmed", "contradicted", "disputed", "settled"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Result<TextAnswers> TextAnswers::Parse(std::string_view text, const std::string& where) {
  TextAnswers all;
  Entry* entry = nullptr;
  std::string_view rest = text;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = TakeLine(rest);
    if (IsComment(line)) continue;
    const char* const expected =
        line.starts_with(kIndent) ? ParseAnswer(line, entry) : all.ParseCase(line, entry);
    if (expected != nullptr) return Unexpected(where, number, expected);
  }
  const std::string written = all.Text();
  std::string_view own = written;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = TakeLine(text);
    if (IsComment(line)) continue;
    std::string_view next = TakeLine(own);
    while (IsComment(next)) next = TakeLine(own);
    if (line == next) continue;
    return Unexpected(where, number, "'" + std::string(next) + "' here: lines are sorted");
  }
  return all;
}

const char* TextAnswers::ParseCase(std::string_view line, Entry*& entry) {
  const std::string_view question = TakeWord(line);
  if (!IsDigest(question) || line.empty() || HasControls(line)) return "a digest and a case's id";
  const auto [place, added] = entries_.try_emplace(std::string(line));
  if (!added) return "each case once";
  entry = &place->second;
  entry->question = question;
  return nullptr;
}

const char* TextAnswers::ParseAnswer(std::string_view line, Entry* entry) {
  line.remove_prefix(kIndent.size());
  const std::string answer(TakeWord(line));
  const bool known =
      IsDigest(answer) || answer == kDeclinedAnswer || answer.find('.') != std::string::npos;
  if (entry == nullptr || !known || line.empty())
    return "an answer and its arithmetics, below a case";
  while (!line.empty()) {
    const std::string_view arithmetic = TakeWord(line);
    if (!reference::FindArithmetic(arithmetic)) return "names of spec/arithmetic";
    if (!entry->answers.emplace(arithmetic, answer).second) return "each arithmetic once";
  }
  return nullptr;
}

Result<TextAnswers> TextAnswers::Load(const std::string& folder) {
  const std::string path = Join(folder, kTextAnswersFile);
  std::error_code status;
  TextAnswers answers;
  if (std::filesystem::exists(path, status)) {
    QTX_ASSIGN_OR_RETURN(const std::string text, format::ReadFile(path, kMaxTextAnswersBytes));
    QTX_ASSIGN_OR_RETURN(answers, Parse(text, path));
  }
  const std::string disputes = Join(folder, kTextDisputesFile);
  if (std::filesystem::exists(disputes, status)) {
    QTX_RETURN_IF_ERROR(answers.LoadDisputes(disputes));
  }
  return answers;
}

Result<void> TextAnswers::LoadDisputes(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const std::string text, format::ReadFile(path, kMaxTextAnswersBytes));
  QTX_ASSIGN_OR_RETURN(const std::vector<ExpectedFailure> lines, ParseExpectedFailures(text, path));
  for (const ExpectedFailure& line : lines) disputes_.insert(line.glob);
  return {};
}

std::string TextAnswers::Text() const {
  std::string text(kHead);
  for (const auto& [id, entry] : entries_) {
    text.append(entry.question).append(" ").append(id).append("\n");
    // Arithmetics that agree share a line, in the place of the first.
    std::vector<std::pair<std::string_view, std::string>> lines;
    for (const auto& [arithmetic, answer] : entry.answers) {
      const auto same =
          std::ranges::find(lines, answer, [](const auto& line) { return line.first; });
      if (same == lines.end()) {
        lines.emplace_back(answer, arithmetic);
      } else {
        same->second.append(" ").append(arithmetic);
      }
    }
    for (const auto& [answer, arithmetics] : lines)
      text.append(kIndent).append(answer).append(" ").append(arithmetics).append("\n");
  }
  return text;
}

std::string TextAnswers::Find(const std::string& id, const std::string& arithmetic) const {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return "";
  const auto answer = entry->second.answers.find(arithmetic);
  if (answer == entry->second.answers.end()) return "";
  return entry->second.question + " " + answer->second;
}

TextVerdict TextAnswers::Compare(const std::string& id, const std::string& arithmetic,
                                 std::string_view question,
                                 std::span<const std::string> answers) const {
  const std::string found = Find(id, arithmetic);
  if (found.empty()) return TextVerdict::kAbsent;
  std::string_view answer = found;
  if (TakeWord(answer) != question) return TextVerdict::kStale;
  if (answer == kDeclinedAnswer) return TextVerdict::kAbsent;
  const bool same = std::ranges::find(answers, answer) != answers.end();
  const bool disputed = disputes_.contains(id + " @" + arithmetic);
  if (same) return disputed ? TextVerdict::kSettled : TextVerdict::kConfirmed;
  return disputed ? TextVerdict::kDisputed : TextVerdict::kContradicted;
}

void TextAnswers::Put(const std::string& id, const std::string& arithmetic,
                      std::string_view question, std::string_view answer) {
  Entry& entry = entries_[id];
  if (entry.question != question) entry = {std::string(question), {}};
  entry.answers.insert_or_assign(arithmetic, std::string(answer));
}

void TextAnswers::Remove(const std::string& id, const std::string& arithmetic) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  entry->second.answers.erase(arithmetic);
  if (entry->second.answers.empty()) entries_.erase(entry);
}

std::int64_t TextAnswers::size() const {
  std::int64_t count = 0;
  for (const auto& [id, entry] : entries_) count += std::ssize(entry.answers);
  return count;
}

}  // namespace qtx::conformance
