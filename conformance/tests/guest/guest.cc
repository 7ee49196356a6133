// A backend for the tests of the runner: it answers each model with its input, as is right of
// Identity and of Relu of what is not negative, and misbehaves as its argument says when the
// model's graph is called "bad" or has a Relu.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/backend/serve.h"

namespace {

using qtx::Error;
using qtx::ErrorCode;
using qtx::Result;
using qtx::format::Tensor;

void Sleep(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

// Bytes on standard output that Serve knows nothing of.
void Print(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

void Misbehave(const std::string& fault) {
  if (fault == "crash") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit
    std::raise(SIGSEGV);
  }
  if (fault == "exit") std::_Exit(0);
  if (fault == "child") {
    if (fork() == 0) {
      setsid();
      Sleep(std::chrono::minutes(1));
      std::_Exit(0);
    }
    std::_Exit(5);
  }
  if (fault == "hang") Sleep(std::chrono::hours(1));
  if (fault == "slow") Sleep(std::chrono::milliseconds(300));
  if (fault == "memory") {
    // Held at once, so that it does not matter whether the limit is on what is touched.
    const std::vector<char> block(std::size_t{2} << 30, 'x');
    Sleep(std::chrono::milliseconds(block[block.size() / 2] == 'x' ? 1 : 2));
  }
  // 'h' is a length of 104, which these bytes more than fill; with the next, the answer does.
  if (fault == "garbage") Print("hello from a print statement: " + std::string(200, '.'));
  if (fault == "print") Print("hello\n");
  if (fault == "unasked") Print(std::string("\x02\x2a\x00", 3));  // an answer to Release
  if (fault == "oversized") {
    Print("\xff\xff\xff\xff\x0f");
    Sleep(std::chrono::hours(1));
  }
  if (fault == "truncated") {
    Print("\x20\x22\x1e");
    std::_Exit(0);
  }
  if (fault == "noise") std::fputs("first words\nlast words\n", stderr);
}

// Answers that are well formed, and wrong.
void Spoil(const std::string& fault, std::vector<Tensor>& outputs) {
  if (fault == "wrong" || fault == "noise") outputs[0].bytes[0] ^= std::byte{1};
  if (fault == "none") outputs.clear();
  if (fault == "extra") outputs.push_back(outputs[0]);
  if (fault == "type") outputs[0].elem_type = qtx::format::ElementType::kUint8Q;
  if (fault == "shape") outputs[0].dims = {1, 3};
  if (fault == "short") outputs[0].bytes.pop_back();  // not well formed: it lies about its size
}

class Model : public qtx::backend::PreparedModel {
 public:
  Model(std::string fault, bool bad) : fault_(std::move(fault)), bad_(bad) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() override {
    if (bad_ && fault_ == "release") std::raise(SIGKILL);
  }
  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs) override {
    if (bad_) Misbehave(fault_);
    std::vector<Tensor> outputs(inputs.begin(), inputs.end());
    if (bad_) Spoil(fault_, outputs);
    return outputs;
  }
  // Of the computation of something else: fixed times, so that a test knows what to expect.
  Result<std::vector<double>> Measure(std::span<const Tensor> inputs, int repetitions) override {
    if (fault_ == "untimed") return std::vector<double>();
    if (bad_ && fault_ == "miscount") ++repetitions;
    if (bad_) Misbehave(fault_);
    return std::vector<double>(static_cast<std::size_t>(repetitions),
                               0.25 * static_cast<double>(inputs.size()));
  }

 private:
  std::string fault_;
  bool bad_;
};

class Guest : public qtx::backend::Backend {
 public:
  explicit Guest(std::string fault) : fault_(std::move(fault)) {}
  Result<qtx::backend::Description> Describe() override {
    return qtx::backend::Description{"guest", "1", {"exact"}, fault_};
  }
  Result<std::unique_ptr<qtx::backend::PreparedModel>> Prepare(const qtx::format::Model& model,
                                                               std::string_view) override {
    const bool bad = model.graph.name == "bad" ||
                     std::ranges::any_of(model.graph.nodes,
                                         [](const auto& node) { return node.op_type == "Relu"; });
    if (bad && fault_ == "unsupported") {
      return Error{ErrorCode::kUnsupported, "node 'node'", "not today"};
    }
    if (bad && fault_ == "slow") Misbehave(fault_);
    if (bad && fault_ == "refuse") return Error{ErrorCode::kTimeout, "node", "a lie"};
    return std::unique_ptr<qtx::backend::PreparedModel>(std::make_unique<Model>(fault_, bad));
  }

 private:
  std::string fault_;
};

}  // namespace

int main(int argc, char** argv) {
  Guest guest(argc > 1 ? argv[1] : "");
  return qtx::backend::Serve(guest);
}
