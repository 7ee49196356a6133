#include "qtx/spec/overlay.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "qtx/format/file.h"
#include "qtx/formula/parser.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/spec/document.h"
#include "qtx/spec/formula.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;
using conformance::OverlayNames;
using Lines = formula::Statement::Kind;

constexpr const char* kFolder = "overlay";

Result<std::vector<Document>> ReadAll(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code status;
  for (const char* part : {"arithmetic", "format", "ops"}) {
    const fs::path below = fs::path(folder) / part;
    for (fs::directory_iterator entry(below, status); !status && entry != fs::directory_iterator();
         entry.increment(status)) {
      if (entry->path().extension() == ".md") paths.push_back(entry->path().string());
      if (paths.size() <= kMaxOverlayChapters) continue;
      return Error{ErrorCode::kTooLarge, folder,
                   "found more than " + std::to_string(kMaxOverlayChapters) + " chapters"};
    }
  }
  if (paths.empty()) {
    return Error{ErrorCode::kInvalid, folder,
                 "found no chapter, expected arithmetic/, format/ or ops/ with files .md"};
  }
  std::ranges::sort(paths);
  std::vector<Document> documents;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(std::string markdown, format::ReadFile(path, kMaxOverlayBytes));
    QTX_ASSIGN_OR_RETURN(documents.emplace_back(), ParseDocument(std::move(markdown), path));
  }
  return documents;
}

Result<formula::Text> LayOver(const std::vector<Document>& documents) {
  std::vector<formula::Chapter> chapters;
  for (const Document& document : documents) {
    chapters.push_back({document.where, document.markdown});
  }
  return formula::Text::WithOverlay(chapters);
}

Error Refuse(const Document& document, int line, std::string message) {
  return Error{ErrorCode::kInvalid, document.where + ":" + std::to_string(line),
               std::move(message)};
}

// The claims of one block: what its lines `NAME = CONDITION` say, each with its functions.
class ClaimReader {
 public:
  ClaimReader(const Document& document, const Fence& fence, const OverlayNames& names)
      : document_(document), fence_(fence), names_(names) {}

  Result<void> Read(std::vector<Claim>& claims) {
    const std::string_view text = formula::ExpressionsOf(fence_.text);
    QTX_ASSIGN_OR_RETURN(const std::vector<formula::Statement> statements,
                         formula::ParseFormula(text, document_.where, fence_.line + 1));
    QTX_ASSIGN_OR_RETURN(const std::vector<conformance::Case> cases, Cases(text));
    formula::Formula shared;
    shared.clause = document_.ClauseAbove(fence_.line);
    shared.where = document_.where;
    shared.line = fence_.line;
    for (const formula::Statement& statement : statements) {
      if (statement.kind == Lines::kUse || statement.kind == Lines::kFunction) {
        shared.statements.push_back(statement);
      } else if (statement.kind != Lines::kValue) {
        return Refuse(document_, statement.place.line,
                      "expected use CLAUSE, a function, or NAME = CONDITION");
      }
    }
    for (const formula::Statement& statement : statements) {
      if (statement.kind != Lines::kValue) continue;
      Claim& claim = claims.emplace_back();
      claim.name = statement.name;
      claim.clause = shared.clause;
      claim.where = document_.where + ":" + std::to_string(statement.place.line);
      claim.formula = shared;
      claim.formula.statements.push_back(statement);
      claim.formula.statements.back().name = "stored";
      claim.cases = cases;
    }
    return {};
  }

 private:
  Result<std::vector<conformance::Case>> Cases(std::string_view above) const {
    if (above.size() == fence_.text.size()) {
      return Refuse(document_, fence_.line,
                    "found a claim alone, expected a line --- and its inputs and output");
    }
    const auto lines = static_cast<int>(std::ranges::count(above, '\n'));
    return conformance::ParseClaimCases(std::string_view(fence_.text).substr(above.size()),
                                        document_.where, fence_.line + 1 + lines,
                                        document_.ClauseAbove(fence_.line), names_);
  }

  const Document& document_;
  const Fence& fence_;
  const OverlayNames& names_;
};

Result<void> ReadExamples(const std::string& yaml, const std::string& where, int line,
                          const OverlayNames& names, Overlay& overlay) {
  QTX_ASSIGN_OR_RETURN(std::vector<conformance::Case> cases,
                       conformance::ParseOverlayExamples(yaml, where, line, names));
  std::ranges::move(cases, std::back_inserter(overlay.examples));
  return {};
}

}  // namespace

OverlayNames NamesOf(const formula::Text& text) {
  OverlayNames names;
  for (const formula::ElementTable& table : text.tables()) {
    names.types.emplace(table.name, table.carrier);
  }
  for (const std::string& arithmetic : text.Arithmetics()) {
    if (!reference::FindArithmetic(arithmetic)) names.arithmetics.insert(arithmetic);
  }
  return names;
}

bool HasOverlay(const std::string& proposal) {
  std::error_code status;
  return fs::is_directory(fs::path(proposal) / kFolder, status);
}

Result<Overlay> ReadOverlay(const std::string& proposal) {
  QTX_ASSIGN_OR_RETURN(const std::vector<Document> documents,
                       ReadAll((fs::path(proposal) / kFolder).string()));
  Overlay overlay;
  QTX_ASSIGN_OR_RETURN(overlay.before, formula::Text::Embedded());
  QTX_ASSIGN_OR_RETURN(overlay.after, LayOver(documents));
  const OverlayNames names = NamesOf(overlay.after);
  for (const Document& document : documents) {
    for (const StatedClause& clause : document.clauses) overlay.clauses.push_back(clause.id);
    for (const Fence& fence : document.fences) {
      if (fence.info == "claim") {
        QTX_RETURN_IF_ERROR(ClaimReader(document, fence, names).Read(overlay.claims));
      } else if (fence.info == "yaml") {
        QTX_RETURN_IF_ERROR(
            ReadExamples(fence.text, document.where, fence.line + 1, names, overlay));
      }
    }
    if (overlay.claims.size() <= kMaxClaims) continue;
    return Error{ErrorCode::kTooLarge, document.where,
                 "found more than " + std::to_string(kMaxClaims) + " claims"};
  }
  return overlay;
}

}  // namespace qtx::spec
