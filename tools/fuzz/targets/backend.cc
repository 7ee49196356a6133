// The two sides of the backend protocol, and models that are run.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "qtx/backend/protocol.h"
#include "qtx/backend/serve.h"
#include "qtx/format/check.h"
#include "qtx/format/inference.h"
#include "qtx/reference/interpreter.h"
#include "target.h"

namespace qtx::backend {
Result<std::unique_ptr<Backend>> Make_x86(std::string_view options);
}

namespace qtx::fuzz {
namespace {

using format::Tensor;

backend::Backend& X86() {
  static const auto x86 = backend::Make_x86("");
  if (!x86.has_value()) Stop(x86.error().Text());
  return **x86;
}

// A descriptor in memory that holds `bytes`, to be read from the beginning.
class Pipe {
 public:
  explicit Pipe(std::string_view bytes) : fd_(memfd_create("qtx_fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != std::ssize(bytes))
      Stop("no file in memory");
    lseek(fd_, 0, SEEK_SET);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// What is decoded is encoded so that it is decoded as the same again.
template <typename Message>
void CheckComesBack(const Result<Message>& message, Result<Message> (*decode)(std::string)) {
  if (!Answered(message)) return;
  const std::string bytes = backend::Encode(*message);
  const auto again = decode(bytes);
  if (!again.has_value()) Stop("encoded, then refused: " + again.error().Text());
  if (backend::Encode(*again) != bytes) Stop("came back as another message");
}

template <typename Message, Result<Message> (*kDecode)(std::string)>
void Frames(const std::string& bytes) {
  const Pipe pipe(bytes);
  for (;;) {
    auto frame = backend::ReadFrame(pipe.fd());
    if (!Answered(frame) || !*frame) return;
    CheckComesBack<Message>(kDecode(**std::move(frame)), kDecode);
  }
}

// A server ends with a status of its own, whatever it is told.
void Requests(std::string_view, const std::string& bytes) {
  static const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  Frames<backend::Request, &backend::DecodeRequest>(bytes);
  const Pipe pipe(bytes);
  const int status = backend::Serve(X86(), pipe.fd(), nowhere);
  if (status != 0 && status != 3) Stop("status " + std::to_string(status));
}

void Responses(std::string_view, const std::string& bytes) {
  Frames<backend::Response, &backend::DecodeResponse>(bytes);
}

constexpr std::int64_t kSmallTensor = 4096;  // elements
constexpr std::size_t kFewNodes = 32;

bool IsSmall(const format::Dims& dims) {
  const auto count = format::ElementCount(dims);
  return count.has_value() && *count <= kSmallTensor;
}

// Every value of the model is known to be small: larger ones are for the limits of the format.
bool IsSmall(const format::Model& model) {
  const format::Model inferred = format::WithInferredTypes(model);
  if (inferred.graph.nodes.size() > kFewNodes) return false;
  for (const format::TensorData& data : inferred.graph.initializers) {
    if (!IsSmall(data.dims)) return false;
  }
  for (const format::Node& node : inferred.graph.nodes) {
    for (const format::Attribute& attribute : node.attributes) {
      if (!attribute.graphs.empty()) return false;  // what a body computes is not in the list
    }
    for (const std::string& name : node.outputs) {
      const format::ValueInfo* const value = inferred.graph.FindValue(name);
      if (name.empty()) continue;
      if (value == nullptr || !value->type || !value->type->shape) return false;
      const auto dims = format::FixedDims(*value->type->shape);
      if (!dims || !IsSmall(*dims)) return false;
    }
  }
  return true;
}

// Bytes of a pattern for each input that the model asks for; nullopt where one is not known.
std::optional<std::vector<Tensor>> Inputs(const format::Model& model) {
  std::vector<Tensor> inputs;
  for (const format::ValueInfo& value : model.graph.inputs) {
    if (model.graph.FindInitializer(value.name) != nullptr) continue;
    if (!value.type || !value.type->shape) return std::nullopt;
    const auto dims = format::FixedDims(*value.type->shape);
    if (!dims || !IsSmall(*dims)) return std::nullopt;
    const bool is_quantized = value.type->quantization && IsQuantized(value.type->elem_type);
    auto tensor = format::MakeTensor(
        is_quantized ? format::ElementType::kFloat : value.type->elem_type, *dims);
    if (!tensor.has_value()) return std::nullopt;
    for (std::size_t i = 0; i < tensor->bytes.size(); ++i)
      tensor->bytes[i] = static_cast<std::byte>(is_quantized ? (i % 4 < 2    ? 0
                                                                : i % 4 == 2 ? 128
                                                                             : 63)
                                                             : i % 2);
    if (is_quantized) {
      auto stored = reference::QuantizeInput(*tensor, *value.type);
      if (!stored.has_value()) return std::nullopt;
      tensor = *std::move(stored);
    }
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

// The x86 backend conforms to `exact`: integers are those of the reference.
void CheckSame(const format::Model& model, std::span<const Tensor> expected,
               std::span<const Tensor> found) {
  if (expected.size() != found.size()) Stop("x86 gives another number of outputs");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!format::IsQuantized(expected[i].elem_type) || expected[i] == found[i]) continue;
    Stop("x86 differs from the reference in output " + model.graph.outputs[i].name);
  }
}

void RunModel(std::string_view, const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (!Answered(model) || !format::CheckFirst(*model).has_value() || !IsSmall(*model)) return;
  const auto inputs = Inputs(*model);
  if (!inputs) return;
  auto interpreter = reference::Interpreter::Prepare(*model);
  if (!Answered(interpreter)) return;
  const auto expected = interpreter->Run(*inputs);
  Answered(expected);
  const auto prepared = X86().Prepare(*model, "exact");
  if (!Answered(prepared)) return;
  const auto found = (*prepared)->Run(*inputs);
  if (Answered(found) && expected.has_value()) CheckSame(*model, *expected, *found);
}

constexpr std::array kTargets = {
    Target{"requests", &Requests, Form::kFrames},
    Target{"responses", &Responses, Form::kFrames},
    Target{"run_model", &RunModel, Form::kProtobuf},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace qtx::fuzz
