#include "engine/ops/elementwise.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/conversion.h"
#include "engine/ops/indexing.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

using format::Tensor;

// Bits of all stored values of a table's key together.
constexpr int kMostKeyBits = 16;
constexpr int kEagerKeyBits = 8;

bool IsFixed(const Value* value) {
  return value->constant && format::ElementCount(value->tensor) == 1;
}
int KeyBits(const Value* value) {
  return IsFixed(value) ? 0 : format::BitWidth(value->tensor.elem_type);
}

class Operand {
 public:
  Operand(const Value* value, const format::Dims& to)
      : value_(value),
        reader_(value->tensor),
        key_bits_(KeyBits(value)),
        single_(format::ElementCount(value->tensor) == 1) {
    if (value->tensor.dims != to && !single_) index_ = BroadcastIndex(value->tensor.dims, to);
  }

  std::int64_t Element(std::int64_t i) const {
    if (single_) return 0;
    return index_.empty() ? i : index_[static_cast<std::size_t>(i)];
  }
  Number At(std::int64_t i) const { return reader_(Element(i)); }
  std::uint64_t CodeAt(std::int64_t i) const { return reader_.Code(Element(i)); }
  Number Decode(std::uint64_t code) const { return reader_.Decode(code, 0); }
  /// Bits that it adds to a table's key: none when it is always the same.
  int key_bits() const { return key_bits_; }
  const Tensor& tensor() const { return value_->tensor; }

 private:
  const Value* value_;
  NumberReader reader_;
  int key_bits_;
  bool single_;
  std::vector<std::int64_t> index_;
};

class Elementwise : public Step {
 public:
  Elementwise(const std::vector<const Value*>& inputs, Value* y, ElementFunction function,
              CodeFunction code)
      : y_(y), writer_(y->tensor), function_(std::move(function)), code_(std::move(code)) {
    operands_.reserve(inputs.size());
    for (const Value* input : inputs) operands_.emplace_back(input, y->tensor.dims);
    numbers_.resize(operands_.size());
    if (!FitsTable(inputs, y)) {
      keeps_ = IsFunctionOfFloat(inputs, y);
      return;
    }
    int bits = 0;
    for (const Operand& operand : operands_) bits += operand.key_bits();
    table_.resize(std::size_t{1} << bits);
    known_.resize(table_.size());
    if (bits > kEagerKeyBits) return;
    for (std::size_t key = 0; key < table_.size(); ++key) Learn(key);
    complete_ = true;
  }

  std::string_view Path() const override {
    return IsByteTable() ? "byte table" : table_.empty() ? kGeneralPath : "word table";
  }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(y_->tensor);
    if (IsByteTable()) {
      RunBytes();
    } else if (!table_.empty()) {
      for (std::int64_t i = 0; i < count; ++i) writer_.PutCode(i, Known(KeyAt(i)));
    } else if (keeps_) {
      for (std::int64_t i = 0; i < count; ++i) writer_.PutCode(i, KeptCodeOf(i));
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < operands_.size(); ++k) numbers_[k] = operands_[k].At(i);
        writer_.PutCode(i, CodeOf(i));
      }
    }
    return {};
  }

 private:
  bool IsByteTable() const {
    return complete_ && operands_.size() == 1 && operands_[0].key_bits() == 8 &&
           format::BitWidth(y_->tensor.elem_type) == 8;
  }

  void RunBytes() {
    const std::uint8_t* from = Bytes(operands_[0].tensor());
    std::uint8_t* to = Bytes(y_->tensor);
    for (std::size_t i = 0; i < y_->tensor.bytes.size(); ++i) {
      to[i] = static_cast<std::uint8_t>(table_[from[i]]);
    }
  }

  std::size_t KeyAt(std::int64_t i) const {
    std::size_t key = 0;
    for (const Operand& operand : operands_) {
      if (operand.key_bits() != 0) key = (key << operand.key_bits()) | operand.CodeAt(i);
    }
    return key;
  }

  std::uint32_t Known(std::size_t key) {
    if (known_[key] == 0) Learn(key);
    return table_[key];
  }

  // What is computed from quantized values has few different FLOATs: their codes are kept.
  static constexpr std::size_t kMostKept = std::size_t{1} << 14;

  static bool IsFunctionOfFloat(const std::vector<const Value*>& inputs, const Value* y) {
    const auto computed = std::ranges::count_if(inputs, std::not_fn(IsFixed));
    const auto floats = std::ranges::count_if(
        inputs, [](const Value* value) { return !IsFixed(value) && IsFloat(*value); });
    return computed == 1 && floats == 1 && OneParameter(y->tensor) &&
           format::BitWidth(y->tensor.elem_type) <= 32;
  }

  std::uint32_t KeptCodeOf(std::int64_t i) {
    const auto computed =
        std::ranges::find_if(operands_, [](const Operand& o) { return o.key_bits() != 0; });
    if (kept_.size() >= kMostKept) kept_.clear();
    const auto [found, is_new] = kept_.try_emplace(static_cast<std::uint32_t>(computed->CodeAt(i)));
    if (is_new) {
      for (std::size_t k = 0; k < operands_.size(); ++k) numbers_[k] = operands_[k].At(i);
      found->second = static_cast<std::uint32_t>(CodeOf(i));
    }
    return found->second;
  }

  // Of the numbers at hand, as element `i` of y.
  std::uint64_t CodeOf(std::int64_t i) const {
    return code_ ? code_(numbers_) : writer_.Code(i, function_(numbers_));
  }

  void Learn(std::size_t key) {
    std::size_t rest = key;
    for (std::size_t k = operands_.size(); k-- > 0;) {
      const int bits = operands_[k].key_bits();
      numbers_[k] = bits == 0 ? operands_[k].At(0)
                              : operands_[k].Decode(rest & ((std::size_t{1} << bits) - 1));
      rest >>= bits;
    }
    table_[key] = static_cast<std::uint32_t>(CodeOf(0));
    known_[key] = 1;
  }

  Value* y_;
  NumberWriter writer_;
  ElementFunction function_;
  CodeFunction code_;  // one of the two is set
  std::vector<Operand> operands_;
  std::vector<Number> numbers_;
  std::vector<std::uint32_t> table_;
  std::vector<std::uint8_t> known_;
  bool keeps_ = false;
  std::unordered_map<std::uint32_t, std::uint32_t> kept_;  // by the bits of a FLOAT
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<Step> MakeElementwise(std::vector<const Value*> inputs, Value* y,
                                      ElementFunction function) {
  return std::make_unique<Elementwise>(inputs, y, std::move(function), nullptr);
}

std::unique_ptr<Step> MakeCoding(std::vector<const Value*> inputs, Value* y,
                                 CodeFunction function) {
  return std::make_unique<Elementwise>(inputs, y, nullptr, std::move(function));
}

bool FitsTable(std::span<const Value* const> inputs, const Value* y) {
  int bits = 0;
  for (const Value* input : inputs) {
    if (!OneParameter(input->tensor)) return false;
    bits += KeyBits(input);
    if (bits > kMostKeyBits) return false;
  }
  return OneParameter(y->tensor) && format::BitWidth(y->tensor.elem_type) <= 32;
}

namespace {

// The only input that the model computes, if it is 8-bit and all others are one element: y is a
// function of its bytes then.
std::optional<std::size_t> ByteOf(const NodePlan& node, const format::Dims& dims,
                                  std::size_t count) {
  if (node.arithmetic() != Arithmetic::kExact || !node.EightBitOutput()) return std::nullopt;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < std::min(count, node.node().inputs.size()); ++i) {
    if (!node.HasInput(i)) continue;
    const auto type = node.TypeOf(i);
    if (!type.has_value()) return std::nullopt;
    if (node.IsConstant(i)) {
      if (format::ElementCount(**type) != 1) return std::nullopt;
    } else if (found.has_value() || (*type)->dims != dims || !EightBitInput(node, i).has_value()) {
      return std::nullopt;
    } else {
      found = i;
    }
  }
  return found;
}

constexpr std::int64_t kBytes = 256;

Result<std::unique_ptr<Value>> AllBytes(const format::Tensor& type) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor,
                       format::MakeTensor(type.elem_type, {kBytes}, type.quantization));
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = std::byte(i);
  return std::make_unique<Value>(Value{"", std::move(tensor), false});
}

}  // namespace

bool IsFunctionOfByte(const NodePlan& node, const format::Dims& dims, std::size_t count) {
  return ByteOf(node, dims, count).has_value();
}

Result<ElementwiseOperands> ElementwiseOperands::Of(const NodePlan& node, const format::Dims& dims,
                                                    std::size_t count) {
  ElementwiseOperands operands;
  const auto byte = ByteOf(node, dims, count);
  if (byte.has_value()) {
    operands.input_ = *byte;
    QTX_ASSIGN_OR_RETURN(const Tensor* x, node.TypeOf(*byte));
    QTX_ASSIGN_OR_RETURN(operands.bytes_, AllBytes(*x));
    QTX_ASSIGN_OR_RETURN(const Tensor y, node.OutputType(dims));
    QTX_ASSIGN_OR_RETURN(operands.table_, AllBytes(y));
  }
  for (std::size_t i = 0; i < std::min(count, node.node().inputs.size()); ++i) {
    if (byte == i) {
      operands.inputs_.push_back(operands.bytes_.get());
    } else if (node.HasInput(i)) {
      QTX_ASSIGN_OR_RETURN(const Value* input, node.Input(i));
      operands.inputs_.push_back(input);
    }
  }
  operands.y_ = operands.table_.get();
  if (!byte.has_value()) {
    QTX_ASSIGN_OR_RETURN(operands.y_, node.Output(dims));
  }
  return operands;
}

StepResult ElementwiseOperands::Finish(const NodePlan& node, std::unique_ptr<Step> step) {
  if (table_ == nullptr) return step;
  QTX_RETURN_IF_ERROR(step->Run());
  // From stored bytes to those of buffers.
  const auto flip = [&node](const Tensor& type) {
    return BufferType(type, node.kernels().signed_bytes).elem_type == type.elem_type ? 0 : 0x80;
  };
  const int from = flip(bytes_->tensor);
  const int to = flip(table_->tensor);
  ByteTable table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::uint8_t mapped = Bytes(table_->tensor)[i ^ static_cast<std::size_t>(from)];
    table[i] = static_cast<std::uint8_t>(mapped ^ to);
  }
  return MakeByteMap(node, input_, table);
}

Result<std::vector<const Value*>> AllInputs(const NodePlan& node) {
  std::vector<const Value*> inputs;
  for (std::size_t i = 0; i < node.node().inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const Value* input, node.Input(i));
    inputs.push_back(input);
  }
  return inputs;
}

}  // namespace qtx::backend::engine
