// The specification as a backend: each node is computed by the formulas of its text. Slow, and
// independent of the reference. Source: spec/README.md, "Formulas".
#include "qtx/formula/text.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/backend/options.h"
#include "qtx/formula/interpreter.h"

namespace qtx::backend {
namespace {

class PreparedText : public PreparedModel {
 public:
  explicit PreparedText(formula::Interpreter interpreter) : interpreter_(std::move(interpreter)) {}

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    return interpreter_.Run(inputs);
  }

 private:
  formula::Interpreter interpreter_;
};

class TextBackend : public Backend {
 public:
  explicit TextBackend(formula::Text text) : text_(std::move(text)) {}

  Result<Description> Describe() override {
    return Description{"text", QTX_VERSION, text_.Arithmetics(), "rationals"};
  }

  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                 std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(formula::Interpreter interpreter,
                         formula::Interpreter::Prepare(text_, model, std::string(arithmetic)));
    return std::make_unique<PreparedText>(std::move(interpreter));
  }

 private:
  formula::Text text_;
};

}  // namespace

Result<std::unique_ptr<Backend>> Make_text(std::string_view options) {
  QTX_ASSIGN_OR_RETURN(const Options parsed, Options::Parse(options, {"spec"}));
  const std::string folder = parsed.Text("spec");
  QTX_ASSIGN_OR_RETURN(formula::Text text,
                       folder.empty() ? formula::Text::Embedded() : formula::Text::Read(folder));
  return std::make_unique<TextBackend>(std::move(text));
}

}  // namespace qtx::backend
