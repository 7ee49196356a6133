// Frames in, frames out: one request at a time.  Source: spec/backend_protocol.md.
#include "qtx/backend/serve.h"

#include <cstdio>
#include <map>
#include <utility>

#include "declared_inputs.h"
#include "qtx/backend/protocol.h"

namespace qtx::backend {
namespace {

// README, "Exit status".
constexpr int kDone = 0;
constexpr int kBadInput = 3;
constexpr int kBadOutput = 4;

// Answers each kind of request; owns what was prepared until it is released.
class Session {
 public:
  explicit Session(Backend& backend) : backend_(backend) {}

  Response operator()(const DescribeRequest&) {
    auto description = backend_.Describe();
    if (!description.has_value()) return description.error();
    return *std::move(description);
  }

  Response operator()(const PrepareRequest& request) {
    const auto model = format::Model::Parse(request.model);
    if (!model.has_value()) return model.error();
    if (request.arithmetic.empty()) {  // of which Prepare takes the backend's default
      return Error{ErrorCode::kUnsupported, "request.prepare.arithmetic", "found no name"};
    }
    auto prepared = backend_.Prepare(*model, request.arithmetic);
    if (!prepared.has_value()) return prepared.error();
    prepared_.emplace(next_, Prepared{*std::move(prepared), DeclaredInputs(*model)});
    return PrepareResponse{next_++};
  }

  Response operator()(const RunRequest& request) {
    const auto found = prepared_.find(request.handle);
    if (found == prepared_.end()) return UnknownHandle(request.handle);
    if (auto fit = found->second.inputs.Check(request.inputs); !fit.has_value()) return fit.error();
    PreparedModel& model = *found->second.model;
    if (request.repetitions > 0) return Measure(model, request);
    auto outputs = model.Run(request.inputs);
    if (!outputs.has_value()) return outputs.error();
    return RunResponse{*std::move(outputs), {}};
  }

  Response operator()(const ReleaseRequest& request) {
    if (prepared_.erase(request.handle) == 0) return UnknownHandle(request.handle);
    return ReleaseResponse{};
  }

 private:
  static Response Measure(PreparedModel& model, const RunRequest& request) {
    if (request.repetitions > static_cast<std::uint32_t>(kMaxRepetitions)) {
      return Error{ErrorCode::kInvalid, "request.run.repetitions",
                   "found " + std::to_string(request.repetitions) + ", expected at most " +
                       std::to_string(kMaxRepetitions)};
    }
    auto seconds = model.Measure(request.inputs, static_cast<int>(request.repetitions));
    if (!seconds.has_value()) return seconds.error();
    return RunResponse{{}, *std::move(seconds)};
  }

  static Error UnknownHandle(std::uint64_t handle) {
    return {ErrorCode::kInvalid, "request.handle", "no prepared model " + std::to_string(handle)};
  }

  struct Prepared {
    std::unique_ptr<PreparedModel> model;
    DeclaredInputs inputs;
  };

  Backend& backend_;
  std::map<std::uint64_t, Prepared> prepared_;
  std::uint64_t next_ = 1;
};

Response Answer(Session& session, std::string frame) {
  const auto request = DecodeRequest(std::move(frame));
  if (!request.has_value()) return request.error();  // the frame was sound, so the stream goes on
  return std::visit(session, *request);
}

int Stop(const char* stream, const Error& error, int status) {
  std::fprintf(stderr, "%s: %s\n", stream, error.Text().c_str());
  return status;
}

}  // namespace

int Serve(Backend& backend, int in_fd, int out_fd) {
  Session session(backend);
  while (true) {
    auto frame = ReadFrame(in_fd);
    if (!frame.has_value()) {
      // Where the next frame would start is unknown: say why, then stop.
      (void)WriteFrame(out_fd, Encode(Response(frame.error())));
      return Stop("stdin", frame.error(), kBadInput);
    }
    if (!frame->has_value()) return kDone;
    auto sent = WriteFrame(out_fd, Encode(Answer(session, *std::move(*frame))));
    if (!sent.has_value() && sent.error().code == ErrorCode::kTooLarge)
      sent = WriteFrame(out_fd, Encode(Response(sent.error())));
    if (!sent.has_value()) return Stop("stdout", sent.error(), kBadOutput);
  }
}

}  // namespace qtx::backend
