#include "site/markdown.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <utility>

#include "site/html.h"

namespace qtx::spec {
namespace {

struct Free {
  void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
  void operator()(cmark_node* node) const { cmark_node_free(node); }
  void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
  void operator()(char* text) const { std::free(text); }  // of cmark's default allocator
};

std::string Literal(cmark_node* node) {
  const char* text = cmark_node_get_literal(node);
  return text == nullptr ? "" : text;
}

bool IsTable(cmark_node* node) {
  return std::string_view(cmark_node_get_type_string(node)) == "table";
}
bool IsRow(cmark_node* node) {  // and not the header
  return std::string_view(cmark_node_get_type_string(node)) == "table_row";
}

// All nodes in the order of the text, so that the tree may be changed while they are gone through.
std::vector<cmark_node*> Nodes(cmark_node* root) {
  std::vector<cmark_node*> nodes;
  const std::unique_ptr<cmark_iter, Free> walk(cmark_iter_new(root));
  while (cmark_iter_next(walk.get()) != CMARK_EVENT_DONE) {
    if (cmark_iter_get_event_type(walk.get()) != CMARK_EVENT_ENTER) continue;
    nodes.push_back(cmark_iter_get_node(walk.get()));
  }
  return nodes;
}

// As document.cc counts it.
int LineOf(cmark_node* node) {
  while (cmark_node_get_start_line(node) == 0 && cmark_node_parent(node) != nullptr) {
    node = cmark_node_parent(node);
  }
  return cmark_node_get_start_line(node);
}

// What a reader sees of a node, in one line.
std::string PlainText(cmark_node* node) {
  std::string text;
  for (cmark_node* at : Nodes(node)) {
    const bool block = (cmark_node_get_type(at) & CMARK_NODE_TYPE_MASK) == CMARK_NODE_TYPE_BLOCK;
    const bool breaks = cmark_node_get_type(at) == CMARK_NODE_SOFTBREAK ||
                        cmark_node_get_type(at) == CMARK_NODE_LINEBREAK;
    if ((block || breaks) && !text.empty() && text.back() != ' ') text += ' ';
    for (const char c : Literal(at)) {
      const char shown = std::isspace(static_cast<unsigned char>(c)) != 0 ? ' ' : c;
      if (shown != ' ' || (!text.empty() && text.back() != ' ')) text += shown;
    }
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

cmark_node* Raw(cmark_node_type type, const std::string& enter, const std::string& exit) {
  cmark_node* node = cmark_node_new(type);
  cmark_node_set_on_enter(node, enter.c_str());
  cmark_node_set_on_exit(node, exit.c_str());
  return node;
}
cmark_node* RawBlock(const std::string& enter, const std::string& exit = "") {
  return Raw(CMARK_NODE_CUSTOM_BLOCK, enter, exit);
}
cmark_node* RawInline(const std::string& enter, const std::string& exit = "") {
  return Raw(CMARK_NODE_CUSTOM_INLINE, enter, exit);
}

cmark_node* Text(const std::string& text) {
  cmark_node* node = cmark_node_new(CMARK_NODE_TEXT);
  cmark_node_set_literal(node, text.c_str());
  return node;
}

void MoveChildren(cmark_node* from, cmark_node* to) {
  while (cmark_node* child = cmark_node_first_child(from)) cmark_node_append_child(to, child);
}

// Puts the children of `node` into its place.
void Unwrap(cmark_node* node) {
  while (cmark_node* child = cmark_node_first_child(node)) cmark_node_insert_before(node, child);
  cmark_node_free(node);
}

// Puts `node` into `wrapper`, which takes its place.
void Wrap(cmark_node* node, cmark_node* wrapper) {
  cmark_node_insert_before(node, wrapper);
  cmark_node_append_child(wrapper, node);
}

bool Inside(cmark_node* node, cmark_node_type type) {
  for (cmark_node* at = cmark_node_parent(node); at != nullptr; at = cmark_node_parent(at)) {
    if (cmark_node_get_type(at) == type) return true;
  }
  return false;
}

// "multiplier, shift" -> these two.
std::vector<std::string> TermsOf(std::string_view cell) {
  std::vector<std::string> terms;
  for (std::size_t at = 0; at < cell.size();) {
    const std::size_t end = std::min(cell.find(", ", at), cell.size());
    if (end > at) terms.emplace_back(cell.substr(at, end - at));
    at = end + 2;
  }
  return terms;
}

// A parsed text. The parser owns the extensions that its tree is written with.
class Tree {
 public:
  explicit Tree(const std::string& markdown) {
    cmark_gfm_core_extensions_ensure_registered();
    parser_.reset(cmark_parser_new(CMARK_OPT_VALIDATE_UTF8));
    for (const char* name : {"table", "autolink"}) {
      cmark_parser_attach_syntax_extension(parser_.get(), cmark_find_syntax_extension(name));
    }
    cmark_parser_feed(parser_.get(), markdown.data(), markdown.size());
    root_.reset(cmark_parser_finish(parser_.get()));
    cmark_consolidate_text_nodes(root_.get());
  }
  cmark_node* root() const { return root_.get(); }
  // Without CMARK_OPT_UNSAFE, which would let raw HTML and links of any scheme through.
  std::string Html() const {
    const std::unique_ptr<char, Free> html(cmark_render_html(
        root_.get(), CMARK_OPT_DEFAULT, cmark_parser_get_syntax_extensions(parser_.get())));
    return html.get();
  }

 private:
  std::unique_ptr<cmark_parser, Free> parser_;
  std::unique_ptr<cmark_node, Free> root_;
};

// Turns the tree of a text into that of its page.
class Renderer {
 public:
  Renderer(cmark_node* root, const Document& document, const Anchors& anchors,
           const TextHooks& hooks)
      : root_(root), document_(document), anchors_(anchors), hooks_(hooks) {}

  std::vector<Findable> Run() {
    for (cmark_node* node : Nodes(root_)) Sort(node);
    StateClauses();
    std::vector<Findable> findable = CollectFindable();
    std::vector<std::vector<cmark_node*>> extents;  // all of them before any is moved
    for (cmark_node* strong : strongs_) extents.push_back(Extent(strong));
    for (std::size_t i = 0; i < strongs_.size(); ++i) Frame(strongs_[i], extents[i], i);
    for (cmark_node* node : texts_) SpeakOf(node);
    for (cmark_node* node : codes_) SpeakOfCode(node);
    for (cmark_node* node : links_) Lead(node);
    for (cmark_node* node : raws_) ShowRaw(node);
    for (cmark_node* node : images_) Unwrap(node);
    for (std::size_t i = 0; i < blocks_.size(); ++i) Replace(blocks_[i], RawBlock(hooks_.block(i)));
    for (std::size_t i = 0; i < headings_.size(); ++i) Head(headings_[i], anchors_.sections[i]);
    if (hooks_.is_glossary) DefineTerms();
    for (cmark_node* table : tables_) {
      // A group: there are too many for each to be a landmark.
      Wrap(table, RawBlock("<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                           "aria-label=\"Table\">",
                           "</div>"));
    }
    return findable;
  }

 private:
  void Sort(cmark_node* node) {
    switch (cmark_node_get_type(node)) {
      case CMARK_NODE_HEADING:
        headings_.push_back(node);
        return;
      case CMARK_NODE_CODE_BLOCK:
        blocks_.push_back(node);
        return;
      case CMARK_NODE_HTML_BLOCK:
      case CMARK_NODE_HTML_INLINE:
        raws_.push_back(node);
        return;
      case CMARK_NODE_IMAGE:
        images_.push_back(node);
        return;
      case CMARK_NODE_LINK:
        links_.push_back(node);
        return;
      case CMARK_NODE_TEXT:
        if (Linkable(node)) texts_.push_back(node);
        return;
      case CMARK_NODE_CODE:
        if (Linkable(node)) codes_.push_back(node);
        return;
      default:
        if (IsTable(node)) tables_.push_back(node);
    }
  }

  static bool Linkable(cmark_node* node) {
    return !Inside(node, CMARK_NODE_LINK) && !Inside(node, CMARK_NODE_HEADING) &&
           !Inside(node, CMARK_NODE_IMAGE) && !Inside(node, CMARK_NODE_STRONG);
  }

  // The bold ids, as document.cc finds them, in the same order.
  void StateClauses() {
    for (cmark_node* node : Nodes(root_)) {
      if (strongs_.size() == document_.clauses.size()) return;
      if (cmark_node_get_type(node) != CMARK_NODE_STRONG) continue;
      const StatedClause& next = document_.clauses[strongs_.size()];
      if (LineOf(node) == next.line && PlainText(node) == next.id) strongs_.push_back(node);
    }
  }

  // The block that a clause's bold id begins: a paragraph, the list item of one, or a table.
  // nullptr where the id stands elsewhere, say in a heading.
  static cmark_node* BlockOf(cmark_node* strong) {
    cmark_node* block = cmark_node_parent(strong);
    for (cmark_node* at = block; at != nullptr; at = cmark_node_parent(at)) {
      if (IsTable(at)) return at;
    }
    if (cmark_node_get_type(block) != CMARK_NODE_PARAGRAPH) return nullptr;
    cmark_node* parent = cmark_node_parent(block);
    const bool item = cmark_node_get_type(parent) == CMARK_NODE_ITEM;
    return item && cmark_node_previous(block) == nullptr ? parent : block;
  }

  // A table, list or formula after a clause belongs to it, and so does a paragraph that goes on in
  // lower case after one ("over the reals; ...").
  static bool GoesOn(cmark_node* node) {
    switch (cmark_node_get_type(node)) {
      case CMARK_NODE_HEADING:
        return false;
      case CMARK_NODE_CODE_BLOCK:
        return cmark_node_get_fence_info(node) != std::string_view("yaml");
      case CMARK_NODE_PARAGRAPH: {
        cmark_node* first = cmark_node_first_child(node);
        if (first == nullptr || cmark_node_get_type(first) == CMARK_NODE_STRONG) return false;
        const std::string text = PlainText(node);
        return !text.empty() && std::islower(static_cast<unsigned char>(text[0])) != 0;
      }
      default:
        return IsTable(node) || cmark_node_get_type(node) == CMARK_NODE_LIST;
    }
  }

  // The blocks of a clause, the one that begins it first.
  std::vector<cmark_node*> Extent(cmark_node* strong) const {
    cmark_node* first = BlockOf(strong);
    if (first == nullptr) return {};
    std::vector<cmark_node*> blocks = {first};
    if (cmark_node_get_type(first) != CMARK_NODE_PARAGRAPH) return blocks;
    for (cmark_node* next = cmark_node_next(first); next != nullptr && GoesOn(next);
         next = cmark_node_next(next)) {
      const bool states = std::ranges::any_of(strongs_, [next](cmark_node* other) {
        for (cmark_node* at = other; at != nullptr; at = cmark_node_parent(at)) {
          if (at == next) return true;
        }
        return false;
      });
      if (states) break;
      blocks.push_back(next);
    }
    return blocks;
  }

  std::vector<Findable> CollectFindable();

  // The title of the section that a line is in; empty before the second heading.
  std::string SectionOf(int line) const {
    std::string title;
    for (const Section& section : document_.sections) {
      if (section.line > line) break;
      title = section.level > 1 ? section.title : "";
    }
    return title;
  }

  // The rows of a glossary's table: terms, meaning, what others say.
  static void AddTerms(cmark_node* table, std::vector<Findable>& findable) {
    for (cmark_node* row = cmark_node_first_child(table); row != nullptr;
         row = cmark_node_next(row)) {
      if (!IsRow(row)) continue;
      std::vector<std::string> cells;
      for (cmark_node* cell = cmark_node_first_child(row); cell != nullptr;
           cell = cmark_node_next(cell)) {
        cells.push_back(PlainText(cell));
      }
      cells.resize(std::max<std::size_t>(cells.size(), 3));
      const std::vector<std::string> terms = TermsOf(cells[0]);
      if (terms.empty()) continue;
      findable.push_back({.anchor = TermAnchor(terms[0]),
                          .title = cells[0],
                          .text = cells[1],
                          .others = cells[2]});
    }
  }

  // Sets `pieces` in the place of `node`, which may be in a table's cell: only links fit there.
  void SpeakOf(cmark_node* node) {
    const std::vector<Piece> pieces = hooks_.mentions->Find(Literal(node));
    if (std::ranges::all_of(pieces, [](const Piece& piece) { return piece.target.empty(); }))
      return;
    for (const Piece& piece : pieces) {
      cmark_node* text = Text(piece.text);
      cmark_node_insert_before(node, text);
      if (!piece.target.empty()) WrapInLink(text, piece.target);
    }
    cmark_node_free(node);
  }

  void SpeakOfCode(cmark_node* node) {
    const std::string target = hooks_.mentions->Whole(Literal(node));
    if (!target.empty()) WrapInLink(node, target);
  }

  void WrapInLink(cmark_node* node, const std::string& target) {
    cmark_node* link = cmark_node_new(CMARK_NODE_LINK);
    cmark_node_set_url(link, Relative(hooks_.page, target).c_str());
    Wrap(node, link);
  }

  void Lead(cmark_node* link) {
    const std::string href = hooks_.link(cmark_node_get_url(link));
    if (href.empty()) return Unwrap(link);
    cmark_node_set_url(link, href.c_str());
    cmark_node_set_title(link, "");
  }

  // The old node stays until the page is written: the text of what were its children lies in it.
  void Replace(cmark_node* old, cmark_node* by) {
    cmark_node_replace(old, by);
    replaced_.emplace_back(old);
  }

  void ShowRaw(cmark_node* node) {
    cmark_node* text = Text(Literal(node));
    if (cmark_node_get_type(node) == CMARK_NODE_HTML_INLINE) return Replace(node, text);
    cmark_node* paragraph = cmark_node_new(CMARK_NODE_PARAGRAPH);
    cmark_node_append_child(paragraph, text);
    Replace(node, paragraph);
  }

  void Head(cmark_node* heading, const std::string& anchor) {
    const std::string level = "h" + std::to_string(cmark_node_get_heading_level(heading));
    cmark_node* html =
        RawBlock("<" + level + " id=\"" + EscapeXml(anchor) + "\">",
                 " <a class=\"here\" href=\"#" + EscapeXml(anchor) +
                     "\" aria-label=\"Link to this section\">#</a></" + level + ">\n");
    MoveChildren(heading, html);
    Replace(heading, html);
  }

  // The id becomes a link to itself; what is beside it follows the blocks it has.
  void Frame(cmark_node* strong, const std::vector<cmark_node*>& extent, std::size_t index) {
    const std::string anchor = EscapeXml(anchors_.clauses[index]);
    const bool framed = !extent.empty() && !IsTable(extent[0]);
    const std::string place = framed ? "" : " id=\"" + anchor + "\"";
    const bool link = !extent.empty() && !Inside(strong, CMARK_NODE_LINK);
    cmark_node* id =
        link ? RawInline("<a class=\"id\"" + place + " href=\"#" + anchor + "\">", "</a>")
             : RawInline("<span class=\"id\"" + place + ">", "</span>");
    MoveChildren(strong, id);
    cmark_node_append_child(strong, id);
    if (extent.empty()) return;
    const std::string beside = hooks_.beside(index);
    if (!framed) {
      cmark_node_insert_after(extent[0],
                              RawBlock("<div class=\"clause of-row\">" + beside, "</div>\n"));
      return;
    }
    cmark_node* frame = RawBlock("<div class=\"clause\" id=\"" + anchor + "\">", "</div>\n");
    cmark_node* says = RawBlock("<div class=\"says\">\n", "</div>\n");
    cmark_node_append_child(frame, says);
    if (cmark_node_get_type(extent[0]) == CMARK_NODE_ITEM) {
      MoveChildren(extent[0], says);
      cmark_node_append_child(extent[0], frame);
    } else {
      cmark_node_insert_before(extent[0], frame);
      for (cmark_node* block : extent) cmark_node_append_child(says, block);
    }
    cmark_node_append_child(frame, RawBlock(beside));
  }

  // Each first cell of a row becomes the place of its terms.
  void DefineTerms() {
    for (cmark_node* node : Nodes(root_)) {
      if (!IsRow(node)) continue;
      cmark_node* cell = cmark_node_first_child(node);
      if (cell == nullptr) continue;
      const std::vector<std::string> terms = TermsOf(PlainText(cell));
      std::string places;
      for (const std::string& term : terms) {
        const std::string anchor = TermAnchor(term);
        if (!defined_.insert(anchor).second) continue;
        places += "<span id=\"" + EscapeXml(anchor) + "\"></span>";
      }
      cmark_node* strong = cmark_node_new(CMARK_NODE_STRONG);  // in a cell nothing else holds it
      MoveChildren(cell, strong);
      cmark_node_append_child(cell, strong);
      cmark_node_prepend_child(strong, RawInline(places));
    }
  }

  cmark_node* root_;
  const Document& document_;
  const Anchors& anchors_;
  const TextHooks& hooks_;
  std::vector<cmark_node*> headings_, blocks_, raws_, images_, links_, texts_, codes_, tables_;
  std::vector<cmark_node*> strongs_;  // of the clauses
  std::set<std::string> defined_;
  std::vector<std::unique_ptr<cmark_node, Free>> replaced_;
};

std::vector<Findable> Renderer::CollectFindable() {
  std::vector<Findable> findable;
  std::map<cmark_node*, std::size_t> owner;  // block -> the clause it is of
  std::size_t clause = 0;
  for (cmark_node* strong : strongs_) {
    for (cmark_node* block : Extent(strong)) owner.emplace(block, clause);
    findable.push_back({.anchor = anchors_.clauses[clause],
                        .title = document_.clauses[clause].id,
                        .is_clause = true,
                        .section = SectionOf(document_.clauses[clause].line)});
    ++clause;
  }
  std::size_t section = findable.size();  // the entry that other text belongs to
  const auto add = [&](cmark_node* block) {
    const auto found = owner.find(block);
    const std::size_t at = found != owner.end() ? found->second : section;
    if (at == findable.size()) return;  // before the first heading
    std::string& text = findable[at].text;
    text += (text.empty() ? "" : " ") + PlainText(block);
  };
  for (cmark_node* block = cmark_node_first_child(root_); block != nullptr;
       block = cmark_node_next(block)) {
    if (cmark_node_get_type(block) == CMARK_NODE_HEADING) {
      section = findable.size();
      const auto i =
          static_cast<std::size_t>(std::ranges::find(headings_, block) - headings_.begin());
      findable.push_back({.anchor = anchors_.sections[i], .title = document_.sections[i].title});
    } else if (hooks_.is_glossary && IsTable(block)) {
      AddTerms(block, findable);
    } else if (cmark_node_get_type(block) == CMARK_NODE_LIST) {
      for (cmark_node* item = cmark_node_first_child(block); item != nullptr;
           item = cmark_node_next(item)) {
        add(item);
      }
    } else {
      add(block);
    }
  }
  return findable;
}

}  // namespace

PageText RenderText(const Document& document, const Anchors& anchors, const TextHooks& hooks) {
  const Tree tree(document.markdown);
  PageText page;
  Renderer renderer(tree.root(), document, anchors, hooks);
  page.findable = renderer.Run();
  page.html = tree.Html();
  return page;
}

std::vector<std::string> GlossaryTerms(const Document& document) {
  const Tree tree(document.markdown);
  std::vector<std::string> terms;
  for (cmark_node* node : Nodes(tree.root())) {
    if (!IsRow(node)) continue;
    const auto row = TermsOf(PlainText(cmark_node_first_child(node)));
    terms.insert(terms.end(), row.begin(), row.end());
  }
  return terms;
}

std::string TermAnchor(std::string_view term) { return "term." + Slug(term); }

}  // namespace qtx::spec
