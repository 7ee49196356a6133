#include "site/formula_html.h"

#include "qtx/spec/formula.h"
#include "site/html.h"

namespace qtx::spec {

Result<std::string> FormulaHtml(const Fence& fence, const std::string& where) {
  auto lines = FormulaToHtml(fence.text);
  if (!lines.has_value()) return At(where + ":" + std::to_string(fence.line), lines.error());
  return "<figure class=\"formula\"><div class=\"lines\">\n" + *lines +
         "</div>\n<details><summary>as text</summary>" + PreHtml(EscapeXml(fence.text)) +
         "</details></figure>\n";
}

}  // namespace qtx::spec
