#include "session.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <latch>
#include <memory>
#include <utility>

#include "guarded.h"
#include "qtx/backend/protocol.h"
#include "qtx/format/threads.h"

namespace qtx::conformance {
namespace {

using format::Tensor;
using Outputs = std::vector<Tensor>;

struct SessionStep {
  std::int64_t handle;  // from 1
  std::int64_t draw;
  bool release = false;  // of the handle, afterwards
};

std::vector<SessionStep> StepsOf(Session session) {
  if (session.kind == SessionKind::kSingle) return {{1, 0}};
  if (session.kind == SessionKind::kRepeated) return {{1, 0}, {1, 0}};
  if (session.kind == SessionKind::kUsual) {
    const std::int64_t plain = session.plain_draw;
    return {{1, 0}, {1, 1}, {2, 1}, {1, plain}, {2, plain, true}, {1, 0}};
  }
  std::vector<SessionStep> steps;
  for (std::int64_t run = 0; run < kSessionDraws; ++run) {
    for (std::int64_t handle = 1; handle <= kSessionHandles; ++handle) {
      const bool release = handle == 2 && run + 1 == kSessionDraws;
      steps.push_back({handle, (run + handle - 1) % kSessionDraws, release});
    }
  }
  for (std::int64_t draw = kSessionDraws; draw < kSessionDraws + kSessionPlainDraws; ++draw) {
    steps.push_back({kSessionHandles, draw});
  }
  steps.insert(steps.end(), {{1, 0}, {1, 0}});
  return steps;
}

// In-process tensors are checked as the protocol checks those of others.
Result<void> CheckTensors(const Outputs& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (const auto sound = backend::CheckTensor(outputs[i]); !sound) {
      return At("outputs[" + std::to_string(i) + "]", sound.error());
    }
  }
  return {};
}

// One prepared model, which is prepared by its first run.
class Handle {
 public:
  Handle(backend::Backend& backend, const format::Model& model, const std::string& arithmetic)
      : backend_(backend), model_(model), arithmetic_(arithmetic) {}

  Result<void> Prepare() {
    QTX_ASSIGN_OR_RETURN(prepared_, Guarded([&] { return backend_.Prepare(model_, arithmetic_); }));
    return {};
  }
  void Release() { prepared_.reset(); }

  Result<Outputs> Run(const std::vector<Tensor>& inputs) {
    ++runs_;
    if (prepared_ == nullptr) QTX_RETURN_IF_ERROR(Prepare());
    QTX_ASSIGN_OR_RETURN(Outputs outputs, Guarded([&] { return prepared_->Run(inputs); }));
    QTX_RETURN_IF_ERROR(CheckTensors(outputs));
    return outputs;
  }
  std::int64_t runs() const { return runs_; }

 private:
  backend::Backend& backend_;
  const format::Model& model_;
  const std::string& arithmetic_;
  std::unique_ptr<backend::PreparedModel> prepared_;
  std::int64_t runs_ = 0;
};

// Runs of one thread take their inputs from one buffer, as those of an application do: where it
// lies says nothing of what is in it.
SessionAnswer Ask(Handle& handle, SessionRun run, const DrawnInputs& inputs,
                  std::vector<Tensor>& buffer) {
  const std::vector<Tensor>* drawn = inputs(run.draw);
  if (drawn == nullptr) {
    run.draw = 0;
    drawn = inputs(0);
  }
  buffer = *drawn;
  auto outputs = handle.Run(buffer);
  run.run = handle.runs();
  return {run, std::move(outputs)};
}

// Calls work(0), ..., work(count - 1), each in a thread of its own as far as the system has them,
// the caller's for what is left. None begins before every thread has its number: a busy machine
// would let the first thread do it all.
template <typename Work>
void InThreadsOfTheirOwn(std::int64_t count, const Work& work) {
  std::atomic<std::int64_t> taken = 0;
  std::latch begin(1);
  format::FirstException failure;
  {
    const auto threads = format::StartThreads(count - 1, [&] {
      const std::int64_t number = taken++;
      taken.notify_one();
      begin.wait();
      failure.Guard([&] { work(number); });
    });
    const std::int64_t own = std::ssize(threads);
    for (auto now = taken.load(); now < own; now = taken.load()) taken.wait(now);
    begin.count_down();
    failure.Guard([&] {
      for (std::int64_t number = own; number < count; ++number) work(number);
    });
  }
  failure.Rethrow();
}

}  // namespace

std::string Describe(const SessionRun& run) {
  std::string text = "run " + std::to_string(run.run) + " of handle " + std::to_string(run.handle);
  if (run.threads != 0) text += ", " + std::to_string(run.threads) + " threads";
  if (run.draw != 0) text += ", other inputs";
  if (run.at_once) text += ", at the same time as other handles";
  return text;
}

bool IsGone(const Error& error) {
  return error.code == ErrorCode::kIo || error.code == ErrorCode::kTimeout ||
         error.code == ErrorCode::kProtocol || error.code == ErrorCode::kSystem;
}

std::vector<SessionAnswer> RunSession(backend::Backend& backend, const format::Model& model,
                                      const std::string& arithmetic, Session session,
                                      std::int64_t threads, const DrawnInputs& inputs) {
  std::vector<Handle> handles;
  for (std::int64_t i = 0; i < kSessionHandles; ++i)
    handles.emplace_back(backend, model, arithmetic);
  std::vector<SessionAnswer> answers;
  std::vector<Tensor> buffer;
  for (const SessionStep& step : StepsOf(session)) {
    Handle& handle = handles[static_cast<std::size_t>(step.handle - 1)];
    const SessionRun run{.handle = step.handle, .threads = threads, .draw = step.draw};
    answers.push_back(Ask(handle, run, inputs, buffer));
    const SessionAnswer& last = answers.back();
    if (!last.outputs && (last.run.draw == 0 || IsGone(last.outputs.error()))) break;
    if (step.release) handle.Release();
  }
  return answers;
}

std::vector<SessionAnswer> RunSessionAtOnce(backend::Backend& backend, const format::Model& model,
                                            const std::string& arithmetic, std::int64_t threads,
                                            const DrawnInputs& inputs) {
  constexpr std::int64_t kRounds = 2;
  std::vector<Handle> handles;
  std::vector<std::vector<SessionAnswer>> answers(kSessionHandles);
  for (std::int64_t i = 0; i < kSessionHandles; ++i) {
    handles.emplace_back(backend, model, arithmetic);
    if (auto prepared = handles.back().Prepare(); !prepared) {
      answers[0].push_back({{.handle = i + 1, .threads = threads}, std::move(prepared).error()});
      return answers[0];
    }
  }
  const auto ask = [&](std::int64_t i) {
    std::vector<Tensor> buffer;
    for (std::int64_t run = 0; run < kRounds * kSessionDraws; ++run) {
      const SessionRun place{
          .handle = i + 1, .threads = threads, .draw = (run + i) % kSessionDraws, .at_once = true};
      answers[static_cast<std::size_t>(i)].push_back(
          Ask(handles[static_cast<std::size_t>(i)], place, inputs, buffer));
    }
  };
  InThreadsOfTheirOwn(kSessionHandles, ask);
  for (std::int64_t i = 1; i < kSessionHandles; ++i) {
    std::ranges::move(answers[static_cast<std::size_t>(i)], std::back_inserter(answers[0]));
  }
  return std::move(answers[0]);
}

}  // namespace qtx::conformance
