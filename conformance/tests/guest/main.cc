// A backend for the tests of the runner: it answers Identity with its input, and misbehaves as its
// argument says when the model's graph is called "bad".
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "qtx/backend/backend.h"
#include "qtx/backend/serve.h"

namespace {

using qtx::Error;
using qtx::ErrorCode;
using qtx::Result;
using qtx::format::Tensor;

void Misbehave(const std::string& fault) {
  if (fault == "crash") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit
    std::raise(SIGSEGV);
  }
  if (fault == "exit") std::_Exit(0);
  if (fault == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (fault == "garbage") {
    // 'h' is a length of 104, which these bytes more than fill.
    for (int i = 0; i < 10; ++i) std::fputs("hello from a print statement\n", stdout);
    std::fflush(stdout);
  }
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
    // A guest that lies about its sizes, and one that is merely wrong.
    if (bad_ && fault_ == "short") outputs[0].bytes.pop_back();
    if (bad_ && fault_ == "wrong") outputs[0].bytes[0] ^= std::byte{1};
    if (bad_ && fault_ == "none") outputs.clear();
    return outputs;
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
    const bool bad = model.graph.name == "bad";
    if (bad && fault_ == "unsupported") {
      return Error{ErrorCode::kUnsupported, "node 'node'", "not today"};
    }
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
