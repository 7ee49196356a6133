#include "protocol_probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "qtx/backend/protocol.h"
#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {
namespace {

using backend::Response;
using format::Tensor;

constexpr Process::Clock::duration kTimeToExit = std::chrono::seconds(2);  // backend_protocol.S6
constexpr std::uint64_t kNoHandle = 0xFFFF'FFFF'FFFF;
constexpr std::uint32_t kRepetitions = 2;

// The first byte of a Response: the tag of its kind, fields 1 to 5 of proto/qtx/backend.proto, of
// which 4 is Run, the only one with tensors.
std::int64_t LimitOfResponse(char first) {
  const auto tag = static_cast<unsigned char>(first);
  if ((tag & 7U) != 2 || tag >> 3 < 1 || tag >> 3 > 5) return 0;
  return tag >> 3 == 4 ? backend::kMaxFrameBytes : backend::kMaxShortFrameBytes;
}

Error Broken(std::string_view clause, std::string_view what, std::string message) {
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

// One more element along the first axis, all stored 0.
Tensor Longer(const Tensor& tensor) {
  format::Dims dims = tensor.dims;
  ++dims.front();
  return *format::MakeTensor(tensor.elem_type, dims, tensor.quantization);
}

// True if the model declares the size of that axis, along which parameters do not lie.
bool IsLongerRefused(const ProbeSubject& subject) {
  const auto model = format::Model::Parse(subject.model);
  const Tensor& input = subject.inputs.front();
  if (!model || input.dims.empty() || !input.quantization->axis.empty()) return false;
  for (const format::ValueInfo& info : model->graph.inputs) {
    if (model->graph.FindInitializer(info.name) != nullptr) continue;
    return info.type && info.type->shape && format::FixedDims(*info.type->shape);
  }
  return false;
}

// One conversation. After an answer that is no Response the rest is not asked.
class Probe {
 public:
  Probe(Process& process, const ProcessOptions& options) : process_(process), options_(options) {}

  std::vector<Error> Run(const ProbeSubject* subject) {
    AskToDescribe("Describe");
    ExpectRefusal("S5", "a frame that is not a Request", "\xff\xff", {ErrorCode::kProtocol});
    ExpectRefusal("S5", "a request of an unknown kind", {"\x7a\x00", 2}, {ErrorCode::kProtocol});
    ExpectRefusal("S5", "an empty frame", "", {ErrorCode::kProtocol});
    ExpectRefusal("S8", "Prepare of what is not a model",
                  backend::PrepareRequest{"not a model", "exact"}, kAnyOwn);
    ExpectRefusal("S11", "Release of an unknown handle", backend::ReleaseRequest{kNoHandle},
                  {ErrorCode::kInvalid});
    if (subject != nullptr) AskOfModel(*subject);
    AskToDescribe("Describe at the end");
    if (!gone_) {
      if (auto fault = FaultAtEnd(process_)) faults_.push_back(*std::move(fault));
    }
    return std::move(faults_);
  }

 private:
  using Codes = std::vector<ErrorCode>;
  inline static const Codes kAnyOwn = {ErrorCode::kInvalid, ErrorCode::kUnsupported,
                                       ErrorCode::kTooLarge};

  void Add(std::string_view clause, std::string_view what, std::string message) {
    faults_.push_back(Broken(clause, what, std::move(message)));
  }

  std::optional<Response> AskFrame(std::string_view clause, std::string_view what,
                                   const std::string& frame) {
    if (gone_) return std::nullopt;
    auto answer = process_.Exchange(frame, TimeToStart(options_));
    auto response = answer ? backend::DecodeResponse(*std::move(answer))
                           : Result<Response>(std::move(answer).error());
    if (response) return *std::move(response);
    gone_ = true;
    Add(clause, what, response.error().message);
    return std::nullopt;
  }

  // Each answer must be the first.
  void AskToDescribe(std::string_view what) {
    const auto answer = AskFrame("S7", what, backend::Encode(backend::DescribeRequest{}));
    if (!answer) return;
    std::string bytes = backend::Encode(*answer);
    if (description_.empty()) description_ = bytes;
    if (description_ == bytes) return;
    Add("S7", what, "found another answer than to the first Describe, expected the same");
  }

  void ExpectRefusal(std::string_view clause, std::string_view what, std::string_view frame,
                     const Codes& codes) {
    const auto response = AskFrame(clause, what, std::string(frame));
    if (!response) return;
    const auto* error = std::get_if<Error>(&*response);
    if (error != nullptr && std::ranges::find(codes, error->code) != codes.end()) return;
    Add(clause, what,
        "found " + KindText(*response) + ", expected " +
            KindText(Response(Error{codes.front(), "", ""})));
  }
  void ExpectRefusal(std::string_view clause, std::string_view what,
                     const backend::Request& request, const Codes& codes) {
    ExpectRefusal(clause, what, backend::Encode(request), codes);
  }

  template <typename Answer>
  std::optional<Answer> Expect(std::string_view clause, std::string_view what,
                               const backend::Request& request) {
    auto response = AskFrame(clause, what, backend::Encode(request));
    if (!response) return std::nullopt;
    if (auto* answer = std::get_if<Answer>(&*response)) return std::move(*answer);
    Add(clause, what,
        "found " + KindText(*response) + ", expected " + KindText(Response(Answer{})));
    return std::nullopt;
  }

  void AskOfModel(const ProbeSubject& subject) {
    const backend::PrepareRequest prepare{subject.model, subject.arithmetic};
    ExpectRefusal("S8", "Prepare in an arithmetic that does not exist",
                  backend::PrepareRequest{subject.model, "no-such-arithmetic"}, kAnyOwn);
    ExpectRefusal("S8", "Prepare of a model that is cut off",
                  backend::PrepareRequest{subject.model.substr(0, subject.model.size() - 1),
                                          subject.arithmetic},
                  kAnyOwn);
    const auto one = Expect<backend::PrepareResponse>("S8", "Prepare", prepare);
    const auto other = Expect<backend::PrepareResponse>("S8", "Prepare of a second", prepare);
    const auto third = Expect<backend::PrepareResponse>("S8", "Prepare of a third", prepare);
    if (!one || !other || !third) return;
    AskToDescribe("Describe with models");
    if (one->handle == other->handle) {
      return Add("S8", "Prepare of a second", "found the handle of the first, expected another");
    }
    // Near the known ones, and far.
    for (std::uint64_t unknown : {kNoHandle, std::uint64_t{0}, third->handle + 1}) {
      const bool known =
          unknown == one->handle || unknown == other->handle || unknown == third->handle;
      if (known) continue;
      ExpectRefusal("S11", "Run of unknown handle " + std::to_string(unknown),
                    backend::RunRequest{unknown, subject.inputs}, {ErrorCode::kInvalid});
    }
    const backend::RunRequest right{one->handle, subject.inputs};
    const auto before = Expect<backend::RunResponse>("S9", "Run", right);
    AskOthers(one->handle, subject);
    const auto timed = AskMeasure(one->handle, subject);
    if (before && !timed.empty() && timed != before->outputs) {
      Add("S9", "Run with repetitions", "found another answer than without, expected the same");
    }
    const auto after = Expect<backend::RunResponse>("S9", "Run after what was refused", right);
    if (before && after && before->outputs != after->outputs) {
      Add("S9", "Run after what was refused",
          "found another answer than before, expected the same");
    }
    Expect<backend::ReleaseResponse>("S10", "Release", backend::ReleaseRequest{one->handle});
    ExpectRefusal("S10", "Run after Release", backend::RunRequest{one->handle, subject.inputs},
                  {ErrorCode::kInvalid});
    ExpectRefusal("S10", "Release after Release", backend::ReleaseRequest{one->handle},
                  {ErrorCode::kInvalid});
    Expect<backend::RunResponse>("S10", "Run of a model after Release of another",
                                 backend::RunRequest{other->handle, subject.inputs});
  }

  // What is refused changes no later answer, nor is that of an earlier request given again.
  void AskOthers(std::uint64_t handle, const ProbeSubject& subject) {
    if (subject.others.empty()) return AskWrongInputs(handle, subject);
    const std::string others = backend::Encode(backend::RunRequest{handle, subject.others});
    const std::string own = backend::Encode(backend::RunRequest{handle, subject.inputs});
    const auto before = AskFrame("S9", "Run with other inputs", others);
    (void)AskFrame("S9", "Run", own);
    AskWrongInputs(handle, subject);
    const auto after = AskFrame("S9", "Run with other inputs after what was refused", others);
    if (before && after && backend::Encode(*before) != backend::Encode(*after)) {
      Add("S9", "Run with other inputs after what was refused",
          "found another answer than before, expected the same");
    }
  }

  void ExpectRefusedInputs(std::uint64_t handle, const ProbeSubject& subject,
                           std::string_view clause, std::string_view what, ErrorCode code,
                           const std::function<void(std::vector<Tensor>&)>& change) {
    std::vector<Tensor> inputs = subject.inputs;
    change(inputs);
    ExpectRefusal(clause, what, backend::RunRequest{handle, std::move(inputs)}, {code});
  }

  void AskWrongInputs(std::uint64_t handle, const ProbeSubject& subject) {
    AskMalformedInputs(handle, subject);
    AskUnfitInputs(handle, subject);
  }

  // Inputs that fit no model.
  void AskMalformedInputs(std::uint64_t handle, const ProbeSubject& subject) {
    const auto refused = [&](std::string_view what, const auto& change) {
      ExpectRefusedInputs(handle, subject, "S14", what, ErrorCode::kProtocol,
                          [&change](std::vector<Tensor>& inputs) { change(inputs.front()); });
    };
    refused("Run with a byte too many", [](Tensor& input) { input.bytes.emplace_back(); });
    refused("Run with a byte too few", [](Tensor& input) { input.bytes.pop_back(); });
    refused("Run with negative dims", [](Tensor& input) { input.dims.assign(1, -1); });
    refused("Run with an infinite scale", [](Tensor& input) {
      input.quantization->scale.front() = std::numeric_limits<float>::infinity();
    });
    refused("Run with more scales than its input has places for", [](Tensor& input) {
      auto& scale = input.quantization->scale;
      scale.insert(scale.end(), 2, scale.front());
    });
    refused("Run with an input without its parameters",
            [](Tensor& input) { input.quantization.reset(); });
  }

  // Inputs that do not fit this model.
  void AskUnfitInputs(std::uint64_t handle, const ProbeSubject& subject) {
    const auto refused = [&](std::string_view clause, std::string_view what, const auto& change) {
      ExpectRefusedInputs(handle, subject, clause, what, ErrorCode::kInvalid, change);
    };
    refused("S9", "Run with an input too many",
            [](auto& inputs) { inputs.push_back(inputs.front()); });
    refused("S9", "Run with an input too few", [](auto& inputs) { inputs.pop_back(); });
    refused("S13", "Run with an input of another shape",
            [](auto& inputs) { inputs.front().dims.push_back(1); });
    refused("S13", "Run with an input of another type", [](auto& inputs) {
      const bool is_long = inputs.front().elem_type == format::ElementType::kInt64;
      inputs.front() = *format::MakeTensor(
          is_long ? format::ElementType::kInt32 : format::ElementType::kInt64, inputs.front().dims);
    });
    refused("S13", "Run with an input of another scale", [](auto& inputs) {
      float& scale = inputs.front().quantization->scale.front();
      scale *= scale < 1 ? 2.0F : 0.5F;
    });
    refused("S13", "Run with an input of another offset", [](auto& inputs) {
      auto& q = *inputs.front().quantization;
      q.offset.resize(q.scale.size());
      q.offset.front() += q.offset.front() > 0 ? -1 : 1;
    });
    if (!IsLongerRefused(subject)) return;
    refused("S13", "Run with an input of another size",
            [](auto& inputs) { inputs.front() = Longer(inputs.front()); });
  }

  // The outputs, which may be left out.
  std::vector<Tensor> AskMeasure(std::uint64_t handle, const ProbeSubject& subject) {
    const auto timed = Expect<backend::RunResponse>(
        "S22", "Run with repetitions", backend::RunRequest{handle, subject.inputs, kRepetitions});
    if (!timed) return {};
    const bool is_told = timed->seconds.size() == kRepetitions ||
                         (timed->seconds.empty() && !timed->outputs.empty());
    if (!is_told) {
      Add("S22", "Run with repetitions",
          "found " + std::to_string(timed->seconds.size()) + " seconds, expected " +
              std::to_string(kRepetitions) + ", or none and the outputs");
    }
    return timed->outputs;
  }

  Process& process_;
  const ProcessOptions& options_;
  bool gone_ = false;
  std::string description_;  // the first answer to Describe
  std::vector<Error> faults_;
};

// A server that cannot know where the next frame begins must exit.
void ProbeLength(const std::vector<std::string>& words, const ProcessOptions& options,
                 std::string_view what, std::string_view bytes, std::vector<Error>& faults) {
  const auto process = StartServer(words, options);
  if (!process) return;
  std::string output;
  const auto status = (*process)->AwaitExit(bytes, TimeToStart(options), output);
  if (status && *status != 0) return;
  faults.push_back(Broken(
      "S5", what,
      (status ? "found status 0" : status.error().message) + ", expected a status other than 0"));
}

}  // namespace

Result<std::unique_ptr<Process>> StartServer(const std::vector<std::string>& words,
                                             const ProcessOptions& options) {
  return Process::Start(words, {options.memory_limit, options.frame_limit, LimitOfResponse});
}

Process::Clock::duration TimeToStart(const ProcessOptions& options) {
  constexpr Process::Clock::duration kLeast = std::chrono::seconds(10);
  return std::max<Process::Clock::duration>(options.timeout, kLeast);
}

std::optional<Error> FaultAtEnd(Process& process) {
  std::string output;
  const auto status = process.AwaitExit("", kTimeToExit, output);
  const std::string_view what = "the end of the input";
  if (!status) return Broken("S6", what, status.error().message + ", expected status 0");
  if (*status != 0) {
    return Broken("S6", what, "found status " + std::to_string(*status) + ", expected 0");
  }
  if (output.empty()) return std::nullopt;
  return Broken("S4", what,
                "found " + std::to_string(output.size()) + " bytes unasked, expected none");
}

std::vector<Error> ProbeProtocol(const std::vector<std::string>& words,
                                 const ProcessOptions& options, const ProbeSubject* subject) {
  const auto process = StartServer(words, options);
  if (!process) return {};  // told by the cases
  std::vector<Error> faults = Probe(**process, options).Run(subject);
  // 1 in six bytes, and 2^30 + 1.
  ProbeLength(words, options, "a length of six bytes", {"\x81\x80\x80\x80\x80\x00", 6}, faults);
  ProbeLength(words, options, "a length above 2^30", "\x81\x80\x80\x80\x04", faults);
  return faults;
}

}  // namespace qtx::conformance
