#include "engine/ops/select.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "engine/elements.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

// Equal stored values mean equal reals, per tensor; NaN, infinities and -0 among them.
bool KeepsReals(const Tensor& from, const Tensor& to) {
  if (from.elem_type != to.elem_type) return false;
  if (!format::IsQuantized(from.elem_type)) return true;
  const format::Quantization& a = *from.quantization;
  const format::Quantization& b = *to.quantization;
  const auto zero = [](const format::Quantization& q) {
    return std::ranges::all_of(q.offset, [](std::int32_t o) { return o == 0; });
  };
  return a.axis.empty() && b.axis.empty() && a.scale == b.scale &&
         (a.offset == b.offset || (zero(a) && zero(b)));
}

// True if no stored value of `from` is outside the range of `to`, so that equal parameters mean
// equal stored values.
bool NeedsNoClamp(const Tensor& from, const Tensor& to) {
  if (!format::IsQuantized(to.elem_type) || !format::IsIntegerStorage(to.elem_type)) return true;
  const format::IntegerRange range = format::StoredRange(to.elem_type, *to.quantization);
  return range == format::StorageRange(to.elem_type) ||
         range == format::StoredRange(from.elem_type, *from.quantization);
}

// One input: its elements as y's stored values.
class Source {
 public:
  Source(const Value* from, const Tensor& to)
      : from_(from->tensor),
        reader_(from->tensor),
        count_(format::ElementCount(from->tensor)),
        copies_(KeepsReals(from->tensor, to) && NeedsNoClamp(from->tensor, to)) {
    const int bits = format::BitWidth(from_.elem_type);
    if (!copies_ && bits <= 8 && OneParameter(from_) && OneParameter(to)) {
      table_.resize(std::size_t{1} << bits);
    }
  }

  std::int64_t count() const { return count_; }
  bool copies() const { return copies_; }
  const Tensor& tensor() const { return from_; }

  std::uint64_t Code(std::int64_t from, const NumberWriter& writer, std::int64_t to) {
    const std::uint64_t code = reader_.Code(from);
    if (copies_) return code;
    if (table_.empty()) return writer.Code(to, reader_(from));
    std::optional<std::uint64_t>& known = table_[code];
    if (!known.has_value()) known = writer.Code(to, reader_(from));
    return *known;
  }

 private:
  const Tensor& from_;
  NumberReader reader_;
  std::int64_t count_;
  bool copies_;
  std::vector<std::optional<std::uint64_t>> table_;
};

class Selection : public Step {
 public:
  Selection(const std::vector<const Value*>& inputs, Value* y) : y_(y), writer_(y->tensor) {
    sources_.reserve(inputs.size());
    for (const Value* input : inputs) sources_.emplace_back(input, y->tensor);
  }

  void Choose(Sources from) {
    from_ = std::move(from);
    if (CopiesBytes()) FindRuns();
  }
  void Choose(SourceFunction from) { choose_ = std::move(from); }

  std::string_view Path() const override { return CopiesBytes() ? "index move" : kGeneralPath; }
  Result<void> Run() override {
    if (choose_) {
      QTX_ASSIGN_OR_RETURN(Sources chosen, choose_());
      Choose(std::move(chosen));
    }
    if (CopiesBytes()) {
      CopyBytes();
      return {};
    }
    for (std::size_t i = 0; i < from_.size(); ++i) {
      std::int64_t element = from_[i];
      std::size_t s = 0;
      while (element >= sources_[s].count()) element -= sources_[s++].count();
      const auto to = static_cast<std::int64_t>(i);
      writer_.PutCode(to, sources_[s].Code(element, writer_, to));
    }
    return {};
  }

 private:
  bool CopiesBytes() const {
    return sources_.size() == 1 && sources_[0].copies() &&
           format::BitWidth(y_->tensor.elem_type) % 8 == 0;
  }

  // Neighbours that stay neighbours are copied together.
  void FindRuns() {
    runs_.clear();
    for (const std::int64_t element : from_) {
      if (runs_.empty() || runs_.back().first + runs_.back().count != element) {
        runs_.push_back({element, 0});
      }
      ++runs_.back().count;
    }
  }

  void CopyBytes() {
    const auto size = static_cast<std::size_t>(format::BitWidth(y_->tensor.elem_type) / 8);
    const std::uint8_t* from = Bytes(sources_[0].tensor());
    std::uint8_t* to = Bytes(y_->tensor);
    for (const ElementRun& run : runs_) {
      to = std::copy_n(from + static_cast<std::size_t>(run.first) * size,
                       static_cast<std::size_t>(run.count) * size, to);
    }
  }

  Value* y_;
  NumberWriter writer_;
  std::vector<Source> sources_;
  struct ElementRun {
    std::int64_t first, count;
  };

  Sources from_;
  std::vector<ElementRun> runs_;  // of `from_`, where bytes are copied
  SourceFunction choose_;         // empty when `from_` is known
};

class Sequence : public Step {
 public:
  std::string_view Path() const override {
    return steps_.empty() || steps_[0] == nullptr ? kGeneralPath : steps_[0]->Path();
  }
  explicit Sequence(std::vector<std::unique_ptr<Step>> steps) : steps_(std::move(steps)) {}
  Result<void> Run() override {
    for (const auto& step : steps_) {
      if (step != nullptr) QTX_RETURN_IF_ERROR(step->Run());
    }
    return {};
  }

 private:
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace

StepResult MakeSelection(const std::vector<const Value*>& inputs, Value* y, Sources sources) {
  auto step = std::make_unique<Selection>(inputs, y);
  step->Choose(std::move(sources));
  return step;
}

StepResult MakeSelection(const std::vector<const Value*>& inputs, Value* y, SourceFunction sources,
                         std::span<const Value* const> controls) {
  auto step = std::make_unique<Selection>(inputs, y);
  if (std::ranges::all_of(controls, &Value::constant)) {
    QTX_ASSIGN_OR_RETURN(Sources known, sources());
    step->Choose(std::move(known));
  } else {
    step->Choose(std::move(sources));
  }
  return step;
}

std::unique_ptr<Step> MakeSequence(std::vector<std::unique_ptr<Step>> steps) {
  return std::make_unique<Sequence>(std::move(steps));
}

bool IsIndex(ElementType type) {
  return type == ElementType::kInt64 || type == ElementType::kInt32;
}

std::vector<std::int64_t> IndicesOf(const Tensor& tensor) {
  if (tensor.elem_type == ElementType::kInt32) {
    const auto values = tensor.As<std::int32_t>();
    return {values.begin(), values.end()};
  }
  const auto values = tensor.As<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace qtx::backend::engine
