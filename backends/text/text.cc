// The specification as a backend: each node is computed by the formulas of its text. Slow, and
// independent of the reference. Source: spec/README.md, "Formulas".
#include "qtx/formula/text.h"

#include <algorithm>
#include <cstddef>
#include <deque>
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

// The last answers for one model and arithmetic. The text is a function of these and the inputs,
// and slow: who asks the same again, of another handle too, is told what it was told.
class Answers {
 public:
  using Outputs = Result<std::vector<format::Tensor>>;

  Answers(const format::Model& model, std::string_view arithmetic)
      : model_(model), arithmetic_(arithmetic) {}
  bool AreOf(const format::Model& model, std::string_view arithmetic) const {
    return arithmetic == arithmetic_ && model == model_;
  }

  const Outputs* Find(std::span<const format::Tensor> inputs) const {
    const auto found = std::ranges::find_if(
        answers_, [&](const auto& answer) { return std::ranges::equal(answer.first, inputs); });
    return found == answers_.end() ? nullptr : &found->second;
  }
  void Keep(std::span<const format::Tensor> inputs, const Outputs& outputs) {
    constexpr std::size_t kKept = 4;
    if (answers_.size() == kKept) answers_.pop_front();
    answers_.emplace_back(std::vector(inputs.begin(), inputs.end()), outputs);
  }

 private:
  format::Model model_;
  std::string arithmetic_;
  std::deque<std::pair<std::vector<format::Tensor>, Outputs>> answers_;
};

class PreparedText : public PreparedModel {
 public:
  explicit PreparedText(formula::Interpreter interpreter) : interpreter_(std::move(interpreter)) {}

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    return interpreter_.Run(inputs);
  }

 private:
  formula::Interpreter interpreter_;
};

// Runs a prepared text for inputs without an answer; Measure always computes.
class AnsweredText : public PreparedModel {
 public:
  AnsweredText(formula::Interpreter interpreter, std::shared_ptr<Answers> answers)
      : prepared_(std::move(interpreter)), answers_(std::move(answers)) {}

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    if (const auto* known = answers_->Find(inputs)) return *known;
    auto outputs = prepared_.Run(inputs);
    answers_->Keep(inputs, outputs);
    return outputs;
  }
  Result<std::vector<double>> Measure(std::span<const format::Tensor> inputs,
                                      int repetitions) override {
    return prepared_.Measure(inputs, repetitions);
  }

 private:
  PreparedText prepared_;
  std::shared_ptr<Answers> answers_;
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
    if (!answers_ || !answers_->AreOf(model, arithmetic)) {
      answers_ = std::make_shared<Answers>(model, arithmetic);
    }
    return std::make_unique<AnsweredText>(std::move(interpreter), answers_);
  }

 private:
  formula::Text text_;
  std::shared_ptr<Answers> answers_;  // of the last prepared model
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
