// Digests of what the text's own computation (the formulas of the spec, evaluated) gives for the
// cases of a suite: a second source for expectations, kept in a file beside the cases.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// The file in a suite's folder.
inline constexpr std::string_view kTextAnswersFile = "text_answers.txt";
/// Beside it, written by hand: the cases on which the text and the expectation disagree and nobody
/// has decided yet. A line: `ID @ARITHMETIC  # reason`; those that begin with # are comments.
inline constexpr std::string_view kTextDisputesFile = "text_disputes.txt";
inline constexpr std::int64_t kMaxTextAnswersBytes = std::int64_t{1} << 24;

/// The answer to a case that the text declines.
inline constexpr std::string_view kDeclinedAnswer = "declined";

/// What the text's answer says of an expectation.
enum class TextVerdict {
  kAbsent,        // no answer: the text does not compute this case, or nobody has run it
  kStale,         // an answer to another model or other inputs
  kConfirmed,     // the same answer
  kContradicted,  // another answer
  kDisputed,      // another answer, and the list of open disagreements says why
  kSettled        // the same answer, but that list still has it
};
inline constexpr std::size_t kTextVerdicts = 6;
std::string_view Name(TextVerdict verdict);  // "confirmed", the value in the JSON report

/// Answers by case and arithmetic. The file has for each case a line `QUESTION ID`, QUESTION being
/// the digest of model and inputs, and below it indented lines `ANSWER ARITHMETIC...`, ANSWER being
/// the digest of the outputs, the clause by which the text refuses the case, or kDeclinedAnswer.
/// Lines are sorted; those that begin with # are comments.
class TextAnswers {
 public:
  /// Errors: kInvalid at "where:line" for a line that Text would not write there, or an arithmetic
  /// that nobody knows.
  static Result<TextAnswers> Parse(std::string_view text, const std::string& where);
  /// The files in `folder`; without one, no answers.  Errors: those of ReadFile and Parse; kInvalid
  /// at "where:line" for a dispute without a reason.
  static Result<TextAnswers> Load(const std::string& folder);
  /// The inverse of Parse.
  std::string Text() const;

  /// The answer with its question in one text; empty if there is none.
  std::string Find(const std::string& id, const std::string& arithmetic) const;
  /// kConfirmed if the answer to `question` is one of `answers`.
  TextVerdict Compare(const std::string& id, const std::string& arithmetic,
                      std::string_view question, std::span<const std::string> answers) const;
  /// Another question than before drops the case's answers to the former.
  void Put(const std::string& id, const std::string& arithmetic, std::string_view question,
           std::string_view answer);
  void Remove(const std::string& id, const std::string& arithmetic);
  /// Number of cases times arithmetics.
  std::int64_t size() const;
  bool operator==(const TextAnswers&) const = default;

 private:
  struct Entry {
    std::string question;
    std::map<std::string, std::string> answers;  // by arithmetic
    bool operator==(const Entry&) const = default;
  };
  Result<void> LoadDisputes(const std::string& path);
  // Return what was expected instead of `line`; null if it parses.
  const char* ParseCase(std::string_view line, Entry*& entry);
  static const char* ParseAnswer(std::string_view line, Entry* entry);
  std::map<std::string, Entry> entries_;         // by the case's id
  std::set<std::string, std::less<>> disputes_;  // "ID @ARITHMETIC"
};

}  // namespace qtx::conformance
