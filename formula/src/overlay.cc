// An overlay laid over the text: whose clauses it replaces, which it adds.
#include "overlay.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "chapters.h"
#include "markdown.h"

namespace qtx::formula {
namespace {

// A clause of the text.
struct Stated {
  std::string path;   // of its chapter
  std::string title;  // of its chapter
};
using Clauses = std::map<std::string, Stated, std::less<>>;

Clauses ClausesOf(std::span<const Chapter> chapters) {
  Clauses clauses;
  for (const Chapter& chapter : chapters) {
    const std::string title = TitleOf(chapter.markdown);
    Lines lines(chapter.markdown);
    std::string_view line;
    while (lines.Next(line)) {
      const std::string id = StatedIn(line);
      if (!id.empty()) clauses.emplace(id, Stated{chapter.path, title});
    }
  }
  return clauses;
}

Error Refuse(const std::string& where, std::string message) {
  return Error{ErrorCode::kInvalid, where, std::move(message)};
}

// "exact" of "exact.S1", "arithmetic/exact.md".
std::string StemOf(std::string_view id) { return std::string(id.substr(0, id.find('.'))); }
std::string PathInText(const std::string& path) {
  const std::filesystem::path file(path);
  return (file.parent_path().filename() / file.filename()).generic_string();
}

// The clause after the last one of its letter: exact.S11.
std::string NextOf(const std::string& id, const Clauses& clauses) {
  const std::string letter = id.substr(0, id.find('.') + 2);
  for (int number = 1;; ++number) {
    std::string next = letter + std::to_string(number);
    if (!clauses.contains(next)) return next;
  }
}

// One chapter of an overlay.
class Layer {
 public:
  Layer(const Chapter& chapter, Clauses& clauses, std::map<std::string, std::string>& places)
      : chapter_(chapter), own_path_(PathInText(chapter.path)), clauses_(clauses), places_(places) {
    for (const auto& [id, stated] : clauses) {
      if (stated.path == own_path_) title_ = stated.title;
    }
  }

  bool is_new() const { return title_.empty(); }  // the text has no such chapter
  std::vector<Change>& changes() { return changes_; }
  std::vector<Formula>& formulas() { return formulas_; }

  Result<void> Read() {
    QTX_RETURN_IF_ERROR(ReadClauses());
    QTX_RETURN_IF_ERROR(ParseChapter(chapter_, formulas_));
    for (Formula& formula : formulas_) {
      if (!is_new() && !own_path_.starts_with("format/")) formula.of = title_;
      const auto stated = std::ranges::find(changes_, formula.clause, &Change::clause);
      if (stated != changes_.end()) continue;
      return Refuse(chapter_.path + ":" + std::to_string(formula.line),
                    "found a formula of '" + formula.clause +
                        "', expected one below a clause that this file states");
    }
    for (const Change& change : changes_) {
      if (is_new() || Has(change.clause)) continue;
      return Refuse(change.where, "found no formula of " + change.clause +
                                      ", expected one: an overlay changes what formulas say");
    }
    return {};
  }

 private:
  bool Has(const std::string& clause) const {
    return std::ranges::find(formulas_, clause, &Formula::clause) != formulas_.end();
  }

  Result<void> ReadClauses() {
    Lines lines(chapter_.markdown);
    std::string_view line;
    bool fenced = false;
    while (lines.Next(line)) {
      if (line.starts_with("```")) fenced = !fenced;
      const std::string id = fenced ? "" : StatedIn(line);
      if (id.empty()) continue;
      QTX_RETURN_IF_ERROR(Add(id, chapter_.path + ":" + std::to_string(lines.number())));
    }
    return {};
  }

  Result<void> Add(const std::string& id, const std::string& where) {
    const auto [first, is_first] = places_.emplace(id, where);
    if (!is_first) {
      return Refuse(where, "found " + id + ", which " + first->second + " states already");
    }
    const auto known = clauses_.find(id);
    if (known != clauses_.end() && known->second.path != own_path_) {
      return Refuse(where, "found " + id + ", a clause of " + known->second.path +
                               ", expected one of " + own_path_);
    }
    if (known == clauses_.end()) {
      const std::string stem = std::filesystem::path(own_path_).stem().string();
      if (StemOf(id) != stem) {
        return Refuse(where, "found " + id + ", expected a clause that begins with " + stem + ".");
      }
      const std::string next = NextOf(id, clauses_);
      if (id != next) {
        return Refuse(where, "found " + id + ", which the text does not state, expected one that " +
                                 "it does, or the next one, " + next);
      }
    }
    changes_.push_back({id, where, known == clauses_.end()});
    clauses_.emplace(id, Stated{own_path_ + " of the overlay", ""});
    return {};
  }

  const Chapter& chapter_;
  std::string own_path_;
  std::string title_;
  Clauses& clauses_;
  std::map<std::string, std::string>& places_;
  std::vector<Change> changes_;
  std::vector<Formula> formulas_;
};

const std::vector<std::string>* UsesOf(const Statement& statement) {
  return statement.kind == Statement::Kind::kUse ? &statement.parameters : nullptr;
}

// Whether `use` leads from one clause to another.
class UseGraph {
 public:
  explicit UseGraph(const Text& text) {
    for (const Formula& formula : text.formulas()) {
      auto& uses = uses_[formula.clause];
      for (const Statement& statement : formula.statements) {
        if (const auto* used = UsesOf(statement)) uses.insert(used->begin(), used->end());
      }
    }
  }

  bool Has(const std::string& clause) const { return uses_.contains(clause); }
  bool Leads(const std::string& from, const std::string& to) const {
    std::set<std::string> seen;
    std::vector<std::string> open = {from};
    while (!open.empty()) {
      const std::string clause = std::move(open.back());
      open.pop_back();
      if (clause == to) return true;
      const auto found = uses_.find(clause);
      if (!seen.insert(clause).second || found == uses_.end()) continue;
      open.insert(open.end(), found->second.begin(), found->second.end());
    }
    return false;
  }

 private:
  std::map<std::string, std::set<std::string>> uses_;
};

// Each `use` of a formula of the overlay names a clause that has one, and does not come back.
Result<void> CheckUses(const Formula& formula, const UseGraph& graph) {
  for (const Statement& statement : formula.statements) {
    const auto* uses = UsesOf(statement);
    if (uses == nullptr) continue;
    const std::string place = formula.where + ":" + std::to_string(statement.place.line);
    for (const std::string& clause : *uses) {
      if (!graph.Has(clause)) return Refuse(place, "found no formula of " + clause);
      if (clause == formula.clause || !graph.Leads(clause, formula.clause)) continue;
      return Refuse(place, "found that " + formula.clause + " uses " + clause + ", which uses " +
                               formula.clause);
    }
  }
  return {};
}

// Where the text has formulas of the clause; else the end.
void Replace(std::vector<Formula>& formulas, const std::string& clause, std::vector<Formula> by) {
  const auto is_of = [&](const Formula& formula) { return formula.clause == clause; };
  const auto first = std::ranges::find_if(formulas, is_of);
  const auto at = formulas.insert(first, std::make_move_iterator(by.begin()),
                                  std::make_move_iterator(by.end()));
  const auto rest = at + std::ssize(by);
  formulas.erase(std::remove_if(rest, formulas.end(), is_of), formulas.end());
}

Result<void> CheckNew(const ElementTable& table, std::span<const ElementTable> others,
                      const Chapter& chapter) {
  const auto same = std::ranges::find_if(others, [&](const ElementTable& other) {
    return other.name == table.name || other.code == table.code;
  });
  if (same == others.end()) return {};
  return Refuse(chapter.path, "found " + table.name + " of code " + std::to_string(table.code) +
                                  " beside " + same->name + " of code " +
                                  std::to_string(same->code) + ", expected another");
}

// The text without an overlay, which takes longer to parse than any overlay.
struct AsItStands {
  Result<Text> text;
  Clauses clauses;
};

const AsItStands& TextAsItStands() {
  static const AsItStands kParsed = {Text::Embedded(), ClausesOf(EmbeddedChapters())};
  return kParsed;
}

}  // namespace

Result<Text> Text::WithOverlay(std::span<const Chapter> overlay) {
  const AsItStands& embedded = TextAsItStands();
  if (!embedded.text.has_value()) return embedded.text.error();
  Text text;
  Clauses clauses = embedded.clauses;
  std::map<std::string, std::string> places;
  std::vector<Formula> all;
  for (const Chapter& chapter : overlay) {
    Layer layer(chapter, clauses, places);
    QTX_RETURN_IF_ERROR(layer.Read());
    const bool is_type = IsElementType(chapter);
    if (is_type) {
      QTX_ASSIGN_OR_RETURN(ElementTable table, ReadElementTable(chapter));
      QTX_RETURN_IF_ERROR(CheckNew(table, text.tables_, chapter));
      text.tables_.push_back(std::move(table));
    }
    if (layer.changes().empty() && !is_type) {
      return Refuse(chapter.path, "found neither a clause nor a title '# Element type `NAME`'");
    }
    if (layer.is_new() && PathInText(chapter.path).starts_with("ops/")) {
      QTX_ASSIGN_OR_RETURN(text.operators_.emplace_back(), ReadOperator(chapter));
    }
    std::ranges::move(layer.changes(), std::back_inserter(text.changes_));
    std::ranges::move(layer.formulas(), std::back_inserter(all));
  }
  text.formulas_ = embedded.text->formulas_;
  for (const Change& change : text.changes_) {
    std::vector<Formula> own;
    for (Formula& formula : all) {
      if (formula.clause == change.clause) own.push_back(std::move(formula));
    }
    Replace(text.formulas_, change.clause, std::move(own));
  }
  const UseGraph graph(text);
  for (const Formula& formula : text.formulas_) {
    if (!places.contains(formula.clause)) continue;
    QTX_RETURN_IF_ERROR(CheckUses(formula, graph));
  }
  return text;
}

bool Text::Adds(std::string_view domain, std::string_view op_type) const {
  return FindSchema(domain, op_type) != format::FindSchema(domain, op_type);
}

const format::OpSchema* Text::FindSchema(std::string_view domain, std::string_view op_type) const {
  for (const AddedOperator& added : operators_) {
    if (domain.empty() && added.schema.op_type == op_type) return &added.schema;
  }
  return format::FindSchema(domain, op_type);
}

}  // namespace qtx::formula
