// A conversation with a server of the protocol that keeps each rule it breaks.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "process.h"
#include "qtx/backend/protocol.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// A fault that breaks backend_protocol.`clause` at `what`.
Error BrokenRule(std::string_view clause, std::string_view what, std::string message);

/// "Run", or "Error of code INVALID".
std::string KindText(const backend::Response& response);

/// Asks one process. After an answer that is no Response the rest is not asked.
class Conversation {
 public:
  using Codes = std::vector<ErrorCode>;
  /// Of what the backend cannot do, or a fault of the model.
  inline static const Codes kAnyOwn = {ErrorCode::kInvalid, ErrorCode::kUnsupported,
                                       ErrorCode::kTooLarge};

  Conversation(Process& process, const ProcessOptions& options)
      : process_(process), options_(options) {}

  void Add(std::string_view clause, std::string_view what, std::string message);
  /// Sends a frame, in pieces with pauses between them where `is_slow`.
  std::optional<backend::Response> AskFrame(std::string_view clause, std::string_view what,
                                            const std::string& frame, bool is_slow = false);
  /// Each answer must be the first.
  void AskToDescribe(std::string_view what);
  /// What the first answer to Describe names.
  const std::vector<std::string>& arithmetics() const { return arithmetics_; }

  void ExpectRefusal(std::string_view clause, std::string_view what, std::string_view frame,
                     const Codes& codes);
  void ExpectRefusal(std::string_view clause, std::string_view what,
                     const backend::Request& request, const Codes& codes) {
    ExpectRefusal(clause, what, backend::Encode(request), codes);
  }

  template <typename Answer>
  std::optional<Answer> Expect(std::string_view clause, std::string_view what,
                               const backend::Request& request, bool is_slow = false) {
    auto response = AskFrame(clause, what, backend::Encode(request), is_slow);
    if (!response) return std::nullopt;
    if (auto* answer = std::get_if<Answer>(&*response)) return std::move(*answer);
    Add(clause, what,
        "found " + KindText(*response) + ", expected " + KindText(backend::Response(Answer{})));
    return std::nullopt;
  }

  Process& process() { return process_; }
  bool gone() const { return gone_; }
  std::vector<Error>& faults() { return faults_; }

 private:
  Process& process_;
  const ProcessOptions& options_;
  bool gone_ = false;
  std::string description_;  // the first answer to Describe
  std::vector<std::string> arithmetics_;
  std::vector<Error> faults_;
};

/// A model in a conversation, each of whose answers must be the first one.
class AskedModel {
 public:
  AskedModel(Conversation& conversation, const ProbeSubject& subject, std::string arithmetic)
      : conversation_(conversation), subject_(subject), arithmetic_(std::move(arithmetic)) {}

  /// False where the answer is no handle, a fault unless it `may_decline`, or one of `others`.
  bool Prepare(std::string_view what, const std::set<std::uint64_t>& others,
               bool may_decline = false);
  void Run(std::string_view what, bool is_slow = false);
  /// The model is unknown then.
  void Release(std::string_view what);
  std::uint64_t handle() const { return handle_; }

 private:
  Conversation& conversation_;
  const ProbeSubject& subject_;
  std::string arithmetic_;
  std::uint64_t handle_ = 0;
  std::optional<std::vector<format::Tensor>> first_;
};

}  // namespace qtx::conformance
