#include "qtx/spec/site.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "qtx/format/file.h"
#include "site/clause_html.h"
#include "site/clause_index.h"
#include "site/cross_references.h"
#include "site/formula_html.h"
#include "site/html.h"
#include "site/markdown.h"
#include "site/page.h"
#include "site/search.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGlossary = "glossary.md";

// Skips templates, which state nothing.
Result<std::vector<std::string>> ChapterPaths(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code status;
  fs::recursive_directory_iterator entry(folder, status);
  for (; !status && entry != fs::recursive_directory_iterator(); entry.increment(status)) {
    if (!entry->is_regular_file(status) || entry->path().extension() != ".md") continue;
    std::string path = entry->path().lexically_relative(folder).generic_string();
    if (path.starts_with("templates/")) continue;
    paths.push_back(std::move(path));
    if (std::ssize(paths) > kMaxChapters) {
      return Error{ErrorCode::kTooLarge, folder,
                   fmt::format("found more than {} chapters", kMaxChapters)};
    }
  }
  if (status) return Error{ErrorCode::kUnreadable, folder, status.message()};
  if (paths.empty()) return Error{ErrorCode::kInvalid, folder, "found no chapter (*.md)"};
  std::ranges::sort(paths);
  return paths;
}

// "0004" of "proposals/0004-half-away/overlay/arithmetic/exact.md"; empty elsewhere.
std::string OverlaidBy(const std::string& path) {
  constexpr std::string_view kProposals = "proposals/";
  if (!path.starts_with(kProposals) || path.find("/overlay/") == std::string::npos) return "";
  return path.substr(kProposals.size(), path.find('-') - kProposals.size());
}

Result<std::vector<Chapter>> ReadChapters(const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ChapterPaths(folder));
  std::vector<Chapter> chapters;
  std::map<std::string, std::string> taken;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(Document document, ReadDocument((fs::path(folder) / path).string()));
    Chapter chapter;
    chapter.path = path;
    chapter.page = PageOf(path);
    chapter.title = document.sections.empty() ? fs::path(path).stem().string()
                                              : document.sections.front().title;
    if (const std::string proposal = OverlaidBy(path); !proposal.empty()) {
      chapter.title += " (proposal " + proposal + ")";
    }
    chapter.anchors = AnchorsOf(document);
    if (path == kGlossary) {
      for (const std::string& term : GlossaryTerms(document)) {
        chapter.anchors.all.insert(TermAnchor(term));
      }
    }
    chapter.document = std::move(document);
    const auto [known, inserted] = taken.emplace(chapter.page, path);
    if (!inserted) {
      return Error{ErrorCode::kInvalid, path, "its page would be that of " + known->second};
    }
    chapters.push_back(std::move(chapter));
  }
  SortForReading(chapters);
  return chapters;
}

bool IsOfTheSpec(const Chapter& chapter) {
  return !chapter.path.starts_with("proposals/") && !chapter.path.starts_with("onnx/");
}

// "https://x" -> "https"; empty for a path.
std::string SchemeOf(std::string_view target) {
  const std::size_t colon = target.find(':');
  if (colon == std::string_view::npos || target.find_first_of("/?#") < colon) return "";
  std::string scheme(target.substr(0, colon));
  std::ranges::transform(scheme, scheme.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return scheme.empty() ? "none" : scheme;
}

class Site {
 public:
  Site(const SiteInput& input, std::vector<Chapter> chapters, const CodeMap& code)
      : input_(input), chapters_(std::move(chapters)), facts_(input, code) {
    for (const Chapter& chapter : chapters_) {
      by_path_.emplace(chapter.path, &chapter);
      for (fs::path folder = fs::path(chapter.path).parent_path(); !folder.empty();
           folder = folder.parent_path()) {
        folders_[folder.generic_string()].push_back(&chapter);
      }
      CollectTargets(chapter);
    }
  }

  /// Errors: kInvalid where the block does not parse as a formula.
  Result<std::vector<site::File>> Make() {
    for (const Chapter& chapter : chapters_) AddChapter(chapter);
    for (const auto& [folder, chapters] : folders_) AddFolder(folder, chapters);
    if (error_) return *error_;
    files_.push_back({"site.css", std::string(kSiteStyle)});
    files_.push_back({"site.js", std::string(kSiteScript)});
    files_.push_back({"search.js", SearchScript(pages_, findable_)});
    std::ranges::sort(files_, {}, &site::File::path);
    return std::move(files_);
  }

 private:
  void CollectTargets(const Chapter& chapter) {
    const Document& document = chapter.document;
    if (IsOfTheSpec(chapter)) {
      for (std::size_t i = 0; i < document.clauses.size(); ++i) {
        clauses_.emplace(document.clauses[i].id, chapter.page + "#" + chapter.anchors.clauses[i]);
      }
    }
    for (std::size_t i = 0; i < document.fences.size(); ++i) {
      if (chapter.anchors.fences[i].empty()) continue;
      for (const conformance::Case* c : ExamplesOf(chapter, i)) {
        examples_.emplace(c->id.substr(0, c->id.find('[')),
                          chapter.page + "#" + chapter.anchors.fences[i]);
      }
    }
    if (chapter.path != kGlossary) return;
    for (const std::string& term : GlossaryTerms(document)) {
      std::string lower = term;
      std::ranges::transform(lower, lower.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      terms_.emplace(lower, chapter.page + "#" + TermAnchor(term));
    }
  }

  std::vector<const conformance::Case*> ExamplesOf(const Chapter& chapter,
                                                   std::size_t fence) const {
    const Fence& block = chapter.document.fences[fence];
    const auto lines = static_cast<int>(std::ranges::count(block.text, '\n'));
    return facts_.ExamplesIn(chapter.path, block.line, block.line + lines);
  }

  std::string FolderPage(const std::string& folder) const { return folder + "/index.html"; }

  // The target on the site of a chapter's link; empty: external.
  std::string Resolve(const Chapter& chapter, const std::string& target) const {
    const std::string scheme = SchemeOf(target);
    if (scheme == "https" || scheme == "http" || scheme == "mailto") return target;
    if (!scheme.empty()) return "";
    const std::size_t hash = std::min(target.find('#'), target.size());
    const std::string fragment = target.substr(hash);
    if (hash == 0) return chapter.anchors.all.contains(fragment.substr(1)) ? fragment : "";
    const fs::path here = fs::path(chapter.path).parent_path();
    std::string path = (here / target.substr(0, hash)).lexically_normal().generic_string();
    if (path.ends_with('/')) path.pop_back();
    const auto found = by_path_.find(path);
    if (found != by_path_.end()) {
      const bool known =
          fragment.size() > 1 && found->second->anchors.all.contains(fragment.substr(1));
      return Relative(chapter.page, found->second->page + (known ? fragment : ""));
    }
    return folders_.contains(path) ? Relative(chapter.page, FolderPage(path)) : "";
  }

  // Renders a fenced block of a chapter.
  std::string BlockHtml(const Chapter& chapter, std::size_t i) {
    const Fence& fence = chapter.document.fences[i];
    if (fence.info == "formula") {
      auto html = FormulaHtml(fence, chapter.document.where);
      if (html.has_value()) return *std::move(html);
      if (!error_) error_ = html.error();
      return "";
    }
    if (fence.info != "yaml") return PreHtml(EscapeXml(fence.text));
    const std::string& anchor = chapter.anchors.fences[i];
    const std::string id = anchor.empty() ? "" : " id=\"" + EscapeXml(anchor) + "\"";
    return "<div class=\"example\"" + id + ">" + PreHtml(HighlightYaml(fence.text)) +
           ExampleResultHtml(ExamplesOf(chapter, i), facts_) + "</div>\n";
  }

  void AddChapter(const Chapter& chapter) {
    const std::string results = "results/" + chapter.page;
    const bool spec = IsOfTheSpec(chapter);
    static const Targets kNoTerms;
    CrossReferences mentions(clauses_, chapter.path == kGlossary ? kNoTerms : terms_,
                             fs::path(chapter.path).stem().string());
    TextHooks hooks;
    hooks.page = chapter.page;
    hooks.is_glossary = chapter.path == kGlossary;
    hooks.mentions = &mentions;
    hooks.link = [&](const std::string& target) { return Resolve(chapter, target); };
    hooks.block = [&](std::size_t i) { return BlockHtml(chapter, i); };
    hooks.beside = [&](std::size_t i) {
      const std::string& id = chapter.document.clauses[i].id;
      return spec ? BesideHtml(chapter.anchors.clauses[i], id, facts_.Of(id), examples_,
                               {chapter.page, results})
                  : "";
    };
    PageText text = RenderText(chapter.document, chapter.anchors, hooks);
    for (Findable& entry : text.findable) {
      findable_.push_back({pages_.size(), std::move(entry)});
    }
    pages_.push_back({chapter.page, chapter.title});
    AddPage({chapter.page, chapter.title, text.html + ExamplesHtml(chapter), &chapter});
    if (spec) AddResults(chapter, results);
  }

  // The examples that lie beside a proposal.
  std::string ExamplesHtml(const Chapter& chapter) {
    if (!chapter.path.starts_with("proposals/")) return "";
    const fs::path folder =
        fs::path(input_.spec) / fs::path(chapter.path).parent_path() / "examples";
    std::error_code status;
    std::set<fs::path> paths;
    fs::directory_iterator entry(folder, status);
    for (; !status && entry != fs::directory_iterator(); entry.increment(status)) {
      if (entry->path().extension() == ".yaml") paths.insert(entry->path());
    }
    std::string html;
    for (const fs::path& path : paths) {
      const auto yaml = format::ReadFile(path.string(), conformance::kMaxCaseFileBytes);
      if (!yaml.has_value()) {
        if (!error_) error_ = yaml.error();
        return "";
      }
      html += "<details class=\"example\"><summary><code>examples/" +
              EscapeXml(path.filename().string()) + "</code></summary>" +
              PreHtml(HighlightYaml(*yaml)) + "</details>\n";
    }
    return html.empty() ? "" : "<h2 id=\"proposal.examples\">Examples</h2>\n" + html;
  }

  void AddPage(const PageContent& content) {
    files_.push_back({content.page, FrameHtml(content, chapters_)});
  }

  void AddResults(const Chapter& chapter, const std::string& page) {
    std::string html;
    for (std::size_t i = 0; i < chapter.document.clauses.size(); ++i) {
      const std::string& id = chapter.document.clauses[i].id;
      const ClauseFacts& facts = facts_.Of(id);
      if (!HasResults(facts)) continue;
      const std::string anchor = chapter.anchors.clauses[i];
      html += "<h2 id=\"" + EscapeXml(anchor) + "\"><a class=\"id\" href=\"" +
              EscapeXml(Relative(page, chapter.page + "#" + anchor)) + "\">" + EscapeXml(id) +
              "</a></h2>\n" + ClauseResultsHtml(facts, facts_);
    }
    if (html.empty()) return;
    const std::string title = chapter.title + ": results";
    AddPage({page, title,
             "<h1>" + EscapeXml(title) + "</h1>\n<p><a href=\"" +
                 EscapeXml(Relative(page, chapter.page)) + "\">The chapter</a></p>\n" + html,
             nullptr});
  }

  // "Format", "Proposal 0004: Ties away from zero", "Chapters that proposal 0004 changes".
  std::string TitleOf(const std::string& folder) const {
    const auto proposal = by_path_.find(folder + "/proposal.md");
    if (proposal != by_path_.end()) return "Proposal " + proposal->second->title;
    const std::string overlaid = OverlaidBy(folder + "/");
    return overlaid.empty() ? FolderTitle(folder)
                            : "Chapters that proposal " + overlaid + " changes";
  }

  // A folder's page is its README, or a list of what is in it.
  void AddFolder(const std::string& folder, const std::vector<const Chapter*>& chapters) {
    const std::string page = FolderPage(folder);
    if (by_path_.contains(folder + "/README.md")) return;
    const std::string title = TitleOf(folder);
    std::string html = "<h1>" + EscapeXml(title) + "</h1>\n<ul class=\"folder\">\n";
    for (const Chapter* chapter : chapters) {
      html += "<li><a href=\"" + EscapeXml(Relative(page, chapter->page)) + "\">" +
              EscapeXml(ShortTitle(*chapter)) + "</a>";
      if (!chapter->document.clauses.empty() && IsOfTheSpec(*chapter)) {
        html += fmt::format(" <span class=\"faint\">{} clauses</span>",
                            chapter->document.clauses.size());
      }
      html += "</li>\n";
    }
    AddPage({page, title, html + "</ul>\n", nullptr});
  }

  const SiteInput& input_;
  std::vector<Chapter> chapters_;
  ClauseIndex facts_;
  std::map<std::string, const Chapter*> by_path_;
  std::map<std::string, std::vector<const Chapter*>> folders_;
  Targets clauses_, terms_;
  std::map<std::string, std::string> examples_;  // id without suffix -> its place
  std::vector<SearchedPage> pages_;
  std::vector<SearchEntry> findable_;
  std::vector<site::File> files_;
  std::optional<Error> error_;  // the first
};

}  // namespace

Result<std::vector<site::File>> MakeSite(const SiteInput& input) {
  QTX_ASSIGN_OR_RETURN(std::vector<Chapter> chapters, ReadChapters(input.spec));
  CodeMap code;
  if (!input.source.empty()) {
    QTX_ASSIGN_OR_RETURN(code, ReadSourceTree(input.source));
  }
  QTX_ASSIGN_OR_RETURN(std::vector<site::File> files,
                       Site(input, std::move(chapters), code).Make());
  const auto twice = std::ranges::adjacent_find(files, {}, &site::File::path);
  if (twice != files.end()) {
    return Error{ErrorCode::kInvalid, input.spec, "two pages would be " + twice->path};
  }
  return files;
}

}  // namespace qtx::spec
