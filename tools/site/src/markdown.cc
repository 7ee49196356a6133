#include "qtx/site/markdown.h"

#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>

#include <cstdlib>
#include <memory>

namespace qtx::site {
namespace {

struct FreeRendered {
  void operator()(cmark_parser* parser) const { cmark_parser_free(parser); }
  void operator()(cmark_node* node) const { cmark_node_free(node); }
  void operator()(char* text) const { std::free(text); }
};

}  // namespace

std::string ToHtml(std::string_view markdown) {
  constexpr int kSafe = CMARK_OPT_DEFAULT | CMARK_OPT_VALIDATE_UTF8;  // never CMARK_OPT_UNSAFE
  cmark_gfm_core_extensions_ensure_registered();
  const std::unique_ptr<cmark_parser, FreeRendered> parser(cmark_parser_new(kSafe));
  cmark_parser_attach_syntax_extension(parser.get(), cmark_find_syntax_extension("table"));
  cmark_parser_feed(parser.get(), markdown.data(), markdown.size());
  const std::unique_ptr<cmark_node, FreeRendered> root(cmark_parser_finish(parser.get()));
  const std::unique_ptr<char, FreeRendered> html(
      cmark_render_html(root.get(), kSafe, cmark_parser_get_syntax_extensions(parser.get())));
  return html.get();
}

}  // namespace qtx::site
