#include "qtx/conformance/text_update.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "case_digest.h"
#include "guarded.h"
#include "qtx/format/threads.h"

namespace qtx::conformance {
namespace {

// A case in one arithmetic, and what the text says of it.
struct Item {
  const Case* c;
  std::string arithmetic;
  std::string question;
  std::string answer;
  std::string fault;
};

std::string Label(const Item& item) { return item.c->id + " @" + item.arithmetic + ": "; }

// The digest of the outputs, the clause of a refusal, or kDeclinedAnswer. A refusal without clause
// is no answer to a case that must be refused.
Result<std::string> Ask(backend::Backend& backend, const Item& item, const format::Model& model) {
  const auto run = [&]() -> Result<std::vector<format::Tensor>> {
    QTX_ASSIGN_OR_RETURN(const auto prepared, backend.Prepare(model, item.arithmetic));
    QTX_ASSIGN_OR_RETURN(const auto inputs, BuildInputs(*item.c, model));
    return prepared->Run(inputs);
  };
  const auto outputs = Guarded(run);
  if (outputs) return AnswerOf(*outputs);
  const Error& error = outputs.error();
  if (error.code == ErrorCode::kUnsupported) return std::string(kDeclinedAnswer);
  if (!error.clause.empty()) return error.clause;
  return error;
}

void Compute(backend::Backend& backend, const format::Model& model, Item& item) {
  auto answer = Ask(backend, item, model);
  if (answer) {
    item.answer = *std::move(answer);
  } else {
    item.fault = answer.error().Text();
  }
}

class Updater {
 public:
  Updater(const TextAnswers& known, const TextUpdateOptions& options)
      : known_(known), options_(options) {}

  void Plan(const Case& c, const std::vector<std::string>& arithmetics) {
    const auto model = BuildModel(c);
    const auto question = model ? QuestionOf(c, *model) : Result<std::string>(model.error());
    // Types that QTX lacks.
    if (!question && question.error().code == ErrorCode::kUnsupported) return;
    const bool chosen = c.position % options_.part.count == options_.part.index - 1;
    for (const std::string& arithmetic : c.arithmetics) {
      if (std::ranges::find(arithmetics, arithmetic) == arithmetics.end()) continue;
      Item item{&c, arithmetic, question ? *question : "", "", ""};
      if (!question) item.fault = question.error().Text();
      const bool is_known = known_.Find(c.id, arithmetic).starts_with(item.question + " ");
      (is_known && !chosen ? kept_ : items_).push_back(std::move(item));
    }
  }

  void Work(const BackendSource& text) {
    const auto backend = text.make();
    for (std::size_t i = next_++; i < items_.size(); i = next_++) {
      Item& item = items_[i];
      if (options_.progress) {
        const std::scoped_lock lock(mutex_);
        options_.progress(i, items_.size(), item.c->id);
      }
      if (!item.fault.empty()) continue;
      const auto model = BuildModel(*item.c);
      if (!backend || !model) {
        item.fault = backend ? model.error().Text() : backend.error().Text();
      } else {
        Compute(**backend, *model, item);
      }
    }
  }

  TextUpdate Finish() {
    TextUpdate update;
    update.kept = std::ssize(kept_);
    for (const Item& item : kept_) {
      const std::string found = known_.Find(item.c->id, item.arithmetic);
      update.answers.Put(item.c->id, item.arithmetic, item.question,
                         found.substr(item.question.size() + 1));
    }
    for (const Item& item : items_) Take(item, update);
    // What is known of cases and arithmetics that are not in the suite.
    const auto gone = known_.size() - update.kept - computed_before_;
    if (gone > 0) update.news.push_back(std::to_string(gone) + " answers are of no case");
    return update;
  }

 private:
  void Take(const Item& item, TextUpdate& update) {
    const std::string before = known_.Find(item.c->id, item.arithmetic);
    computed_before_ += before.empty() ? 0 : 1;
    if (!item.fault.empty()) {
      update.faults.push_back(Label(item) + item.fault);
      return;
    }
    const std::string now = item.question + " " + item.answer;
    ++(item.answer == kDeclinedAnswer ? update.declined : update.computed);
    update.answers.Put(item.c->id, item.arithmetic, item.question, item.answer);
    if (now == before) return;
    update.news.push_back(Label(item) + "found " + now + ", expected " +
                          (before.empty() ? "no answer" : before));
  }

  const TextAnswers& known_;
  const TextUpdateOptions& options_;
  std::vector<Item> items_, kept_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::int64_t computed_before_ = 0;  // of items_, those with an answer in known_
};

}  // namespace

Result<TextUpdate> UpdateTextAnswers(const TextAnswers& known, std::span<const Case> cases,
                                     const BackendSource& text, const TextUpdateOptions& options) {
  QTX_ASSIGN_OR_RETURN(const auto backend, text.make());
  QTX_ASSIGN_OR_RETURN(const backend::Description description, backend->Describe());
  Updater updater(known, options);
  for (const Case& c : cases) updater.Plan(c, description.arithmetics);
  format::InThreads(options.jobs, [&] { updater.Work(text); });
  return updater.Finish();
}

}  // namespace qtx::conformance
