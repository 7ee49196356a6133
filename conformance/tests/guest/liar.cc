// A backend for the tests of the protocol, with a loop of its own instead of backend/serve.h: it
// answers each model with its first input, as is right of Identity, of CastLike to the same type
// and of Reshape to the same shape, and breaks the one rule that its argument names.
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "qtx/backend/protocol.h"
#include "qtx/format/model.h"

namespace {

using namespace qtx::backend;  // NOLINT(google-build-using-namespace): most of its names
using qtx::Error;
using qtx::ErrorCode;
using qtx::format::Tensor;
namespace format = qtx::format;

class Liar {
 public:
  explicit Liar(std::string_view lie) : lie_(lie) {}

  Response operator()(const DescribeRequest&) {
    Description description{"liar", "1", {"exact"}, "test"};
    if (lie_ == "no_such_arithmetic") description.arithmetics.emplace_back("exactly");
    ++described_;
    if (lie_ == "describe_changes") description.version = std::to_string(described_);
    if (lie_ == "describe_counts_models") description.version = std::to_string(handles_.size());
    return description;
  }

  Response operator()(const PrepareRequest& request) {
    const auto model = qtx::format::Model::Parse(request.model);
    const bool is_cut_off = !model && request.model.size() > sizeof("not a model");
    if (!model && lie_ != "any_model" && !(is_cut_off && lie_ == "cut_off_model") &&
        !TakesBroken(request.model)) {
      return Refusal("model");
    }
    latest_model_ = request.model;
    if (!Takes(request.arithmetic)) {
      return Error{ErrorCode::kUnsupported, "arithmetic", "only exact"};
    }
    if (lie_ == "silent_decline") return Error{ErrorCode::kUnsupported, "", ""};
    if (lie_ == "refusal_by_io") return Error{ErrorCode::kIo, "model", "no"};
    if (lie_ == "decline_without_place") return Error{ErrorCode::kUnsupported, "", "not today"};
    if (lie_ == "one_model" && !handles_.empty()) return Refusal("a second model");
    if (lie_ == "two_models" && handles_.size() == 2) return Refusal("a third model");
    if (lie_ == "one_time" && last_ > 0 && handles_.empty()) {
      return Error{ErrorCode::kUnsupported, "model", "no more"};
    }
    const std::uint64_t handle = NewHandle();
    handles_.insert(handle);
    if (model) declared_[handle] = InputsOf(model->graph);
    latest_ = handle;
    return PrepareResponse{handle};
  }

  Response operator()(const RunRequest& request) {
    if (!Knows(request)) return Refusal("handle");
    const std::vector<format::ValueInfo>& declared = DeclaredOf(request.handle);
    if (request.inputs.size() != declared.size() && lie_ != "any_count") return Refusal("inputs");
    if (request.inputs.empty()) return RunResponse{};
    const std::size_t checked = lie_ == "first_input" ? 1 : declared.size();
    for (std::size_t i = 0; i < std::min(checked, request.inputs.size()); ++i) {
      if (const auto error = FaultOf(request.inputs[i], *declared[i].type)) return *error;
    }
    ++runs_;
    RunResponse response = Outputs(request);
    if (lie_ == "leaks") kept_.push_back(std::make_unique_for_overwrite<char[]>(1 << 20));
    return request.repetitions == 0 ? response : Timed(std::move(response), request.repetitions);
  }

  Response operator()(const ReleaseRequest& request) {
    if (lie_ == "releases_what_ran" && !before_.contains(request.handle)) return Refusal("handle");
    const bool known = lie_ == "never_releases" ? handles_.contains(request.handle)
                                                : handles_.erase(request.handle) != 0;
    if (!known && lie_ != "any_release") return Refusal("handle");
    if (lie_ == "releases_all") handles_.clear();
    return ReleaseResponse{};
  }

  std::size_t models() const { return handles_.size(); }
  bool described() const { return described_ > 0; }

  Response Answer(const std::string& frame) {
    const auto request = DecodeRequest(frame);
    refused_ = refused_ || (!request && !handles_.empty());
    if (lie_ == "dies_after_2000_requests" && ++requests_ > 2000) std::_Exit(0);
    return request ? std::visit(*this, *request) : ToBroken(request.error());
  }

 private:
  // The answer to a request that cannot be read.
  Response ToBroken(const Error& error) {
    const bool tensor = error.where.find("inputs") != std::string::npos;
    if (lie_ == "refusal_of_other_code" && !tensor) return Refusal("frame");
    if (lie_ == "unchecked_tensor" && tensor) return RunResponse{};
    if (lie_ == "no_type" && error.Text().find("unknown code") != std::string::npos) {
      return Refusal("type");
    }
    struct Unnoticed {
      std::string_view lie, text;
    };
    for (const auto& [lie, text] :
         {Unnoticed{"short_tensor", "found 2 bytes"}, Unnoticed{"infinite_scale", "not finite"},
          Unnoticed{"any_number_of_scales", "found 3 values"}, Unnoticed{"no_parameters", "absent"},
          Unnoticed{"parameters_of_reals", "present on"}, Unnoticed{"product_of_dims", "elements"},
          Unnoticed{"unused_bits", "unused high bits"}}) {
      if (lie_ == lie && error.Text().find(text) != std::string::npos) return RunResponse{};
    }
    if (lie_ == "forgets_after_no_request" && !tensor) handles_.clear();
    if (lie_ == "exits_after_error") std::_Exit(0);
    return error;
  }

  bool Knows(const RunRequest& request) const {
    const std::uint64_t handle = request.handle;
    if (handles_.contains(handle) || lie_ == "any_handle") return true;
    if (lie_ == "handle_of_zero") return handle == 0;
    if (lie_ == "handle_after_last") return handle == last_ + 1;
    if (lie_ == "handle_of_16_bits") return handles_.contains(handle & 0xFFFF);
    if (lie_ == "any_handle_timed") return request.repetitions > 0;
    return lie_ == "last_handle_stays" && handles_.empty();
  }

  static std::vector<format::ValueInfo> InputsOf(const format::Graph& graph) {
    std::vector<format::ValueInfo> inputs = graph.inputs;
    std::erase_if(inputs, [&](auto& info) { return graph.FindInitializer(info.name) != nullptr; });
    return inputs;
  }
  const std::vector<format::ValueInfo>& DeclaredOf(std::uint64_t handle) {
    const auto found = declared_.find(lie_ == "latest_model" ? latest_ : handle);
    return found == declared_.end() ? declared_.rbegin()->second : found->second;
  }

  bool TakesBroken(const std::string& model) const {
    if (lie_ == "cut_off_latest") {
      return latest_model_.size() == model.size() + 1 && latest_model_.starts_with(model);
    }
    return lie_ == "byte_after_model" && !model.empty() &&
           format::Model::Parse(model.substr(0, model.size() - 1)).has_value();
  }

  std::optional<Error> FaultOf(const Tensor& input, const format::TensorType& type) const {
    const bool is_real = type.quantization && input.elem_type == format::ElementType::kFloat;
    if (is_real && lie_ == "half_away") return std::nullopt;
    if (is_real && lie_ != "refuses_reals") {
      return Error{ErrorCode::kUnsupported, "inputs", "reals"};
    }
    if (!TakesType(input.elem_type, type.elem_type)) return Refusal("type");
    if (input.dims.size() != type.shape->size() && lie_ != "any_shape") return Refusal("shape");
    const bool any_size = lie_ == "any_shape" || lie_ == "any_size";
    if (input.dims != format::FixedDims(*type.shape) && !any_size) return Refusal("size");
    if (!input.quantization) return std::nullopt;
    const format::Quantization& given = *input.quantization;
    if (!TakesScale(given.scale, type.quantization->scale)) return Refusal("scale");
    const bool is_elsewhere = given.axis != type.quantization->axis;
    if (is_elsewhere && lie_ != "any_axis") return Refusal("axis");
    if (given.offset != type.quantization->offset && lie_ != "any_offset") return Refusal("offset");
    return std::nullopt;
  }
  bool TakesType(format::ElementType given, format::ElementType declared) const {
    if (lie_ == "stored_type" && given == format::StorageOf(declared)) return true;
    if (lie_ == "sign_of_type" && given == format::ElementType::kUint8Q) return true;
    return given == declared || lie_ == "any_type";
  }
  bool TakesScale(const std::vector<float>& given, const std::vector<float>& declared) const {
    if (lie_ == "scale_by_tolerance") return std::abs(given[0] - declared[0]) < declared[0] / 1000;
    return given == declared || lie_ == "any_scale";
  }

  // The real as an integer, ties away from zero.
  static Tensor HalfAway(const Tensor& reals, const format::TensorType& type) {
    Tensor stored = *format::MakeTensor(type.elem_type, reals.dims, type.quantization);
    for (std::size_t i = 0; i < stored.bytes.size(); ++i) {
      const float steps = std::round(reals.As<float>()[i] / type.quantization->scale[0]);
      stored.As<std::int8_t>()[i] = static_cast<std::int8_t>(steps);
    }
    return stored;
  }

  RunResponse Outputs(const RunRequest& request) {
    const Tensor& input = request.inputs[0];
    RunResponse response{{input}, {}};
    const format::TensorType& type = *DeclaredOf(request.handle)[0].type;
    const bool is_real = type.quantization && input.elem_type == format::ElementType::kFloat;
    if (is_real && lie_ == "half_away") response.outputs[0] = HalfAway(input, type);
    const auto now = std::chrono::steady_clock::now();
    const bool is_late = now - std::exchange(asked_, now) > std::chrono::milliseconds(500);
    const bool is_wrong = (lie_ == "wrong_after_1000_runs" && runs_ > 1000) ||
                          (lie_ == "wrong_after_300_handles" && last_ > 300) ||
                          (lie_ == "wrong_each_500th_run" && runs_ % 500 == 0) ||
                          (lie_ == "wrong_after_an_error" && refused_) ||
                          (lie_ == "wrong_when_measured" && request.repetitions > 0) ||
                          (lie_ == "wrong_with_four" && handles_.size() > 3) ||
                          (lie_ == "wrong_with_sixteen" && handles_.size() > 15) ||
                          (lie_ == "wrong_with_three_models" && DifferentModels() > 2) ||
                          (lie_ == "wrong_after_a_pause" && is_late) ||
                          (lie_ == "wrong_after_one_of_its_operator" && FollowsItsLike(request)) ||
                          (lie_ == "wrong_when_repeated" && input.bytes == before_[request.handle]);
    if (is_wrong) response.outputs[0].bytes[0] ^= std::byte{1};
    if (lie_ == "wrong_after_describe" && described_ > 1) {
      response.outputs[0].bytes[0] ^= std::byte{static_cast<unsigned char>(described_)};
    }
    if (lie_ == "seconds_unasked") response.seconds = {0.5};
    before_[request.handle] = input.bytes;
    return response;
  }
  // True of a later run that follows one of a model which differs by its sizes alone, as only
  // those of one operator do in the tests.
  bool FollowsItsLike(const RunRequest& request) {
    const std::uint64_t former = std::exchange(former_, request.handle);
    if (!declared_.contains(former) || !before_.contains(request.handle)) return false;
    const format::TensorType one = *DeclaredOf(former)[0].type;
    const format::TensorType& other = *DeclaredOf(request.handle)[0].type;
    if (one.shape == other.shape || one.elem_type != other.elem_type) return false;
    return one.quantization && one.quantization->axis == other.quantization->axis;
  }
  // By their first inputs, of which those of the tests differ.
  std::size_t DifferentModels() const {
    std::set<format::ElementType> types;
    for (const std::uint64_t handle : handles_) {
      types.insert(declared_.at(handle)[0].type->elem_type);
    }
    return types.size();
  }
  Response Timed(RunResponse response, std::uint32_t repetitions) const {
    if (lie_ == "at_most_eight_seconds") repetitions = std::min(repetitions, 8U);
    response.seconds.assign(repetitions, lie_ == "long_seconds" ? 100 : 1e-9);
    if (lie_ == "seconds_missing") response.seconds.pop_back();
    if (lie_ == "neither_seconds_nor_outputs") return RunResponse{};
    return response;
  }

  bool Takes(std::string_view arithmetic) const {
    if (lie_ == "start_of_an_arithmetic") return arithmetic.starts_with("exact");
    if (lie_ == "no_arithmetic" && arithmetic.empty()) return true;
    if (lie_ == "arithmetic_in_capitals" && arithmetic == "EXACT") return true;
    if (lie_ == "arithmetic_to_nul" && arithmetic.substr(0, 5) == "exact") {
      return arithmetic.size() < 6 || arithmetic[5] == 0;
    }
    if (lie_ == "other_arithmetics" && arithmetic == "float32") return true;
    return arithmetic == "exact" || lie_ == "any_arithmetic";
  }
  std::uint64_t NewHandle() {
    ++last_;
    if (lie_ == "counts_handles") return handles_.size() + 1;
    return lie_ == "same_handle" ? 1 : last_;
  }
  static Error Refusal(std::string where) { return {ErrorCode::kInvalid, std::move(where), "no"}; }

  std::string_view lie_;
  std::set<std::uint64_t> handles_;
  std::uint64_t last_ = 0;
  int described_ = 0;
  int runs_ = 0;
  int requests_ = 0;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  std::map<std::uint64_t, std::vector<std::byte>> before_;  // what a handle was last asked
  std::vector<std::unique_ptr<char[]>> kept_;
  bool refused_ = false;
  std::map<std::uint64_t, std::vector<format::ValueInfo>> declared_;  // inputs, by handle
  std::uint64_t latest_ = 0;
  std::uint64_t former_ = 0;  // handle
  std::string latest_model_;
};

// Bytes of a Response that no Encode makes: an Error of code 77.
constexpr std::string_view kErrorOfNoCode("\x0a\x02\x08\x4d", 4);

int AtEnd(std::string_view lie, const Liar& liar) {
  if (lie == "status_with_models" && liar.models() > 0) return 3;
  if (lie == "status_unasked" && !liar.described()) return 3;
  if (lie == "late_exit") std::this_thread::sleep_for(std::chrono::hours(1));
  if (lie == "killed_at_end") std::raise(SIGKILL);
  if (lie == "speaks_at_end") (void)WriteFrame(STDOUT_FILENO, Encode(Response(ReleaseResponse{})));
  return lie == "status_at_end" ? 3 : 0;
}

// The last answer to a run, given once more where one is due.
struct Earlier {
  std::string Put(const std::string& answer) {
    std::string given = is_due && !last.empty() ? last : answer;
    is_due = false;
    last = answer;
    return given;
  }
  std::string last;
  bool is_due = false;
};

// The bytes that have come once any has; 0 at the end.
int BytesReady() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  int ready = 0;
  poll(&input, 1, -1);
  return ioctl(STDIN_FILENO, FIONREAD, &ready) == 0 ? ready : 0;
}

std::string Frame(const Response& response, std::string_view lie, Earlier& earlier) {
  std::string answer = Encode(response);
  if (lie == "earlier_answer_after_error") {
    if (std::holds_alternative<RunResponse>(response)) answer = earlier.Put(answer);
    if (std::holds_alternative<Error>(response)) earlier.is_due = true;
  }
  if (lie == "error_of_no_code" && answer.starts_with('\x0a')) return std::string(kErrorOfNoCode);
  return answer;
}

int BytesReadyFor(std::string_view lie) {
  return lie == "reads_once" || lie == "shortest_length" ? BytesReady() : 0;
}

// A frame that came in pieces; a length of five bytes.
bool IsTooMuchFor(std::string_view lie, int ready, std::ptrdiff_t size) {
  if (lie == "shortest_length") return ready == size + 5;
  return lie == "reads_once" && ready <= size;
}

int Serve(std::string_view lie) {
  Liar liar(lie);
  Earlier earlier;
  while (true) {
    const int ready = BytesReadyFor(lie);
    const auto frame = ReadFrame(STDIN_FILENO);
    if (!frame) return lie == "status_of_bad_length" ? 0 : 3;
    if (!*frame) return AtEnd(lie, liar);
    if (IsTooMuchFor(lie, ready, std::ssize(**frame))) return 5;
    const Response response = liar.Answer(**frame);
    const std::string answer = Frame(response, lie, earlier);
    if (!WriteFrame(STDOUT_FILENO, answer)) return 4;
    if (lie == "answers_twice") (void)WriteFrame(STDOUT_FILENO, answer);
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (lie == "heartbeat" && poll(&input, 1, 500) == 0) {
      (void)WriteFrame(STDOUT_FILENO, Encode(Response(ReleaseResponse{})));
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return Serve(argc > 1 ? argv[1] : ""); }
