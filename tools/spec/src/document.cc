#include "qtx/spec/document.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "qtx/conformance/clause.h"
#include "qtx/format/file.h"

namespace qtx::spec {
namespace {

constexpr std::string_view kHeldByTest = " (tests)";

struct FreeParsed {
  void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
  void operator()(cmark_node* node) const { cmark_node_free(node); }
  void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
};

std::string Literal(cmark_node* node) {
  const char* text = cmark_node_get_literal(node);
  return text == nullptr ? "" : text;
}

// The plain text of an inline node.
std::string PlainText(cmark_node* node) {
  std::string text;
  const std::unique_ptr<cmark_iter, FreeParsed> walk(cmark_iter_new(node));
  while (cmark_iter_next(walk.get()) != CMARK_EVENT_DONE) {
    cmark_node* at = cmark_iter_get_node(walk.get());
    if (cmark_iter_get_event_type(walk.get()) == CMARK_EVENT_ENTER) text += Literal(at);
  }
  return text;
}

class Reader {
 public:
  explicit Reader(Document& document) : document_(document) {}

  void Visit(cmark_node* node) {
    switch (const cmark_node_type type = cmark_node_get_type(node); type) {
      case CMARK_NODE_HEADING:
        return Open(node);
      case CMARK_NODE_CODE_BLOCK:
        document_.fences.push_back(
            {cmark_node_get_fence_info(node), Literal(node), cmark_node_get_start_line(node)});
        return;
      case CMARK_NODE_LINK:
        document_.links.push_back({cmark_node_get_url(node), LineOf(node)});
        return;
      default:
        if (type == CMARK_NODE_STRONG && Begins(node)) State(node);
    }
  }

  void Finish(int lines) { Close(1, lines + 1); }

 private:
  // True if an inline is the first of a paragraph, or of a table row's first cell.
  static bool Begins(cmark_node* node) {
    if (cmark_node_previous(node) != nullptr) return false;
    cmark_node* parent = cmark_node_parent(node);
    if (cmark_node_get_type(parent) == CMARK_NODE_PARAGRAPH) return true;
    return cmark_node_get_type_string(parent) == std::string_view("table_cell") &&
           cmark_node_previous(parent) == nullptr;
  }

  static int LineOf(cmark_node* node) {
    while (cmark_node_get_start_line(node) == 0 && cmark_node_parent(node) != nullptr) {
      node = cmark_node_parent(node);
    }
    return cmark_node_get_start_line(node);
  }

  void Open(cmark_node* node) {
    const int level = cmark_node_get_heading_level(node);
    const int line = cmark_node_get_start_line(node);
    Close(level, line);
    open_.push_back(document_.sections.size());
    document_.sections.push_back({PlainText(node), level, line, line + 1});
  }

  void Close(int level, int line) {
    while (!open_.empty() && document_.sections[open_.back()].level >= level) {
      document_.sections[open_.back()].end = line;
      open_.pop_back();
    }
  }

  void State(cmark_node* strong) {
    std::string id = PlainText(strong);
    if (!conformance::IsClauseId(id)) return;
    cmark_node* next = cmark_node_next(strong);
    document_.clauses.push_back(
        {std::move(id), LineOf(strong), next != nullptr && Literal(next).starts_with(kHeldByTest)});
  }

  Document& document_;
  std::vector<std::size_t> open_;  // sections that enclose the current place
};

// A fence that is never closed swallows the rest of the text; CommonMark permits that, we do not.
Result<void> CheckClosed(const Document& document) {
  for (const Fence& fence : document.fences) {
    const auto lines = std::ranges::count(fence.text, '\n');
    const auto total = std::ranges::count(document.markdown, '\n');
    if (fence.info.empty() || fence.line + lines < total) continue;
    return Error{ErrorCode::kInvalid, document.where + ":" + std::to_string(fence.line),
                 "found ```" + fence.info + " without an end"};
  }
  return {};
}

}  // namespace

std::string Document::ClauseAbove(int line) const {
  std::string clause;
  for (const StatedClause& stated : clauses) {
    if (stated.line < line) clause = stated.id;
  }
  return clause;
}

const Section* Document::Find(std::string_view title) const {
  const auto found = std::ranges::find(sections, title, &Section::title);
  return found == sections.end() ? nullptr : &*found;
}

std::string_view Document::Text(const Section& section) const {
  const std::string_view text = markdown;
  const auto start_of = [&text](int line) {
    std::size_t at = 0;
    for (int i = 1; i < line && at < text.size(); ++i) {
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
    }
    return at;
  };
  const std::size_t begin = start_of(section.line + 1);
  return text.substr(begin, start_of(section.end) - begin);
}

Result<Document> ParseDocument(std::string markdown, const std::string& where) {
  if (std::ssize(markdown) > kMaxDocumentBytes) {
    return Error{ErrorCode::kTooLarge, where,
                 "found " + std::to_string(markdown.size()) + " bytes, expected at most " +
                     std::to_string(kMaxDocumentBytes)};
  }
  if (!markdown.ends_with('\n')) markdown += '\n';
  Document document;
  document.where = where;
  document.markdown = std::move(markdown);
  cmark_gfm_core_extensions_ensure_registered();
  const std::unique_ptr<cmark_parser, FreeParsed> parser(cmark_parser_new(CMARK_OPT_VALIDATE_UTF8));
  cmark_parser_attach_syntax_extension(parser.get(), cmark_find_syntax_extension("table"));
  cmark_parser_feed(parser.get(), document.markdown.data(), document.markdown.size());
  const std::unique_ptr<cmark_node, FreeParsed> root(cmark_parser_finish(parser.get()));
  Reader reader(document);
  const std::unique_ptr<cmark_iter, FreeParsed> walk(cmark_iter_new(root.get()));
  while (cmark_iter_next(walk.get()) != CMARK_EVENT_DONE) {
    if (cmark_iter_get_event_type(walk.get()) != CMARK_EVENT_ENTER) continue;
    reader.Visit(cmark_iter_get_node(walk.get()));
  }
  reader.Finish(static_cast<int>(std::ranges::count(document.markdown, '\n')));
  QTX_RETURN_IF_ERROR(CheckClosed(document));
  return document;
}

Result<Document> ReadDocument(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(std::string text, format::ReadFile(path, kMaxDocumentBytes));
  return ParseDocument(std::move(text), path);
}

}  // namespace qtx::spec
