#include "probe_inputs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

// One more element along the first axis, all stored 0.
Tensor Longer(const Tensor& tensor) {
  format::Dims dims = tensor.dims;
  ++dims.front();
  return *format::MakeTensor(tensor.elem_type, dims, tensor.quantization);
}

// The first two dims that differ change places; false where all are equal.
bool Transpose(format::Dims& dims) {
  const auto other = std::ranges::adjacent_find(dims, std::not_equal_to());
  if (other == dims.end()) return false;
  std::iter_swap(other, other + 1);
  return true;
}

// The type of as many bits whose stored values have a sign or have none; the type itself without.
ElementType OtherSign(ElementType type) {
  constexpr std::pair<ElementType, ElementType> kPairs[] = {
      {ElementType::kInt8Q, ElementType::kUint8Q},
      {ElementType::kInt16Q, ElementType::kUint16Q},
      {ElementType::kInt4Q, ElementType::kUint4Q}};
  for (const auto& [one, other] : kPairs) {
    if (type == one || type == other) return type == one ? other : one;
  }
  return type;
}

// Whether the model declares all sizes of its input `i`, and parameters do not lie along an axis.
bool IsLongerRefused(const ProbeSubject& subject, std::size_t i) {
  const auto model = format::Model::Parse(subject.model);
  const Tensor& input = subject.inputs[i];
  const bool per_axis = input.quantization && !input.quantization->axis.empty();
  if (!model || input.dims.empty() || per_axis) return false;
  for (const format::ValueInfo& info : model->graph.inputs) {
    if (model->graph.FindInitializer(info.name) != nullptr) continue;
    if (i-- == 0) return info.type && info.type->shape && format::FixedDims(*info.type->shape);
  }
  return false;
}

// Changes of one input of a run.
class OtherInputs {
 public:
  OtherInputs(Conversation& conversation, std::uint64_t handle, const ProbeSubject& subject,
              std::size_t input)
      : conversation_(conversation), handle_(handle), subject_(subject), input_(input) {}

  void Ask() {
    AskMalformed();
    AskUnfit();
    if (own().quantization) AskOtherParameters();
  }

 private:
  using Change = std::function<void(Tensor&)>;

  const Tensor& own() const { return subject_.inputs[input_]; }

  void Refused(std::string_view clause, const std::string& what, ErrorCode code,
               const Change& change) {
    std::vector<Tensor> inputs = subject_.inputs;
    change(inputs[input_]);
    std::string place = "Run with " + what;
    if (input_ > 0) place += " in input " + std::to_string(input_);
    conversation_.ExpectRefusal(clause, place, backend::RunRequest{handle_, inputs}, {code});
    conversation_.ExpectRefusal(clause, place + ", and repetitions",
                                backend::RunRequest{handle_, std::move(inputs), 2}, {code});
  }

  // Tensors that fit no model.
  void AskMalformed() {
    const auto refused = [this](const std::string& what, const Change& change) {
      Refused("S14", what, ErrorCode::kProtocol, change);
    };
    refused("a byte too many", [](Tensor& input) { input.bytes.emplace_back(); });
    if (!own().bytes.empty()) {
      refused("a byte too few", [](Tensor& input) { input.bytes.pop_back(); });
    }
    refused("an element type that there is not",
            [](Tensor& input) { input.elem_type = static_cast<ElementType>(999); });
    refused("negative dims", [](Tensor& input) { input.dims.assign(1, -1); });
    refused("dims of 2^64 elements without a byte", [](Tensor& input) {
      input.dims.assign(2, std::int64_t{1} << 32);
      input.bytes.clear();
    });
    const std::int64_t bits = format::ElementCount(own()) * format::BitWidth(own().elem_type);
    if (bits % 8 != 0) {
      refused("an unused bit set", [](Tensor& input) { input.bytes.back() |= std::byte{0x80}; });
    }
    if (own().quantization) return AskMalformedParameters(refused);
    refused("parameters of a type that has none", [](Tensor& input) {
      input.quantization.emplace();
      input.quantization->scale = {1.0F};
    });
  }

  void AskMalformedParameters(
      const std::function<void(const std::string&, const Change&)>& refused) {
    refused("an input without its parameters", [](Tensor& input) { input.quantization.reset(); });
    if (own().quantization->scale.empty()) return;
    refused("an infinite scale", [](Tensor& input) {
      input.quantization->scale.front() = std::numeric_limits<float>::infinity();
    });
    refused("more scales than it has places for", [](Tensor& input) {
      auto& scale = input.quantization->scale;
      scale.insert(scale.end(), 2, scale.front());
    });
  }

  // Tensors that do not fit this model.
  void AskUnfit() {
    const auto refused = [this](const std::string& what, const Change& change) {
      Refused("S13", what, ErrorCode::kInvalid, change);
    };
    refused("another shape", [](Tensor& input) { input.dims.push_back(1); });
    refused("another type", [](Tensor& input) {
      const bool is_long = input.elem_type == ElementType::kInt64;
      input = *format::MakeTensor(is_long ? ElementType::kInt32 : ElementType::kInt64, input.dims);
    });
    if (IsLongerRefused(subject_, input_)) {
      refused("another size", [](Tensor& input) { input = Longer(input); });
      format::Dims dims = own().dims;
      if (Transpose(dims)) {
        refused("other sizes of as many elements", [&](Tensor& input) { input.dims = dims; });
      }
    }
  }

  void AskOtherParameters() {
    const auto refused = [this](const std::string& what, const Change& change) {
      Refused("S13", what, ErrorCode::kInvalid, change);
    };
    refused("the type of what it stores", [](Tensor& input) {
      input.elem_type = format::StorageOf(input.elem_type);
      input.quantization.reset();
    });
    if (own().quantization->scale.empty()) return;
    refused("another scale", [](Tensor& input) {
      float& scale = input.quantization->scale.front();
      scale *= scale < 1 ? 2.0F : 0.5F;
    });
    refused("a last scale that is the next binary32", [](Tensor& input) {
      float& scale = input.quantization->scale.back();
      scale = std::nextafter(scale, 1.0F + scale);
    });
    if (!own().quantization->axis.empty() && own().quantization->scale.size() > 1) {
      refused("the first scale everywhere", [](Tensor& input) {
        auto& q = *input.quantization;
        q.axis.clear();
        q.block_shape.clear();
        q.scale.resize(1);
        q.offset.resize(std::min<std::size_t>(1, q.offset.size()));
      });
    }
    if (const auto moved = MovedParameters(own())) {
      refused("the same parameters along other axes or of other blocks",
              [&](Tensor& input) { input.quantization = moved; });
    }
    if (!format::IsIntegerStorage(own().elem_type)) return;
    refused("another offset", [](Tensor& input) {
      auto& q = *input.quantization;
      q.offset.resize(q.scale.size());
      q.offset.front() += q.offset.front() > 0 ? -1 : 1;
    });
    const ElementType other = OtherSign(own().elem_type);
    const bool has_range = own().quantization->quant_min || own().quantization->quant_max;
    const auto& offset = own().quantization->offset;
    const bool fits = std::ranges::all_of(offset, [other](std::int32_t one) {
      const format::IntegerRange range = format::StoredRange(other, {});
      return one >= range.min && one <= range.max;
    });
    if (other != own().elem_type && !has_range && fits) {
      refused("a type of another sign", [other](Tensor& input) { input.elem_type = other; });
    }
  }

  Conversation& conversation_;
  std::uint64_t handle_;
  const ProbeSubject& subject_;
  std::size_t input_;
};

// A real that becomes so many steps: a tie for an even number, where one is asked for and exact.
float RealOf(std::int32_t steps, float scale, bool is_tie) {
  const double tie = double{scale} * (steps + (steps < 0 ? -0.5 : 0.5));
  const auto rounded = static_cast<float>(tie);
  if (is_tie && steps % 2 == 0 && double{rounded} == tie) return rounded;
  return scale * static_cast<float>(steps);
}

// The reals of 8-bit inputs of one scale and of the whole range: in binary32 they are within 2^-16
// of a step of their stored integers, which they become again (quantization.S5). Where `has_ties`,
// those of even integers are ties that go to them, where binary32 can say so.
std::vector<Tensor> WithReals(std::vector<Tensor> inputs, bool has_ties) {
  for (Tensor& input : inputs) {
    const bool is_byte =
        input.elem_type == ElementType::kInt8Q || input.elem_type == ElementType::kUint8Q;
    if (!is_byte || input.quantization->scale.size() != 1) continue;
    const format::Quantization& q = *input.quantization;
    const bool is_narrowed = q.quant_min.has_value() || q.quant_max.has_value();
    if (is_narrowed || !(q.scale.front() > 0x1p-60F && q.scale.front() < 0x1p60F)) continue;
    auto reals = format::MakeTensor(ElementType::kFloat, input.dims);
    if (!reals) continue;
    const std::vector<std::int32_t> stored = format::UnpackInt32(input);
    const std::int32_t offset = q.offset.empty() ? 0 : q.offset.front();
    for (std::size_t i = 0; i < stored.size(); ++i) {
      reals->As<float>()[i] = RealOf(stored[i] - offset, q.scale.front(), has_ties);
    }
    input = *std::move(reals);
  }
  return inputs;
}

// A backend may decline them.
void AskReals(Conversation& conversation, std::uint64_t handle, const ProbeSubject& subject) {
  std::vector<Tensor> reals = WithReals(subject.inputs, subject.arithmetic == "exact");
  if (reals == subject.inputs) return;
  const auto stored = conversation.Expect<backend::RunResponse>(
      "S9", "Run", backend::RunRequest{handle, subject.inputs});
  constexpr std::string_view kWhat = "Run with reals for quantized inputs";
  const auto answer = conversation.AskFrame(
      "S13", kWhat, backend::Encode(backend::RunRequest{handle, std::move(reals)}));
  if (!stored || !answer) return;
  const auto* error = std::get_if<Error>(&*answer);
  if (error != nullptr && error->code == ErrorCode::kUnsupported) return;
  const auto* given = std::get_if<backend::RunResponse>(&*answer);
  if (given == nullptr) {
    conversation.Add("S13", kWhat, "found " + KindText(*answer) + ", expected Run");
  } else if (stored->outputs != given->outputs) {
    conversation.Add("S13", kWhat,
                     "found another answer than to what they are stored as, expected the same");
  }
}

}  // namespace

std::optional<format::Quantization> MovedParameters(const Tensor& tensor) {
  if (!tensor.quantization || tensor.quantization->axis.empty()) return std::nullopt;
  const format::Quantization& own = *tensor.quantization;
  std::vector<format::Quantization> others(1, own);
  std::ranges::reverse(others[0].block_shape);
  for (std::int64_t axis = 0; axis < std::ssize(tensor.dims) && own.axis.size() == 1; ++axis) {
    others.push_back(own);
    others.back().axis = {axis};
  }
  for (const format::Quantization& other : others) {
    if (other == own) continue;
    const auto dims = format::ParameterDims(other, tensor.dims);
    if (dims && format::ElementCount(*dims) == std::ssize(own.scale)) return other;
  }
  return std::nullopt;
}

void AskOtherInputs(Conversation& conversation, std::uint64_t handle, const ProbeSubject& subject) {
  std::vector<Tensor> inputs = subject.inputs;
  inputs.push_back(inputs.front());
  conversation.ExpectRefusal("S9", "Run with an input too many",
                             backend::RunRequest{handle, inputs}, {ErrorCode::kInvalid});
  inputs.resize(subject.inputs.size() - 1);
  conversation.ExpectRefusal("S9", "Run with an input too few", backend::RunRequest{handle, inputs},
                             {ErrorCode::kInvalid});
  for (std::size_t i = 0; i < subject.inputs.size(); ++i) {
    OtherInputs(conversation, handle, subject, i).Ask();
  }
  AskReals(conversation, handle, subject);
}

}  // namespace qtx::conformance
