#include "qtx/formula/text.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "chapters.h"
#include "markdown.h"
#include "qtx/format/file.h"
#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

constexpr std::string_view kFence = "```";

// The clause that the cases below the line of dashes name; `above` where there are none.
std::string ClauseOf(std::string_view block, const std::string& above) {
  Lines lines(block);
  std::string_view line;
  bool below = false;
  while (lines.Next(line)) {
    below |= line == "---";
    constexpr std::string_view kKey = "spec: ";
    if (below && line.starts_with(kKey)) return std::string(line.substr(kKey.size()));
  }
  return above;
}

}  // namespace

Result<void> ParseChapter(const Chapter& chapter, std::vector<Formula>& formulas) {
  const std::string title = TitleOf(chapter.markdown);
  const std::string folder = std::filesystem::path(chapter.path).parent_path().filename().string();
  Lines lines(chapter.markdown);
  std::string_view line;
  std::string clause;
  while (lines.Next(line)) {
    if (std::string stated = StatedIn(line); !stated.empty()) clause = std::move(stated);
    if (!line.starts_with(kFence)) continue;
    const bool is_formula = line == "```formula";
    const int opening = lines.number();
    const std::size_t begin = lines.end();
    bool closed = false;
    while (!closed && lines.Next(line)) closed = line.starts_with(kFence);
    if (!is_formula) continue;
    const std::string_view block =
        std::string_view(chapter.markdown).substr(begin, lines.begin() - begin);
    Formula formula;
    formula.where = chapter.path;
    formula.line = opening;
    formula.clause = ClauseOf(block, clause);
    formula.of_arithmetic = folder == "arithmetic";
    if (folder == "arithmetic" || folder == "ops") formula.of = title;
    QTX_ASSIGN_OR_RETURN(formula.statements,
                         ParseFormula(ExpressionsOf(block), chapter.path, opening + 1));
    formulas.push_back(std::move(formula));
  }
  return {};
}

std::vector<Chapter> EmbeddedChapters() {
  std::vector<Chapter> chapters;
  for (const EmbeddedChapter& chapter : kChapters) {
    chapters.push_back({std::string(chapter.path), std::string(chapter.markdown)});
  }
  return chapters;
}

Result<Text> Text::Parse(std::span<const Chapter> chapters) {
  Text text;
  for (const Chapter& chapter : chapters) {
    QTX_RETURN_IF_ERROR(ParseChapter(chapter, text.formulas_));
  }
  return text;
}

bool IsConstraints(const Formula& formula) {
  using Kind = Statement::Kind;
  bool requires_something = false;
  for (const Statement& statement : formula.statements) {
    const bool fits = statement.kind == Kind::kUse || statement.kind == Kind::kFunction ||
                      statement.kind == Kind::kRequire;
    if (!fits) return false;
    requires_something |= statement.kind == Kind::kRequire;
  }
  return requires_something && !formula.of.empty() && !formula.of_arithmetic;
}

std::string ClauseOf(const Formula& formula, const Statement& require) {
  if (require.name.empty()) return formula.clause;
  return formula.clause.substr(0, formula.clause.find('.') + 1) + require.name;
}

bool Requires(const Formula& formula, std::string_view clause) {
  return std::ranges::any_of(formula.statements, [&](const Statement& statement) {
    return statement.kind == Statement::Kind::kRequire && ClauseOf(formula, statement) == clause;
  });
}

Result<Text> Text::Embedded() { return Parse(EmbeddedChapters()); }

Result<Text> Text::WithEmbedded(Chapter chapter) {
  std::vector<Chapter> chapters = EmbeddedChapters();
  chapters.push_back(std::move(chapter));
  return Parse(chapters);
}

Result<Text> Text::Read(const std::string& folder) {
  constexpr std::int64_t kMaxChapterBytes = std::int64_t{4} << 20;
  std::vector<Chapter> chapters;
  for (const char* part : {"format", "arithmetic", "ops"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / part;
    std::error_code status;
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path, status)) {
      if (entry.path().extension() == ".md") names.push_back(entry.path().string());
    }
    if (status) {
      return Error{ErrorCode::kUnreadable, path.string(),
                   "expected a folder of the specification: " + status.message()};
    }
    std::ranges::sort(names);
    for (const std::string& name : names) {
      QTX_ASSIGN_OR_RETURN(std::string markdown, format::ReadFile(name, kMaxChapterBytes));
      chapters.push_back({name, std::move(markdown)});
    }
  }
  return Parse(chapters);
}

std::vector<const Formula*> Text::Of(std::string_view clause) const {
  std::vector<const Formula*> found;
  for (const Formula& formula : formulas_) {
    if (formula.clause == clause) found.push_back(&formula);
  }
  return found;
}

bool Text::Requires(std::string_view clause) const {
  return std::ranges::any_of(
      formulas_, [&](const Formula& formula) { return formula::Requires(formula, clause); });
}

bool Text::Constrains(std::string_view clause) const {
  return std::ranges::any_of(formulas_, [&](const Formula& formula) {
    return IsConstraints(formula) && formula::Requires(formula, clause);
  });
}

std::vector<const Formula*> Text::InChapter(std::string_view of, bool of_arithmetic) const {
  std::vector<const Formula*> found;
  for (const Formula& formula : formulas_) {
    if (formula.of == of && formula.of_arithmetic == of_arithmetic) found.push_back(&formula);
  }
  return found;
}

std::vector<std::string> Text::Chain(const std::string& arithmetic) const {
  std::vector<std::string> chain = {arithmetic};
  for (bool more = true; more;) {
    more = false;
    for (const Formula* formula : InChapter(chain.back(), true)) {
      for (const Statement& statement : formula->statements) {
        if (statement.kind != Statement::Kind::kOtherwise) continue;
        if (std::ranges::find(chain, statement.name) != chain.end()) continue;
        chain.push_back(statement.name);
        more = true;
        break;
      }
      if (more) break;
    }
  }
  return chain;
}

std::vector<std::string> Text::Arithmetics() const {
  std::vector<std::string> names = {"exact"};
  for (const Formula& formula : formulas_) {
    if (formula.of_arithmetic && std::ranges::find(names, formula.of) == names.end()) {
      names.push_back(formula.of);
    }
  }
  return names;
}

}  // namespace qtx::formula
