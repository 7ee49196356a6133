#include "conversation.h"

#include <algorithm>
#include <array>

#include "protocol_probe.h"

namespace qtx::conformance {

using backend::Response;

Error BrokenRule(std::string_view clause, std::string_view what, std::string message) {
  return {ErrorCode::kProtocol, std::string(what), std::move(message),
          "backend_protocol." + std::string(clause)};
}

std::string KindText(const Response& response) {
  constexpr std::array<const char*, 5> kKinds = {"Error", "Describe", "Prepare", "Run", "Release"};
  std::string kind = kKinds[response.index()];
  if (const auto* error = std::get_if<Error>(&response)) {
    constexpr std::array<const char*, 6> kCodes = {"INVALID", "UNSUPPORTED", "TOO_LARGE",
                                                   "IO",      "TIMEOUT",     "PROTOCOL"};
    kind += std::string(" of code ") + kCodes[static_cast<std::size_t>(error->code)];
  }
  return kind;
}

void Conversation::Add(std::string_view clause, std::string_view what, std::string message) {
  faults_.push_back(BrokenRule(clause, what, std::move(message)));
}

std::optional<Response> Conversation::AskFrame(std::string_view clause, std::string_view what,
                                               const std::string& frame, bool is_slow) {
  if (gone_) return std::nullopt;
  auto answer = is_slow ? process_.ExchangeInPieces(frame, TimeToStart(options_))
                        : process_.Exchange(frame, TimeToStart(options_));
  auto response = answer ? backend::DecodeResponse(*std::move(answer))
                         : Result<Response>(std::move(answer).error());
  if (response) return *std::move(response);
  gone_ = true;
  Add(clause, what, response.error().message);
  return std::nullopt;
}

void Conversation::AskToDescribe(std::string_view what) {
  const auto answer = AskFrame("S7", what, backend::Encode(backend::DescribeRequest{}));
  if (!answer) return;
  std::string bytes = backend::Encode(*answer);
  if (description_.empty()) {
    description_ = bytes;
    if (const auto* first = std::get_if<backend::Description>(&*answer)) {
      arithmetics_ = first->arithmetics;
    }
  }
  if (description_ == bytes) return;
  Add("S7", what, "found another answer than to the first Describe, expected the same");
}

void Conversation::ExpectRefusal(std::string_view clause, std::string_view what,
                                 std::string_view frame, const Codes& codes) {
  const auto response = AskFrame(clause, what, std::string(frame));
  if (!response) return;
  const auto* error = std::get_if<Error>(&*response);
  if (error != nullptr && std::ranges::find(codes, error->code) != codes.end()) return;
  Add(clause, what,
      "found " + KindText(*response) + ", expected " +
          KindText(Response(Error{codes.front(), "", ""})));
}

bool AskedModel::Prepare(std::string_view what, const std::set<std::uint64_t>& others,
                         bool may_decline) {
  const backend::PrepareRequest request{subject_.model, arithmetic_};
  const auto answer = conversation_.AskFrame("S8", what, backend::Encode(request));
  if (!answer) return false;
  const auto* prepared = std::get_if<backend::PrepareResponse>(&*answer);
  if (prepared == nullptr) {
    if (may_decline && std::holds_alternative<Error>(*answer)) return false;
    conversation_.Add("S8", what, "found " + KindText(*answer) + ", expected Prepare");
    return false;
  }
  handle_ = prepared->handle;
  if (!others.contains(handle_)) return true;
  conversation_.Add("S8", what, "found the handle of another model, expected a new one");
  return false;
}

void AskedModel::Run(std::string_view what, bool is_slow) {
  auto answer = conversation_.Expect<backend::RunResponse>(
      "S9", what, backend::RunRequest{handle_, subject_.inputs}, is_slow);
  if (!answer) return;
  if (!first_) {
    first_ = std::move(answer->outputs);
  } else if (*first_ != answer->outputs) {
    conversation_.Add("S9", what, "found another answer than before, expected the same");
  }
}

void AskedModel::Release(std::string_view what) {
  conversation_.Expect<backend::ReleaseResponse>("S10", what, backend::ReleaseRequest{handle_});
  conversation_.ExpectRefusal("S10", "Run after " + std::string(what),
                              backend::RunRequest{handle_, subject_.inputs}, {ErrorCode::kInvalid});
}

}  // namespace qtx::conformance
