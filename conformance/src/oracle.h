// What a case expects, and whether the sources of expectations bear each other out: a test oracle
// that is itself tested.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/text_answers.h"
#include "qtx/format/feature.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// The reference's answers, computed once per case and arithmetic. Thread-safe.
class ReferenceResults {
 public:
  using Outputs = std::vector<format::Tensor>;
  explicit ReferenceResults(format::Features features) : features_(features) {}
  format::Features features() const { return features_; }
  /// `index` is that of the case; `arithmetic` may have a suffix for other inputs of the case.
  /// Errors: those of Interpreter::Prepare and Run.
  Result<Outputs> Get(std::size_t index, const std::string& arithmetic, const format::Model& model,
                      const std::vector<format::Tensor>& inputs);
  /// Stores the answer of the reference run as a backend.
  void Put(std::size_t index, const std::string& arithmetic, const Outputs& outputs);

 private:
  format::Features features_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::string>, Outputs> outputs_;
};

/// Judges expectations before they judge a backend. Thread-safe.
class Oracle {
 public:
  /// `text_answers` may be null.
  Oracle(ReferenceResults& references, const TextAnswers* text_answers)
      : references_(references), text_answers_(text_answers) {}
  ReferenceResults& references() { return references_; }

  /// False if another source contradicts what `c` expects: the outcome is then kBadGolden or
  /// kBadExpectation, with its diagnosis. Fills `expectation` and `text`; reads `arithmetic`. Once
  /// found it is known for every backend.
  bool IsSound(const Case& c, std::size_t index, const format::Model& model,
               const std::vector<format::Tensor>& inputs, CaseResult& result);
  /// As above, for a case that must be refused by one of `clauses`.
  bool IsSound(const Case& c, const format::Model& model, std::span<const std::string> clauses,
               CaseResult& result) const;

  /// The expected tensor of `c.outputs[i]`.
  /// Errors: those of the case's files and of the reference.
  Result<format::Tensor> Expect(const Case& c, std::size_t index, const format::Model& model,
                                const std::vector<format::Tensor>& inputs,
                                const std::string& arithmetic, std::size_t i);

 private:
  /// What IsSound fills.
  struct Soundness {
    bool is_sound = false;
    CaseResult filled;
  };

  bool FindSoundness(const Case& c, std::size_t index, const format::Model& model,
                     const std::vector<format::Tensor>& inputs, CaseResult& result);
  bool IsWithinBound(const Case& c, std::size_t index, const format::Model& model,
                     const std::vector<format::Tensor>& inputs, CaseResult& result);
  /// The outputs that `c` expects: its literal data where they are all and leave no choice, else
  /// the reference's answer.
  Result<std::vector<format::Tensor>> Outputs(const Case& c, std::size_t index,
                                              const format::Model& model,
                                              const std::vector<format::Tensor>& inputs,
                                              const std::string& arithmetic);
  /// `answers` is called only where the text has an answer.
  template <typename Answers>
  bool AgreesWithText(const Case& c, const format::Model& model, const Answers& answers,
                      CaseResult& result) const;

  ReferenceResults& references_;
  const TextAnswers* text_answers_;
  std::mutex mutex_;
  std::map<std::pair<std::size_t, std::string>, Soundness> soundness_;
};

}  // namespace qtx::conformance
