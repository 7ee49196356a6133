#include "engine/ops/strided_move.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/ops/conversion.h"
#include "engine/ops/types.h"
#include "engine/transpose.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::Tensor;

struct MovedInput {
  const Buffer* buffer = nullptr;
  std::optional<Converter> converter;  // nullopt: elements are copied
  const Buffer* converted = nullptr;   // scratch, if there is a converter
};

class StridedMove : public Step {
 public:
  struct Part {
    std::size_t source;
    std::int64_t first_from, first_to;
    StridedCopy copy;
  };

  StridedMove(std::vector<MovedInput> sources, const Buffer* y, std::vector<std::byte> padding)
      : sources_(std::move(sources)), y_(y), padding_(std::move(padding)) {
    size_ = static_cast<std::size_t>(format::BitWidth(y->type.elem_type) / 8);
  }
  void Add(const MovedPart& part) {
    parts_.push_back({part.input, part.first_from, part.first_to, {part.dims, part.from, part.to}});
  }

  std::string_view Path() const override { return "strided move"; }

  Result<void> Run() override {
    for (const MovedInput& source : sources_) {
      if (!source.converter.has_value()) continue;
      source.converter->Run(Elements(*source.buffer), Elements(*source.converted));
    }
    if (!padding_.empty()) Fill();
    for (const Part& part : parts_) {
      const MovedInput& source = sources_[part.source];
      const Buffer* from = source.converter.has_value() ? source.converted : source.buffer;
      part.copy.Run(from->data + part.first_from * static_cast<std::int64_t>(size_),
                    y_->data + part.first_to * static_cast<std::int64_t>(size_), size_);
    }
    return {};
  }

 private:
  static std::span<std::byte> Elements(const Buffer& buffer) {
    return {buffer.data, static_cast<std::size_t>(buffer.size)};
  }

  void Fill() const {
    if (size_ == 1) {
      std::fill_n(y_->data, y_->size, padding_[0]);
      return;
    }
    for (std::byte* to = y_->data; to < y_->data + y_->size;)
      to = std::ranges::copy(padding_, to).out;
  }

  std::vector<MovedInput> sources_;
  const Buffer* y_;
  std::vector<std::byte> padding_;
  std::vector<Part> parts_;
  std::size_t size_ = 1;
};

bool HasWholeBytes(format::ElementType type) {
  return type == format::ElementType::kBool ||
         ((IsPlainNumeric(type) || IsRealOutput(type)) && format::BitWidth(type) % 8 == 0);
}

bool IsPerAxis(const Tensor& type) {
  return type.quantization.has_value() && !type.quantization->axis.empty();
}

// How elements of a buffer of `from` become those of a buffer of `to`: nullopt for a copy.
Result<std::optional<Converter>> ConverterOf(const NodePlan& node, const Tensor& from,
                                             const Tensor& to) {
  if (IsPerAxis(to) || !HasWholeBytes(from.elem_type) || !HasWholeBytes(to.elem_type)) {
    return node.Unsupported("elements that are no bytes of one scale");
  }
  const Tensor here{
      .elem_type = to.elem_type, .dims = from.dims, .quantization = to.quantization, .bytes = {}};
  const ChangeRule rule = RuleFor(node.arithmetic(), Purpose::kMove, from, here);
  QTX_ASSIGN_OR_RETURN(const Converter declared, Converter::Make(from, here, {}, rule));
  if (declared.copies()) return std::optional<Converter>();
  const bool is_signed = node.kernels().signed_bytes;
  QTX_ASSIGN_OR_RETURN(Converter converter, Converter::Make(BufferType(from, is_signed),
                                                            BufferType(here, is_signed), {}, rule));
  if (converter.copies()) return std::optional<Converter>();
  return std::optional(std::move(converter));
}

// The bytes of `padding` in the buffer of type `buffer`, which belongs to values of type `to`.
Result<std::vector<std::byte>> PaddingBytes(const NodePlan& node, const Value* padding,
                                            const Tensor& to, const Tensor& buffer) {
  if (padding == nullptr) return std::vector<std::byte>();
  if (!padding->constant) return node.Unsupported("padding that the model computes");
  const Tensor one{.elem_type = to.elem_type,
                   .dims = padding->tensor.dims,
                   .quantization = to.quantization,
                   .bytes = {}};
  const ChangeRule rule = RuleFor(node.arithmetic(), Purpose::kMove, padding->tensor, one);
  QTX_ASSIGN_OR_RETURN(const Converter converter, Converter::Make(padding->tensor, one, {}, rule));
  std::vector<std::byte> bytes(static_cast<std::size_t>(format::BitWidth(to.elem_type) / 8));
  converter.Run(padding->tensor.bytes, bytes);
  if (buffer.elem_type != to.elem_type) bytes[0] ^= std::byte{0x80};
  return bytes;
}

}  // namespace

StepResult PrepareStridedMove(const NodePlan& node, const Movement& movement) {
  const std::size_t output = movement.output_of_several.value_or(0);
  QTX_ASSIGN_OR_RETURN(const Tensor* first, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const Tensor y_type, movement.output_of_several.has_value()
                                                ? node.OutputTypeAt(output, movement.dims, *first)
                                                : node.OutputType(movement.dims));
  std::vector<MovedInput> sources(movement.inputs);
  Layout layout = node.LayoutOf(0);
  for (std::size_t i = 0; i < movement.inputs; ++i) {
    QTX_ASSIGN_OR_RETURN(const Tensor* x, node.TypeOf(i));
    auto converter = ConverterOf(node, *x, y_type);
    if (!converter.has_value()) return node.Unsupported(converter.error().Text());
    sources[i].converter = *std::move(converter);
    if (IsPerAxis(*x)) layout = Layout::kRowMajor;  // a converter counts elements in this order
  }
  auto padding =
      PaddingBytes(node, movement.padding, y_type, BufferType(y_type, node.kernels().signed_bytes));
  if (!padding.has_value()) return node.Unsupported(padding.error().Text());
  std::vector<Dims> strides;
  for (std::size_t i = 0; i < movement.inputs; ++i) {
    QTX_ASSIGN_OR_RETURN(Buffer * x, node.InputBuffer(i, layout));
    sources[i].buffer = x;
    strides.push_back(StridesOf(x->type.dims, x->layout));
    if (!sources[i].converter.has_value()) continue;
    const std::int64_t bits = format::BitWidth(y_type.elem_type);
    QTX_ASSIGN_OR_RETURN(sources[i].converted,
                         node.Scratch(format::ElementCount(x->type) * bits / 8));
  }
  QTX_ASSIGN_OR_RETURN(Buffer * y,
                       node.OutputBufferAt(output, movement.dims, y_type,
                                           movement.channels_stay ? layout : Layout::kRowMajor));
  auto step = std::make_unique<StridedMove>(std::move(sources), y, *std::move(padding));
  for (const MovedPart& part : movement.parts(strides, StridesOf(movement.dims, y->layout))) {
    step->Add(part);
  }
  return step;
}

}  // namespace qtx::backend::engine
