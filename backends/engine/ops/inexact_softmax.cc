// Softmax in arithmetics other than `exact`: binary32 in a stated order.
#include "engine/ops/inexact_softmax.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/ops/binary32.h"
#include "engine/ops/softmax_rows.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

class RowStep : public Step {
 public:
  RowStep(const Value* x, Value* y, const AxisRows& rows) : x_(x), y_(y), rows_(rows) {}

 protected:
  const Value* x_;
  Value* y_;
  AxisRows rows_;
};

// Source: float32.S3.
class FloatSoftmax : public RowStep {
 public:
  using RowStep::RowStep;

  Result<void> Run() override {
    if (y_->tensor.bytes.empty()) return {};
    const std::vector<float> x = Binary32Of(x_->tensor);
    FloatWriter writer(y_->tensor);
    for (std::int64_t row = 0; row < rows_.count(); ++row) PutRow(x, rows_.First(row), writer);
    writer.Finish();
    return {};
  }

 private:
  void PutRow(const std::vector<float>& x, std::int64_t first, FloatWriter& writer) const {
    const auto at = [&](std::int64_t i) {
      return x[static_cast<std::size_t>(first + i * rows_.stride)];
    };
    float max = -std::numeric_limits<float>::infinity();
    bool defined = true;
    for (std::int64_t i = 0; i < rows_.length; ++i) {
      max = std::max(max, at(i));
      defined = defined && !std::isnan(at(i));
    }
    // A NaN, or no finite greatest element: no shares.
    defined = defined && std::isfinite(max);
    std::vector<float> exponentials(static_cast<std::size_t>(rows_.length));
    float sum = 0;
    for (std::int64_t i = 0; defined && i < rows_.length; ++i) {
      const float exponential = NearestExp(at(i) - max);
      exponentials[static_cast<std::size_t>(i)] = exponential;
      sum += exponential;
    }
    for (std::int64_t i = 0; i < rows_.length; ++i) {
      const float share = defined ? exponentials[static_cast<std::size_t>(i)] / sum
                                  : std::numeric_limits<float>::quiet_NaN();
      writer.Put(first + i * rows_.stride, share);
    }
  }
};

// 8 bits in TFLite, whose exponentials depend on differences of stored values alone.
// Source: tflite.S8.
class TfliteSoftmax : public RowStep {
 public:
  TfliteSoftmax(const Value* x, Value* y, const AxisRows& rows, const PerTensor& input,
                const PerTensor& output)
      : RowStep(x, y, rows), output_(output) {
    is_signed_ = x->tensor.elem_type == ElementType::kInt8Q;
    const auto scale = static_cast<float>(input.scale);
    for (std::size_t d = 0; d < table_.size(); ++d) {
      table_[d] = NearestExp(-(scale * static_cast<float>(d)));
    }
  }

  Result<void> Run() override {
    if (y_->tensor.bytes.empty()) return {};
    for (std::int64_t row = 0; row < rows_.count(); ++row) PutRow(rows_.First(row));
    return {};
  }

 private:
  // Order-preserving code of a stored byte, 0..255.
  std::uint8_t Code(std::int64_t element) const {
    return static_cast<std::uint8_t>(Bytes(x_->tensor)[element] ^ (is_signed_ ? 0x80 : 0));
  }

  void PutRow(std::int64_t first) {
    std::uint8_t max = 0;
    for (std::int64_t i = 0; i < rows_.length; ++i)
      max = std::max(max, Code(first + i * rows_.stride));
    float sum = 0;
    for (std::int64_t i = 0; i < rows_.length; ++i)
      sum += table_[max - Code(first + i * rows_.stride)];
    const float factor = 1.0F / (sum * static_cast<float>(output_.scale));
    for (std::int64_t i = 0; i < rows_.length; ++i) {
      const std::int64_t element = first + i * rows_.stride;
      const float steps = table_[max - Code(element)] * factor;
      StoreInteger(y_->tensor.elem_type, StoredHalfAway(steps, output_.AsStored()), element,
                   y_->tensor.bytes.data());
    }
  }

  PerTensor output_;
  bool is_signed_ = false;
  std::array<float, 256> table_{};
};

bool IsEightBits(const Tensor& tensor) {
  return (tensor.elem_type == ElementType::kInt8Q || tensor.elem_type == ElementType::kUint8Q) &&
         PerTensorOf(tensor).has_value();
}

}  // namespace

Result<std::optional<std::unique_ptr<Step>>> PrepareInexactSoftmax(const NodePlan& node) {
  using Maybe = std::optional<std::unique_ptr<Step>>;
  if (node.arithmetic() == Arithmetic::kExact) return Maybe();
  QTX_ASSIGN_OR_RETURN(const Tensor* type, node.TypeOf(0));
  const format::Dims dims = type->dims;
  const AxisRows rows = SoftmaxRowsOf(node, dims);
  QTX_ASSIGN_OR_RETURN(const Tensor result, node.OutputType(dims));
  const bool tflite = IsTflite(node.arithmetic());
  if (tflite &&
      !(IsEightBits(*type) && type->elem_type == result.elem_type && IsEightBits(result))) {
    return Maybe();
  }
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(dims));
  QTX_RETURN_IF_ERROR(CheckReals(node, *x));
  QTX_RETURN_IF_ERROR(CheckReals(node, *y));
  if (!tflite) return Maybe(std::make_unique<FloatSoftmax>(x, y, rows));
  return Maybe(std::make_unique<TfliteSoftmax>(x, y, rows, *PerTensorOf(x->tensor),
                                               *PerTensorOf(y->tensor)));
}

}  // namespace qtx::backend::engine
