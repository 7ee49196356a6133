#include "site/formula_html.h"

#include "qtx/spec/formula.h"
#include "site/html.h"

namespace qtx::spec {

Result<std::string> FormulaHtml(const Fence& fence, const std::string& where) {
  auto math = FormulaToMathMl(fence.text);
  if (!math.has_value()) return At(where + ":" + std::to_string(fence.line), math.error());
  return "<figure class=\"formula\"><div tabindex=\"0\">" + *math +
         "</div>\n<details><summary>as text</summary>" + PreHtml(Escape(fence.text)) +
         "</details></figure>\n";
}

}  // namespace qtx::spec
