// A backend in another process: sends the four requests as frames and restarts the process after a
// fault.
// Source: spec/backend_protocol.md.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "guarded.h"
#include "process.h"
#include "protocol_probe.h"
#include "qtx/backend/protocol.h"
#include "qtx/conformance/runner.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kMaxText = 4096;  // length of a text from a backend

std::string Bounded(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText) + "...";
  return text;
}

// A backend's own error code cannot be a crash, timeout or protocol error: only the harness detects
// those. It refuses no model by them either.
Error FromGuest(Error error) {
  if (error.code > ErrorCode::kTooLarge) error.code = ErrorCode::kInternal;
  error.where = Bounded(std::move(error.where));
  error.message = Bounded(std::move(error.message));
  const bool silent = error.message.empty() && error.code != ErrorCode::kUnsupported;
  if (silent) error.message = "answered with an error that says nothing";
  return error;
}

// The process, started on demand and restarted after a fault.
class Connection {
 public:
  using Duration = Process::Clock::duration;

  Connection(std::vector<std::string> words, const ProcessOptions& options)
      : words_(std::move(words)),
        options_(options),
        longest_(options.timeout),
        left_(options.timeout) {}

  void LimitTime(std::chrono::milliseconds limit) {
    options_.timeout = std::min(limit, longest_);
    left_ = options_.timeout;
  }

  void BeginCase() {
    in_case_ = true;
    left_ = options_.timeout;
    start_fault_.reset();
    release_fault_.reset();
    (void)TakeErrorOutput();  // output since the previous case
  }

  std::string TakeErrorOutput() {
    KeepErrorOutput();
    return std::exchange(error_output_, std::string());
  }

  /// Sends a request and expects the matching kind of response. The requests of a case share its
  /// time limit.
  template <typename Answer>
  Result<Answer> Ask(const backend::Request& request) {
    QTX_RETURN_IF_ERROR(Connect());
    if (!in_case_) left_ = options_.timeout;
    const Process::Clock::time_point start = Process::Clock::now();
    auto answer = Exchange<Answer>(request, left_);
    left_ -= Process::Clock::now() - start;
    return answer;
  }

  /// Waits for the description of a new process, with the time limit of a start.
  Result<void> Connect() {
    if (process_ != nullptr) return {};
    auto started = Start();
    if (!started.has_value()) start_fault_ = started.error();
    return started;
  }

  /// Remembers a handle, which no other prepared model may have.
  Result<void> Take(std::uint64_t handle) {
    if (handles_.insert(handle).second) return {};
    return Drop({ErrorCode::kProtocol, "response.prepare.handle",
                 "found " + std::to_string(handle) + ", which another prepared model has"});
  }

  void Release(std::uint64_t handle) {
    handles_.erase(handle);
    const auto answer =
        Exchange<backend::ReleaseResponse>(backend::ReleaseRequest{handle}, options_.timeout);
    if (!answer) release_fault_ = At("on Release", answer.error());
  }

  /// Kills the process after `error`.
  Error Drop(Error error) {
    KeepErrorOutput();
    process_.reset();
    return error;
  }

  /// Ends the process by the end of its input.  Source: backend_protocol.S6.
  std::optional<Error> Close() {
    if (process_ == nullptr) return std::nullopt;
    auto fault = FaultAtEnd(*process_);
    process_.reset();
    return fault;
  }

  std::optional<Error> TakeReleaseFault() { return std::exchange(release_fault_, std::nullopt); }
  const std::optional<Error>& start_fault() const { return start_fault_; }

  bool connected() const { return process_ != nullptr; }
  const backend::Description& description() const { return description_; }
  /// Model handles of an earlier generation are invalid: their process has ended.
  int generation() const { return generation_; }

 private:
  Result<void> Start() {
    QTX_ASSIGN_OR_RETURN(process_, StartServer(words_, options_));
    ++generation_;
    handles_.clear();
    auto description =
        Exchange<backend::Description>(backend::DescribeRequest{}, TimeToStart(options_));
    if (!description) return Drop(std::move(description).error());
    description_ = *std::move(description);
    const auto known = [](const std::string& name) {
      return reference::FindArithmetic(name).has_value();
    };
    if (std::ranges::any_of(description_.arithmetics, known)) return {};
    return Drop(
        {ErrorCode::kProtocol, "response.describe.arithmetics",
         "found '" + description_.arithmetics[0] + "', expected a name of spec/arithmetic"});
  }

  template <typename Answer>
  Result<Answer> Exchange(const backend::Request& request, Duration timeout) {
    auto frame = process_->Exchange(backend::Encode(request), timeout);
    if (!frame) return Drop(std::move(frame).error());
    auto response = backend::DecodeResponse(*std::move(frame));
    if (!response) return Drop(std::move(response).error());
    if (auto* error = std::get_if<Error>(&*response)) return FromGuest(std::move(*error));
    if (auto* answer = std::get_if<Answer>(&*response)) return std::move(*answer);
    return Drop(Error{ErrorCode::kProtocol, "response", "answers another request"});
  }

  void KeepErrorOutput() {
    if (process_ != nullptr) AppendErrorOutput(process_->TakeErrorOutput(), error_output_);
  }

  std::vector<std::string> words_;
  ProcessOptions options_;
  std::chrono::milliseconds longest_;  // time limit
  std::unique_ptr<Process> process_;
  backend::Description description_;
  int generation_ = 0;
  std::set<std::uint64_t> handles_;  // of the prepared models of this process
  bool in_case_ = false;
  Duration left_;  // remaining time of the case
  std::string error_output_;
  std::optional<Error> release_fault_;
  std::optional<Error> start_fault_;
};

class RemoteModel : public backend::PreparedModel {
 public:
  RemoteModel(Connection& connection, std::uint64_t handle)
      : connection_(connection), handle_(handle), generation_(connection.generation()) {}
  RemoteModel(const RemoteModel&) = delete;
  RemoteModel& operator=(const RemoteModel&) = delete;
  ~RemoteModel() override {
    Attempt([&] {
      if (Alive()) connection_.Release(handle_);
    });
  }

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    if (!Alive()) return Gone();
    QTX_ASSIGN_OR_RETURN(backend::RunResponse response,
                         connection_.Ask<backend::RunResponse>(
                             backend::RunRequest{handle_, {inputs.begin(), inputs.end()}}));
    if (response.seconds.empty()) return std::move(response.outputs);
    return connection_.Drop({ErrorCode::kProtocol, "response.run.seconds",
                             "found " + std::to_string(response.seconds.size()) +
                                 ", expected none without repetitions"});
  }

  Result<std::vector<double>> Measure(std::span<const format::Tensor> inputs,
                                      int repetitions) override {
    if (!Alive()) return Gone();
    const auto count = static_cast<std::uint32_t>(repetitions);
    QTX_ASSIGN_OR_RETURN(backend::RunResponse response,
                         connection_.Ask<backend::RunResponse>(
                             backend::RunRequest{handle_, {inputs.begin(), inputs.end()}, count}));
    if (response.seconds.size() == count) return std::move(response.seconds);
    if (response.seconds.empty()) {
      return Error{ErrorCode::kUnsupported, "request.run.repetitions",
                   "the backend does not measure its own time"};
    }
    return connection_.Drop({ErrorCode::kProtocol, "response.run.seconds",
                             "found " + std::to_string(response.seconds.size()) + ", expected " +
                                 std::to_string(repetitions)});
  }

 private:
  static Error Gone() {
    return {ErrorCode::kIo, "", "the process that had prepared the model is gone"};
  }
  bool Alive() const { return connection_.connected() && connection_.generation() == generation_; }

  Connection& connection_;
  std::uint64_t handle_;
  int generation_;
};

class ProcessBackend : public IsolatedBackend {
 public:
  ProcessBackend(std::vector<std::string> words, const ProcessOptions& options)
      : connection_(std::move(words), options) {}

  void BeginCase() override { connection_.BeginCase(); }
  void LimitTime(std::chrono::milliseconds limit) override { connection_.LimitTime(limit); }
  std::string TakeErrorOutput() override { return connection_.TakeErrorOutput(); }
  std::optional<Error> TakeReleaseFault() override { return connection_.TakeReleaseFault(); }
  std::optional<Error> StartFault() const override { return connection_.start_fault(); }
  std::optional<Error> Close() override { return connection_.Close(); }

  Result<backend::Description> Describe() override {
    QTX_RETURN_IF_ERROR(connection_.Connect());
    backend::Description description = connection_.description();
    description.version = Bounded(std::move(description.version));
    description.device = Bounded(std::move(description.device));
    return description;
  }

  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(std::string bytes, model.Serialize());
    QTX_ASSIGN_OR_RETURN(const backend::PrepareResponse response,
                         connection_.Ask<backend::PrepareResponse>(
                             backend::PrepareRequest{std::move(bytes), std::string(arithmetic)}));
    QTX_RETURN_IF_ERROR(connection_.Take(response.handle));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<RemoteModel>(connection_, response.handle));
  }

 private:
  Connection connection_;
};

}  // namespace

BackendSource ProcessSource(std::string name, std::vector<std::string> words,
                            const ProcessOptions& options) {
  BackendSource source;
  source.name = std::move(name);
  source.probe = [words, options](std::span<const ProbeSubject> subjects) {
    return ProbeProtocol(words, options, subjects);
  };
  source.make = [words = std::move(words), options]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<ProcessBackend>(words, options));
  };
  return source;
}

Result<BackendSource> ProcessSource(std::string_view command, const ProcessOptions& options) {
  QTX_ASSIGN_OR_RETURN(std::vector<std::string> words, SplitCommand(command));
  return ProcessSource("cmd:" + std::string(command), std::move(words), options);
}

}  // namespace qtx::conformance
