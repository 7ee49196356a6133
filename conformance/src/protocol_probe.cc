#include "protocol_probe.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "conversation.h"
#include "probe_inputs.h"
#include "qtx/backend/protocol.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::conformance {
namespace {

constexpr std::uint64_t kNoHandle = 0xFFFF'FFFF'FFFF;
constexpr std::string_view kNoModel = "not a model";

// The first byte of a Response: the tag of its kind, fields 1 to 5 of proto/qtx/backend.proto, of
// which 4 is Run, the only one with tensors.
std::int64_t LimitOfResponse(char first) {
  const auto tag = static_cast<unsigned char>(first);
  if ((tag & 7U) != 2 || tag >> 3 < 1 || tag >> 3 > 5) return 0;
  return tag >> 3 == 4 ? backend::kMaxFrameBytes : backend::kMaxShortFrameBytes;
}

void AskWhatIsNoRequest(Conversation& c) {
  c.ExpectRefusal("S5", "a frame that is not a Request", "\xff\xff", {ErrorCode::kProtocol});
  c.ExpectRefusal("S5", "a request of an unknown kind", {"\x7a\x00", 2}, {ErrorCode::kProtocol});
  c.ExpectRefusal("S5", "an empty frame", "", {ErrorCode::kProtocol});
  c.ExpectRefusal("S5", "a number where a request is to be", "\x08\x01", {ErrorCode::kProtocol});
  // An arithmetic that is no UTF-8.
  c.ExpectRefusal("S5", "Prepare with text that is no UTF-8", "\x12\x04\x12\x02\xc3\x28",
                  {ErrorCode::kProtocol});
  c.ExpectRefusal("S8", "Prepare of what is not a model",
                  backend::PrepareRequest{std::string(kNoModel), "exact"}, Conversation::kAnyOwn);
  c.ExpectRefusal("S11", "Release of an unknown handle", backend::ReleaseRequest{kNoHandle},
                  {ErrorCode::kInvalid});
}

// Names of no arithmetic, near to one that there is; and those of the text that it does not name.
void AskOtherArithmetics(Conversation& c, const ProbeSubject& subject) {
  const std::string& known = subject.arithmetic;
  const auto is_known = [&c](std::string_view name) {
    return std::ranges::find(c.arithmetics(), name) != c.arithmetics().end();
  };
  std::string capitals = known;
  std::ranges::transform(capitals, capitals.begin(), [](char letter) {
    return 'a' <= letter && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
  });
  for (const std::string& name :
       {std::string("no-such-arithmetic"), known + "-x", " " + known, known + '\0', capitals,
        known.substr(0, known.size() - 1), std::string()}) {
    if (is_known(name)) continue;
    c.ExpectRefusal("S8", "Prepare in '" + name + "', an arithmetic that does not exist",
                    backend::PrepareRequest{subject.model, name}, Conversation::kAnyOwn);
  }
  for (const reference::Arithmetic& other : reference::Arithmetics()) {
    if (is_known(other.name)) continue;
    c.ExpectRefusal("S8", "Prepare in '" + std::string(other.name) + "', which it does not name",
                    backend::PrepareRequest{subject.model, std::string(other.name)},
                    Conversation::kAnyOwn);
  }
}

// Near the known handles, and far: those that agree with one in their last bits, too.
void AskUnknownHandles(Conversation& c, const ProbeSubject& subject,
                       const std::set<std::uint64_t>& known) {
  const std::uint64_t one = *known.begin();
  for (const std::uint64_t unknown :
       {kNoHandle, std::numeric_limits<std::uint64_t>::max(), std::uint64_t{0}, *known.rbegin() + 1,
        one + (std::uint64_t{1} << 16), one + (std::uint64_t{1} << 32)}) {
    if (known.contains(unknown)) continue;
    const std::string what = "Run of unknown handle " + std::to_string(unknown);
    c.ExpectRefusal("S11", what, backend::RunRequest{unknown, subject.inputs},
                    {ErrorCode::kInvalid});
    c.ExpectRefusal("S11", what + " with repetitions",
                    backend::RunRequest{unknown, subject.inputs, 2}, {ErrorCode::kInvalid});
  }
}

// What the clock of a backend may count beyond the harness's: it ticks, and runs a little faster.
constexpr double kTick = 1e-3, kFaster = 1.01;

// The answer may leave the outputs out; the seconds are of what lies between request and answer.
void AskMeasure(Conversation& c, std::uint64_t handle, const ProbeSubject& subject,
                std::uint32_t repetitions, const std::vector<format::Tensor>& outputs) {
  constexpr std::string_view kWhat = "Run with repetitions";
  const Process::Clock::time_point begin = Process::Clock::now();
  const auto timed = c.Expect<backend::RunResponse>(
      "S22", kWhat, backend::RunRequest{handle, subject.inputs, repetitions});
  const std::chrono::duration<double> taken = Process::Clock::now() - begin;
  if (!timed) return;
  const std::vector<double>& seconds = timed->seconds;
  const bool is_told =
      seconds.size() == repetitions || (seconds.empty() && !timed->outputs.empty());
  if (!is_told) {
    c.Add("S22", kWhat,
          "found " + std::to_string(seconds.size()) + " seconds, expected " +
              std::to_string(repetitions) + ", or none and the outputs");
  }
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const double most = taken.count() * kFaster + kTick * repetitions;
  if (sum > most) {
    c.Add("S22", kWhat,
          "found " + std::to_string(sum) + " seconds in all, expected at most " +
              std::to_string(most) + ", since the answer took " + std::to_string(taken.count()));
  }
  if (timed->outputs.empty() || timed->outputs == outputs) return;
  c.Add("S9", kWhat, "found another answer than without, expected the same");
}

// What a recurrent network does: the output of a run is an input of the next. Asked again after
// another run, it is an input as any other.
void AskOfOwnOutput(Conversation& c, std::uint64_t handle, const ProbeSubject& subject,
                    const std::vector<format::Tensor>& outputs) {
  backend::RunRequest fed{handle, subject.inputs};
  for (format::Tensor& input : fed.inputs) {
    const bool fits = !outputs.empty() && outputs[0].elem_type == input.elem_type &&
                      outputs[0].dims == input.dims;
    if (fits) input.bytes = outputs[0].bytes;
  }
  if (fed.inputs == subject.inputs) return;
  const std::string right = backend::Encode(backend::RunRequest{handle, subject.inputs});
  constexpr std::string_view kWhat = "Run with an output of the last as input";
  (void)c.AskFrame("S9", "Run", right);
  const auto one = c.AskFrame("S9", kWhat, backend::Encode(fed));
  for (const std::string& frame : {right, backend::Encode(fed), right}) {
    (void)c.AskFrame("S9", "Run", frame);
  }
  if (!subject.others.empty()) {
    (void)c.AskFrame("S9", "Run", backend::Encode(backend::RunRequest{handle, subject.others}));
  }
  const auto other = c.AskFrame("S9", kWhat, backend::Encode(fed));
  if (one && other && backend::Encode(*one) != backend::Encode(*other)) {
    c.Add("S9", kWhat, "found another answer than later to the same inputs, expected the same");
  }
}

// What is refused changes no later answer, nor is that of an earlier request given again.
void AskOfInputs(Conversation& c, std::uint64_t handle, const ProbeSubject& subject) {
  const backend::RunRequest right{handle, subject.inputs};
  const auto before = c.Expect<backend::RunResponse>("S9", "Run", right);
  const std::string others = backend::Encode(backend::RunRequest{handle, subject.others});
  std::optional<backend::Response> other;
  if (!subject.others.empty()) {
    other = c.AskFrame("S9", "Run with other inputs", others);
    (void)c.AskFrame("S9", "Run", backend::Encode(right));
  }
  AskOtherInputs(c, handle, subject);
  if (other) {
    constexpr std::string_view kWhat = "Run with other inputs after what was refused";
    const auto after = c.AskFrame("S9", kWhat, others);
    if (after && backend::Encode(*other) != backend::Encode(*after)) {
      c.Add("S9", kWhat, "found another answer than before, expected the same");
    }
  }
  if (!before) return;
  if (other) (void)c.AskFrame("S9", "Run with other inputs", others);
  for (const std::uint32_t repetitions : {2U, 1U, 3U, 33U}) {
    AskMeasure(c, handle, subject, repetitions, before->outputs);
  }
  AskOfOwnOutput(c, handle, subject, before->outputs);
  constexpr std::string_view kWhat = "Run after what was refused";
  const auto after = c.Expect<backend::RunResponse>("S9", kWhat, right);
  if (after && before->outputs != after->outputs) {
    c.Add("S9", kWhat, "found another answer than before, expected the same");
  }
}

// Near to a model that is prepared: without its last byte, and with one that begins no field.
void AskBrokenModels(Conversation& c, const ProbeSubject& subject) {
  const std::string cut_off = subject.model.substr(0, subject.model.size() - 1);
  c.ExpectRefusal("S8", "Prepare of a model that is cut off",
                  backend::PrepareRequest{cut_off, subject.arithmetic}, Conversation::kAnyOwn);
  c.ExpectRefusal("S8", "Prepare of a model with a byte after it",
                  backend::PrepareRequest{subject.model + '\x07', subject.arithmetic},
                  Conversation::kAnyOwn);
}

// Three handles of one model, and one after a release.
void AskOfModel(Conversation& c, const ProbeSubject& subject) {
  AskOtherArithmetics(c, subject);
  AskedModel one(c, subject, subject.arithmetic);
  AskedModel other = one;
  AskedModel third = one;
  if (!one.Prepare("Prepare", {}) || !other.Prepare("Prepare of a second", {one.handle()}) ||
      !third.Prepare("Prepare of a third", {one.handle(), other.handle()})) {
    return;
  }
  c.AskToDescribe("Describe with models");
  AskUnknownHandles(c, subject, {one.handle(), other.handle(), third.handle()});
  AskBrokenModels(c, subject);
  AskOfInputs(c, one.handle(), subject);
  other.Run("Run of a second");
  one.Release("Release");
  c.ExpectRefusal("S10", "Release after Release", backend::ReleaseRequest{one.handle()},
                  {ErrorCode::kInvalid});
  other.Run("Run of a model after Release of another");
  if (!one.Prepare("Prepare after Release", {other.handle(), third.handle()})) return;
  third.Release("Release of a model that never ran");
  one.Run("Run of a model prepared after a Release");
  other.Run("Run of a model after another Release");
  one.Release("Release");
  other.Release("Release of the last model");
}

// Two models in turn, with all else between their runs; then again, after no model was left.
void AskOfTwo(Conversation& c, const ProbeSubject& a, const ProbeSubject& b,
              const std::string& arithmetic) {
  const bool is_one = &a == &b;  // perhaps in another arithmetic, which may decline it
  AskedModel first(c, a, a.arithmetic);
  AskedModel second(c, b, arithmetic);
  for (const std::string_view time : {"", " the second time"}) {
    const auto named = [time](std::string what) { return what.append(time); };
    if (!first.Prepare(named("Prepare with no other model left"), {})) return;
    first.Run(named("Run"), /*is_slow=*/true);
    const bool has_second =
        second.Prepare(named("Prepare of another model"), {first.handle()}, is_one);
    first.Run(named("Run after Prepare of another model"));
    if (has_second) second.Run(named("Run of another model"));
    first.Run(named("Run after Run of another model"));
    AskWhatIsNoRequest(c);
    first.Run(named("Run after what is no request"));
    AskOtherArithmetics(c, a);
    first.Run(named("Run after Prepare in an arithmetic that does not exist"));
    c.AskToDescribe("Describe after Run");
    first.Run(named("Run after Describe"));
    if (has_second) {
      second.Run(named("Run of another model, again"));
      second.Release("Release of another model");
    }
    first.Run(named("Run after Release of another model"));
    first.Release("Release of the last model");
  }
}

// More models than a process must hold, of all subjects in turn: one may be refused, and none be
// wrong, nor after a time in which nothing is asked.
void AskOfMany(Conversation& c, std::span<const ProbeSubject> subjects) {
  constexpr std::size_t kMany = 32;
  constexpr std::chrono::milliseconds kPause{700};
  std::vector<AskedModel> models;  // the first ones of each subject have its first answer
  std::set<std::uint64_t> handles;
  while (models.size() < kMany) {
    const std::size_t i = models.size();
    const ProbeSubject& subject = subjects[i % subjects.size()];
    AskedModel model = i < subjects.size() ? AskedModel(c, subject, subject.arithmetic)
                                           : models[i - subjects.size()];
    if (!model.Prepare("Prepare of many", handles, i >= 3)) break;
    model.Run("Run of the last of many");
    handles.insert(model.handle());
    models.push_back(model);
  }
  for (AskedModel& each : models) each.Run("Run of many");
  std::this_thread::sleep_for(kPause);
  for (AskedModel& each : models) each.Run("Run after a pause");
  for (AskedModel& each : models) each.Release("Release of many");
}

void AskOfSubjects(Conversation& c, std::span<const ProbeSubject> subjects) {
  for (const ProbeSubject& subject : subjects) AskOfModel(c, subject);
  if (subjects.empty()) return;
  const ProbeSubject& own = subjects.front();
  for (const ProbeSubject& other : subjects.subspan(1)) AskOfTwo(c, own, other, other.arithmetic);
  const auto& names = c.arithmetics();
  const auto other = std::ranges::find_if(names, [&own](auto& n) { return n != own.arithmetic; });
  AskOfTwo(c, own, own, other == names.end() ? own.arithmetic : *other);
  AskOfMany(c, subjects);
}

std::vector<Error> Probe(Process& process, const ProcessOptions& options,
                         std::span<const ProbeSubject> subjects) {
  Conversation c(process, options);
  c.AskToDescribe("Describe");
  AskWhatIsNoRequest(c);
  AskOfSubjects(c, subjects);
  constexpr int kOften = 16;
  for (int i = 0; i < kOften; ++i) c.AskToDescribe("Describe at the end");
  if (!c.gone()) {
    if (auto fault = FaultAtEnd(process)) c.faults().push_back(*std::move(fault));
  }
  return std::move(c.faults());
}

// The end of the input where nothing was asked, and where a model is left after an error.
void ProbeEnd(const std::vector<std::string>& words, const ProcessOptions& options,
              const ProbeSubject* subject, std::vector<Error>& faults) {
  const auto process = StartServer(words, options);
  if (!process) return;
  Conversation c(**process, options);
  if (subject != nullptr) {
    c.AskToDescribe("Describe");
    AskedModel model(c, *subject, subject->arithmetic);
    if (model.Prepare("Prepare", {})) model.Run("Run");
    c.ExpectRefusal("S5", "an empty frame", "", {ErrorCode::kProtocol});
    if (c.gone()) return;  // told by the probe
  }
  auto fault = subject != nullptr
                   ? FaultAtEnd(**process, "the end of the input with a model left, after an error")
                   : FaultAtEnd(**process, "the end of an empty input", TimeToStart(options));
  if (fault) faults.push_back(*std::move(fault));
}

// A server that cannot know where the next frame begins must exit.
void ProbeLength(const std::vector<std::string>& words, const ProcessOptions& options,
                 std::string_view what, std::string_view bytes, std::vector<Error>& faults) {
  const auto process = StartServer(words, options);
  if (!process) return;
  std::string output;
  const auto status = (*process)->AwaitExit(bytes, TimeToStart(options), output);
  if (status && *status != 0) return;
  faults.push_back(BrokenRule(
      "S5", what,
      (status ? "found status 0" : status.error().message) + ", expected a status other than 0"));
}

// S1 has no shortest length: one in five bytes, of which one says it all, is one.
void ProbeLongLength(const std::vector<std::string>& words, const ProcessOptions& options,
                     std::vector<Error>& faults) {
  const auto process = StartServer(words, options);
  if (!process) return;
  const std::string request = backend::Encode(backend::DescribeRequest{});
  const std::string frame =
      static_cast<char>(0x80U | request.size()) + std::string("\x80\x80\x80\0", 4) + request;
  auto answer = (*process)->ExchangeBytes(frame, TimeToStart(options));
  const auto response = answer ? backend::DecodeResponse(*std::move(answer))
                               : Result<backend::Response>(std::move(answer).error());
  if (response && std::holds_alternative<backend::Description>(*response)) return;
  const std::string found = response ? "found " + KindText(*response) : response.error().message;
  faults.push_back(
      BrokenRule("S1", "Describe after a length in five bytes", found + ", expected Describe"));
}

}  // namespace

Result<std::unique_ptr<Process>> StartServer(const std::vector<std::string>& words,
                                             const ProcessOptions& options) {
  return Process::Start(words, {options.memory_limit, options.frame_limit, options.sandbox,
                                options.readable, LimitOfResponse});
}

Process::Clock::duration TimeToStart(const ProcessOptions& options) {
  constexpr Process::Clock::duration kLeast = std::chrono::seconds(10);
  return std::max<Process::Clock::duration>(options.timeout, kLeast);
}

std::optional<Error> FaultAtEnd(Process& process, std::string_view what,
                                Process::Clock::duration time) {
  std::string output;
  const auto status = process.AwaitExit("", time, output);
  if (!status) return BrokenRule("S6", what, status.error().message + ", expected status 0");
  if (*status != 0) {
    return BrokenRule("S6", what, "found status " + std::to_string(*status) + ", expected 0");
  }
  if (output.empty()) return std::nullopt;
  return BrokenRule("S4", what,
                    "found " + std::to_string(output.size()) + " bytes unasked, expected none");
}

std::vector<Error> ProbeProtocol(const std::vector<std::string>& words,
                                 const ProcessOptions& options,
                                 std::span<const ProbeSubject> subjects) {
  const auto process = StartServer(words, options);
  if (!process) return {};  // told by the cases
  std::vector<Error> faults = Probe(**process, options, subjects);
  ProbeEnd(words, options, nullptr, faults);
  if (!subjects.empty()) ProbeEnd(words, options, &subjects.front(), faults);
  ProbeLongLength(words, options, faults);
  // 1 in six bytes, and 2^30 + 1.
  ProbeLength(words, options, "a length of six bytes", {"\x81\x80\x80\x80\x80\x00", 6}, faults);
  ProbeLength(words, options, "a length above 2^30", "\x81\x80\x80\x80\x04", faults);
  return faults;
}

}  // namespace qtx::conformance
