#include "site/page.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "site/html.h"

namespace qtx::spec {
namespace {

struct Folder {
  std::string_view name;
  std::string_view title;
};
// In the order of reading; the pages at the top come after the first three.
constexpr std::array<Folder, 7> kFolders = {{{"format", "Format"},
                                             {"arithmetic", "Arithmetics"},
                                             {"ops", "Operators"},
                                             {"", "Specification"},
                                             {"proposals", "Proposals"},
                                             {"onnx", "Text for ONNX"},
                                             {"netron", "Netron"}}};

std::size_t FolderRank(std::string_view folder) {
  const auto found = std::ranges::find(kFolders, folder, &Folder::name);
  return static_cast<std::size_t>(found - kFolders.begin());
}

std::string LinkHtml(const std::string& from, const std::string& to, std::string_view text,
                     bool current = false) {
  return "<a href=\"" + EscapeXml(Relative(from, to)) + "\"" +
         (current ? " aria-current=\"page\"" : "") + ">" + EscapeXml(text) + "</a>";
}

// The sections of the chapter that is shown, and the numbers of their clauses.
std::string ContentsHtml(const Chapter& chapter) {
  std::string html = "<ul class=\"contents\">\n";
  const Document& document = chapter.document;
  std::size_t clause = 0;
  for (std::size_t i = 0; i < document.sections.size(); ++i) {
    const Section& section = document.sections[i];
    const int end = i + 1 < document.sections.size() ? document.sections[i + 1].line : section.end;
    if (section.level > 1) {
      html += "<li class=\"level" + std::to_string(std::min(section.level, 4)) + "\"><a href=\"#" +
              EscapeXml(chapter.anchors.sections[i]) + "\">" + EscapeXml(section.title) + "</a>";
    }
    std::string numbers;
    for (; clause < document.clauses.size() && document.clauses[clause].line < end; ++clause) {
      const std::string& id = document.clauses[clause].id;
      numbers += "<a href=\"#" + EscapeXml(chapter.anchors.clauses[clause]) + "\">" +
                 EscapeXml(id.substr(id.find('.') + 1)) + "</a> ";
    }
    if (!numbers.empty()) {
      html +=
          (section.level > 1 ? "" : "<li>") + ("<span class=\"numbers\">" + numbers) + "</span>";
    }
    if (section.level > 1 || !numbers.empty()) html += "</li>\n";
  }
  return html + "</ul>\n";
}

std::string ChapterHtml(const Chapter& chapter, const PageContent& content) {
  const bool current = &chapter == content.chapter;
  return "<li>" + LinkHtml(content.page, chapter.page, ShortTitle(chapter), current) +
         (current ? ContentsHtml(chapter) : "") + "</li>\n";
}

std::string ChaptersHtml(const PageContent& content, const std::vector<Chapter>& chapters) {
  std::string html = "<ul>\n";
  std::string_view open;  // folder
  for (const Chapter& chapter : chapters) {
    const std::string_view folder = TopFolder(chapter.page);
    if (folder != open) {
      if (!open.empty()) html += "</ul></details></li>\n";
      if (!folder.empty()) {
        const bool shown = folder == TopFolder(content.page);
        html += "<li><details" + std::string(shown ? " open" : "") + "><summary>" +
                EscapeXml(FolderTitle(folder)) + "</summary><ul>\n";
      }
      open = folder;
    }
    html += ChapterHtml(chapter, content);
  }
  if (!open.empty()) html += "</ul></details></li>\n";
  return html + "</ul>\n";
}

// To the chapters before and after the one that is shown.
std::string TurnHtml(const PageContent& content, const std::vector<Chapter>& chapters) {
  if (content.chapter == nullptr) return "";
  const auto at = static_cast<std::size_t>(content.chapter - chapters.data());
  std::string html = "<nav class=\"turn\" aria-label=\"Previous and next chapter\">\n";
  const auto add = [&](const Chapter& chapter, const char* rel, const char* arrow) {
    html += "<a rel=\"" + std::string(rel) + "\" href=\"" +
            EscapeXml(Relative(content.page, chapter.page)) + "\">" + arrow + " " +
            EscapeXml(chapter.title) + "</a>\n";
  };
  if (at > 0) add(chapters[at - 1], "prev", "←");
  if (at + 1 < chapters.size()) add(chapters[at + 1], "next", "→");
  return html + "</nav>\n";
}

}  // namespace

std::string PageOf(std::string_view path) {
  std::string page(path.substr(0, path.size() - std::string_view(".md").size()));
  const std::size_t name = page.rfind('/') + 1;  // 0 without a folder
  if (page.substr(name) == "README") page.replace(name, std::string::npos, "index");
  return page + ".html";
}

std::string_view TopFolder(std::string_view page) {
  constexpr std::string_view kResults = "results/";  // of the pages of a folder, in its place
  if (page.starts_with(kResults)) page.remove_prefix(kResults.size());
  const std::size_t slash = page.find('/');
  return slash == std::string_view::npos ? "" : page.substr(0, slash);
}

std::string FolderTitle(std::string_view folder) {
  const std::size_t rank = FolderRank(folder);
  return std::string(rank < kFolders.size() ? kFolders[rank].title : folder);
}

std::string ShortTitle(const Chapter& chapter) {
  constexpr std::string_view kArithmetic = "Arithmetic ";
  if (chapter.title.starts_with(kArithmetic)) return chapter.title.substr(kArithmetic.size());
  return chapter.title;
}

void SortForReading(std::vector<Chapter>& chapters) {
  const auto first = std::ranges::find(chapters, "README.md", &Chapter::path);
  const std::string text = first == chapters.end() ? "" : first->document.markdown;
  const auto mention = [&text](const Chapter& chapter, std::string_view folder) {
    return folder == "format" || folder == "arithmetic" ? text.find("](" + chapter.path + ")") : 0;
  };
  const auto key = [&mention](const Chapter& chapter) {
    const std::string_view folder = TopFolder(chapter.page);
    const std::size_t overlay = chapter.page.find("/overlay/");
    return std::tuple(
        chapter.page != "index.html", FolderRank(folder), folder,
        !chapter.page.ends_with("/index.html"), mention(chapter, folder),
        chapter.page.substr(
            0, overlay == std::string::npos ? chapter.page.rfind('/') + 1 : overlay + 1),
        overlay != std::string::npos, chapter.page);
  };
  std::ranges::sort(chapters,
                    [&key](const Chapter& a, const Chapter& b) { return key(a) < key(b); });
}

std::string FrameHtml(const PageContent& content, const std::vector<Chapter>& chapters) {
  std::string root;
  for (auto n = std::ranges::count(content.page, '/'); n > 0; --n) root += "../";
  const std::string title = EscapeXml(content.title);
  return Fill(kSitePage, {{"title", title},
                          {"root", root},
                          {"chapters", ChaptersHtml(content, chapters)},
                          {"text", content.html},
                          {"turn", TurnHtml(content, chapters)}});
}

std::string Fill(std::string_view text,
                 const std::vector<std::pair<std::string_view, std::string_view>>& values) {
  std::string filled;
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@')) {
    filled += text.substr(0, at);
    text.remove_prefix(at + 1);
    const std::size_t end = text.find('@');
    const auto value = std::ranges::find(values, text.substr(0, end),
                                         &std::pair<std::string_view, std::string_view>::first);
    if (end == std::string_view::npos || value == values.end()) {
      filled += '@';
      continue;
    }
    filled += value->second;
    text.remove_prefix(end + 1);
  }
  return filled.append(text);
}

}  // namespace qtx::spec
