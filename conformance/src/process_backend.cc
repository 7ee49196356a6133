// A backend in another process: the four requests as frames, the process restarted after a fault.
// Source: spec/backend_protocol.md.
#include <algorithm>
#include <optional>
#include <utility>

#include "process.h"
#include "qtx/backend/protocol.h"
#include "qtx/conformance/runner.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kMaxText = 4096;       // of any text a backend sends
constexpr std::size_t kMaxArithmetics = 64;  // that it names

std::string Bounded(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText) + "...";
  return text;
}

// What a backend says of itself never counts as a crash, timeout or broken protocol: those are for
// the harness to find out.
Error FromGuest(Error error) {
  if (error.code != ErrorCode::kUnsupported) error.code = ErrorCode::kInvalid;
  error.where = Bounded(std::move(error.where));
  error.message = Bounded(std::move(error.message));
  return error;
}

// The process, started when it is first needed and again after a fault.
class Connection {
 public:
  Connection(std::vector<std::string> words, Process::Clock::duration timeout)
      : words_(std::move(words)), timeout_(timeout) {}

  /// The answer of the kind that belongs to the request.
  template <typename Answer>
  Result<Answer> Ask(const backend::Request& request) {
    if (pending_) return *std::exchange(pending_, std::nullopt);
    QTX_RETURN_IF_ERROR(Connect());
    auto frame = process_->Exchange(backend::Encode(request), timeout_);
    if (!frame) return Drop(std::move(frame).error());
    auto response = backend::DecodeResponse(*frame);
    if (!response) return Drop(std::move(response).error());
    if (auto* error = std::get_if<Error>(&*response)) return FromGuest(std::move(*error));
    if (auto* answer = std::get_if<Answer>(&*response)) return std::move(*answer);
    return Drop(Error{ErrorCode::kProtocol, "response", "answers another request"});
  }

  Result<void> Connect() {
    if (process_ != nullptr) return {};
    QTX_ASSIGN_OR_RETURN(process_, Process::Start(words_));
    ++generation_;
    return {};
  }

  /// Nobody waits for the answer to Release, so a fault of it is told with the next request.
  void Release(std::uint64_t handle) {
    const auto answer = Ask<backend::ReleaseResponse>(backend::ReleaseRequest{handle});
    if (!answer) pending_ = At("on Release of the model before", answer.error());
  }

  bool connected() const { return process_ != nullptr; }
  /// Handles of an earlier generation died with their process.
  int generation() const { return generation_; }

 private:
  Error Drop(Error error) {
    process_.reset();
    return error;
  }

  std::vector<std::string> words_;
  Process::Clock::duration timeout_;
  std::unique_ptr<Process> process_;
  int generation_ = 0;
  std::optional<Error> pending_;
};

class RemoteModel : public backend::PreparedModel {
 public:
  RemoteModel(Connection& connection, std::uint64_t handle)
      : connection_(connection), handle_(handle), generation_(connection.generation()) {}
  RemoteModel(const RemoteModel&) = delete;
  RemoteModel& operator=(const RemoteModel&) = delete;
  ~RemoteModel() override {
    if (Alive()) connection_.Release(handle_);
  }

  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) override {
    if (!Alive()) {
      return Error{ErrorCode::kIo, "", "the process that had prepared the model is gone"};
    }
    QTX_ASSIGN_OR_RETURN(backend::RunResponse response,
                         connection_.Ask<backend::RunResponse>(
                             backend::RunRequest{handle_, {inputs.begin(), inputs.end()}}));
    return std::move(response.outputs);
  }

 private:
  bool Alive() const { return connection_.connected() && connection_.generation() == generation_; }

  Connection& connection_;
  std::uint64_t handle_;
  int generation_;
};

class ProcessBackend : public backend::Backend {
 public:
  ProcessBackend(std::vector<std::string> words, Process::Clock::duration timeout)
      : connection_(std::move(words), timeout) {}

  Result<backend::Description> Describe() override {
    QTX_ASSIGN_OR_RETURN(backend::Description description,
                         connection_.Ask<backend::Description>(backend::DescribeRequest{}));
    if (description.name.empty() || description.arithmetics.empty() ||
        description.arithmetics.size() > kMaxArithmetics) {
      return Error{ErrorCode::kProtocol, "describe", "expected a name and 1 to 64 arithmetics"};
    }
    description.name = Bounded(std::move(description.name));
    description.version = Bounded(std::move(description.version));
    description.device = Bounded(std::move(description.device));
    for (std::string& name : description.arithmetics) name = Bounded(std::move(name));
    return description;
  }

  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    QTX_ASSIGN_OR_RETURN(std::string bytes, model.Serialize());
    QTX_ASSIGN_OR_RETURN(const backend::PrepareResponse response,
                         connection_.Ask<backend::PrepareResponse>(
                             backend::PrepareRequest{std::move(bytes), std::string(arithmetic)}));
    return std::unique_ptr<backend::PreparedModel>(
        std::make_unique<RemoteModel>(connection_, response.handle));
  }

 private:
  Connection connection_;
};

}  // namespace

Result<BackendSource> ProcessSource(std::string_view command, std::chrono::milliseconds timeout) {
  QTX_ASSIGN_OR_RETURN(const std::vector<std::string> words, SplitCommand(command));
  BackendSource source;
  source.name = "cmd:" + std::string(command);
  source.make = [words, timeout]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<ProcessBackend>(words, timeout));
  };
  return source;
}

}  // namespace qtx::conformance
