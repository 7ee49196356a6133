// AveragePool, GlobalAveragePool, MaxPool on 8 bits.
#include "engine/ops/pool.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "engine/exact.h"
#include "engine/fixed_point.h"
#include "engine/ops/binary32.h"
#include "engine/ops/conversion.h"
#include "engine/ops/float_sum.h"

namespace qtx::backend::engine {
namespace {

struct Pool {
  format::Tensor x, y;  // types and dims of the buffers
  Window window;
};

// An 8-bit pool over images with their channels last: all channels of a pixel at once.
class EightBitPool : public Step {
 public:
  EightBitPool(const NodePlan& node, Pool pool) : pool_(std::move(pool)), threads_(node.threads()) {
    batch_ = pool_.x.dims[0];
    channels_ = pool_.x.dims[1];
  }

  Result<void> FindBuffers(const NodePlan& node) {
    QTX_ASSIGN_OR_RETURN(x_, node.InputBuffer(0, Layout::kChannelsLast));
    QTX_ASSIGN_OR_RETURN(y_, node.OutputBuffer(pool_.y.dims, Layout::kChannelsLast));
    return {};
  }

  std::string_view Path() const override { return "pool"; }
  Result<void> Run() override {
    const std::int64_t rows = pool_.window.y.output;
    threads_.For(batch_ * rows, x_->size,
                 [this, rows](std::int64_t i) { RunLine(i / rows, i % rows); });
    return {};
  }

 protected:
  // The pixels of a window: calls visit(first channel's byte) for each.
  template <typename Visit>
  void ForEachPixel(std::int64_t image, const Taps& rows, const Taps& columns, Visit visit) const {
    for (std::int64_t r = rows.first; r < rows.end; r += rows.step) {
      const std::uint8_t* line =
          x_->bytes() + (image * pool_.window.y.input + r) * pool_.window.x.input * channels_;
      for (std::int64_t c = columns.first; c < columns.end; c += columns.step) {
        visit(line + c * channels_);
      }
    }
  }
  // One line of output.
  virtual void RunLine(std::int64_t image, std::int64_t oy) const = 0;
  // The line's first element.
  std::int64_t LineBegin(std::int64_t image, std::int64_t oy) const {
    return (image * pool_.window.y.output + oy) * pool_.window.x.output * channels_;
  }

  Pool pool_;
  std::int64_t batch_ = 1, channels_ = 1;
  Buffer* x_ = nullptr;
  Buffer* y_ = nullptr;

 private:
  Threads& threads_;
};

// Pixel by pixel.
class EightBitMean : public EightBitPool {
 public:
  using EightBitPool::EightBitPool;

 protected:
  // One output pixel, whose first channel is element `element`.
  virtual void RunPixel(std::int64_t image, const Taps& rows, const Taps& columns,
                        std::int64_t element) const = 0;

 private:
  void RunLine(std::int64_t image, std::int64_t oy) const override {
    const Taps rows = TapsAt(pool_.window.y, oy);
    const std::int64_t first = LineBegin(image, oy);
    for (std::int64_t ox = 0; ox < pool_.window.x.output; ++ox) {
      RunPixel(image, rows, TapsAt(pool_.window.x, ox), first + ox * channels_);
    }
  }
};

class AveragePool : public EightBitMean {
 public:
  /// `requantizers`: one for each number of elements that a mean is taken of.
  AveragePool(const NodePlan& node, Pool pool, PerTensor input, bool count_padding,
              std::map<std::int64_t, Requantizer> requantizers)
      : EightBitMean(node, std::move(pool)),
        input_(input),
        is_signed_(node.kernels().signed_bytes),
        count_padding_(count_padding),
        requantizers_(std::move(requantizers)) {}

  /// The divisor of the mean over these taps; padding that counts is real zero.
  static std::int64_t Count(const Taps& rows, const Taps& columns, bool count_padding) {
    const std::int64_t count =
        count_padding ? rows.counted * columns.counted : rows.count * columns.count;
    return std::max<std::int64_t>(count, 1);
  }

 private:
  void RunPixel(std::int64_t image, const Taps& rows, const Taps& columns,
                std::int64_t element) const override {
    constexpr std::int64_t kBlock = 256;
    const Requantizer& requantizer =
        requantizers_.find(Count(rows, columns, count_padding_))->second;
    const auto zero = static_cast<std::int32_t>(-rows.count * columns.count * input_.offset);
    for (std::int64_t c = 0; c < channels_; c += kBlock) {
      std::array<std::int32_t, kBlock> sums;
      const std::int64_t n = std::min(kBlock, channels_ - c);
      sums.fill(zero);
      ForEachPixel(image, rows, columns, [&](const std::uint8_t* pixel) {
        if (is_signed_) {
          AddTo(sums.data(), reinterpret_cast<const std::int8_t*>(pixel) + c, n);
        } else {
          AddTo(sums.data(), pixel + c, n);
        }
      });
      requantizer.Convert(
          {.acc = sums.data(), .stride = n, .columns = n, .channel = c, .element = element + c},
          y_->data);
    }
  }

  template <typename T>
  static void AddTo(std::int32_t* sums, const T* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) sums[i] += values[i];
  }

  PerTensor input_;
  bool is_signed_, count_padding_;
  std::map<std::int64_t, Requantizer> requantizers_;
};

// Sums and one division in binary32, in row-major order: float32.S3.
class FloatAveragePool : public EightBitMean {
 public:
  FloatAveragePool(const NodePlan& node, Pool pool, const PerTensor& input, const PerTensor& output,
                   bool count_padding)
      : EightBitMean(node, std::move(pool)),
        output_(output),
        kernels_(node.kernels()),
        count_padding_(count_padding) {
    for (std::size_t byte = 0; byte < table_.size(); ++byte) {
      const auto raw = static_cast<std::uint8_t>(byte);
      const int stored = kernels_.signed_bytes ? static_cast<std::int8_t>(raw) : raw;
      table_[byte] = Binary32Of(Term{static_cast<double>(stored - input.offset), input.scale});
    }
  }

 private:
  void RunPixel(std::int64_t image, const Taps& rows, const Taps& columns,
                std::int64_t element) const override {
    constexpr std::int64_t kBlock = 256;
    const auto count = static_cast<float>(AveragePool::Count(rows, columns, count_padding_));
    for (std::int64_t c = 0; c < channels_; c += kBlock) {
      std::array<float, kBlock + kReadAhead> sums{};
      const std::int64_t n = std::min(kBlock, channels_ - c);
      ForEachPixel(image, rows, columns, [&](const std::uint8_t* pixel) {
        for (std::int64_t i = 0; i < n; ++i) {
          sums[static_cast<std::size_t>(i)] += table_[pixel[c + i]];
        }
      });
      for (float& sum : sums) sum /= count;
      kernels_.quantize(sums.data(), n, static_cast<float>(output_.scale), output_.Narrowed(),
                        y_->bytes() + element + c);
    }
  }

  PerTensor output_;
  const Kernels& kernels_;
  bool count_padding_;
  std::array<float, 256> table_{};
};

// AVERAGE_POOL_2D: the mean of stored values, rounded half away from zero (tflite.S7). A tie
// depends on the sign, so the stored values of the declared type are averaged.
class TfliteAveragePool : public EightBitMean {
 public:
  TfliteAveragePool(const NodePlan& node, Pool pool, const PerTensor& output, bool is_signed)
      : EightBitMean(node, std::move(pool)), output_(output) {
    signed_bytes_ = node.kernels().signed_bytes;
    lift_ = is_signed == signed_bytes_ ? 0 : is_signed ? -128 : 128;
  }

 private:
  void RunPixel(std::int64_t image, const Taps& rows, const Taps& columns,
                std::int64_t element) const override {
    const std::int64_t count = rows.count * columns.count;
    std::uint8_t* out = y_->bytes() + element;
    for (std::int64_t c = 0; c < channels_; ++c) {
      std::int64_t sum = 0;
      ForEachPixel(image, rows, columns, [&](const std::uint8_t* pixel) {
        sum += signed_bytes_ ? static_cast<std::int8_t>(pixel[c]) : pixel[c];
      });
      const std::int64_t mean = DivideHalfAway(sum + count * lift_, count) - lift_;
      out[c] = static_cast<std::uint8_t>(std::clamp(mean, output_.stored.min, output_.stored.max));
    }
  }

  PerTensor output_;
  bool signed_bytes_ = false;
  std::int64_t lift_ = 0;  // from a byte of the buffer to the declared type's stored value
};

// The greatest of each column of a line's windows, of many channels at once, then of columns.
class MaxPool : public EightBitPool {
 public:
  MaxPool(const NodePlan& node, Pool pool, ByteTable table, bool converts)
      : EightBitPool(node, std::move(pool)),
        table_(table),
        converts_(converts),
        is_signed_(format::StorageOf(pool_.x.elem_type) == format::ElementType::kInt8) {}

 private:
  void RunLine(std::int64_t image, std::int64_t oy) const override {
    if (is_signed_) {
      RunLineAs<std::int8_t>(image, oy);
    } else {
      RunLineAs<std::uint8_t>(image, oy);
    }
  }

  template <typename T>
  void RunLineAs(std::int64_t image, std::int64_t oy) const {
    const WindowAxis& axis = pool_.window.x;
    const std::int64_t line = axis.input * channels_;
    const Taps rows = TapsAt(pool_.window.y, oy);
    const T* x = reinterpret_cast<const T*>(x_->bytes()) + image * pool_.window.y.input * line;
    std::array<T, 1024> short_line;
    std::vector<T> long_line;
    T* columns = short_line.data();
    if (line > std::ssize(short_line)) {
      long_line.resize(static_cast<std::size_t>(line));
      columns = long_line.data();
    }
    std::copy_n(x + rows.first * line, line, columns);
    for (std::int64_t r = rows.first + rows.step; r < rows.end; r += rows.step) {
      Raise(columns, x + r * line, line);
    }
    T* out = reinterpret_cast<T*>(y_->bytes()) + LineBegin(image, oy);
    for (std::int64_t ox = 0; ox < axis.output; ++ox, out += channels_) {
      const Taps taps = TapsAt(axis, ox);
      std::copy_n(columns + taps.first * channels_, channels_, out);
      for (std::int64_t c = taps.first + taps.step; c < taps.end; c += taps.step) {
        Raise(out, columns + c * channels_, channels_);
      }
    }
    if (!converts_) return;
    // The conversion is monotonic, so it may come last.
    std::uint8_t* bytes = y_->bytes() + LineBegin(image, oy);
    for (std::int64_t i = 0; i < axis.output * channels_; ++i) bytes[i] = table_[bytes[i]];
  }

  template <typename T>
  static void Raise(T* out, const T* values, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::max(out[i], values[i]);
  }

  ByteTable table_;
  bool converts_, is_signed_;
};

// A pool of elements of 8 bits in one or two axes.
Result<Pool> ReadBytePool(const NodePlan& node, bool global) {
  QTX_ASSIGN_OR_RETURN(const PoolShape shape, PoolShapeOf(node, global));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor y, node.OutputType(shape.to));
  Pool pool{.x = BufferType(*x, node.kernels().signed_bytes),
            .y = BufferType(y, node.kernels().signed_bytes),
            .window = {}};
  QTX_ASSIGN_OR_RETURN(pool.window, WindowOf(node, shape.axes));
  return pool;
}

Result<Pool> ReadEightBitPool(const NodePlan& node, bool global) {
  QTX_RETURN_IF_ERROR(EightBitInput(node, 0));
  return ReadBytePool(node, global);
}

// Integers that are not quantized, as in the QOperator form.
bool IsPlainByte(const format::Tensor& type) {
  return type.elem_type == format::ElementType::kInt8 ||
         type.elem_type == format::ElementType::kUint8;
}

// One Requantizer for each divisor that occurs.
Result<std::map<std::int64_t, Requantizer>> RequantizersOf(const NodePlan& node, const Pool& pool,
                                                           double scale, bool count_padding) {
  std::map<std::int64_t, Requantizer> requantizers;
  for (std::int64_t oy = 0; oy < pool.window.y.output; ++oy) {
    for (std::int64_t ox = 0; ox < pool.window.x.output; ++ox) {
      const std::int64_t count =
          AveragePool::Count(TapsAt(pool.window.y, oy), TapsAt(pool.window.x, ox), count_padding);
      if (requantizers.contains(count)) continue;
      std::vector<Channel> channels(static_cast<std::size_t>(pool.x.dims[1]),
                                    {.scale = scale, .divisor = count});
      QTX_ASSIGN_OR_RETURN(Requantizer requantizer,
                           Requantizer::Make(std::move(channels), pool.y, node.kernels()));
      requantizers.emplace(count, std::move(requantizer));
    }
  }
  return requantizers;
}

template <typename Pool>
StepResult WithBuffers(const NodePlan& node, std::unique_ptr<Pool> step) {
  QTX_RETURN_IF_ERROR(step->FindBuffers(node));
  return step;
}

StepResult MakeAveragePool(const NodePlan& node, bool global) {
  QTX_ASSIGN_OR_RETURN(Pool pool, ReadEightBitPool(node, global));
  const auto input = PerTensorOf(pool.x);
  if (!input.has_value()) return node.Because(input.error());
  // A sum of 8-bit elements must fit int32.
  if (pool.window.y.kernel * pool.window.x.kernel > (std::int64_t{1} << 22)) {
    return node.Unsupported("a window this large");
  }
  const bool count_padding = CountsPadding(node, global);
  if (node.arithmetic() == Arithmetic::kFloat32) {
    const auto output = PerTensorOf(pool.y);
    if (!output.has_value()) return node.Because(output.error());
    if (format::BitWidth(pool.y.elem_type) != 8) return node.Unsupported("a result of other bits");
    return WithBuffers(node, std::make_unique<FloatAveragePool>(node, std::move(pool), *input,
                                                                *output, count_padding));
  }
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor y, node.OutputParameters());
  if (AveragesStored(node.arithmetic(), *x, y)) {
    // Windows with padding that counts and without: the general path tells them apart.
    if (count_padding) return node.Unsupported("padding that counts");
    const bool is_signed = x->elem_type == format::ElementType::kInt8Q;
    const PerTensor output = *PerTensorOf(pool.y);
    return WithBuffers(
        node, std::make_unique<TfliteAveragePool>(node, std::move(pool), output, is_signed));
  }
  auto requantizers = RequantizersOf(node, pool, input->scale, count_padding);
  if (!requantizers.has_value()) return node.Because(requantizers.error());
  auto step = std::make_unique<AveragePool>(node, std::move(pool), *input, count_padding,
                                            *std::move(requantizers));
  QTX_RETURN_IF_ERROR(step->FindBuffers(node));
  return step;
}

}  // namespace

StepResult PrepareAveragePool(const NodePlan& node) { return MakeAveragePool(node, false); }
StepResult PrepareGlobalAveragePool(const NodePlan& node) { return MakeAveragePool(node, true); }

StepResult PrepareMaxPool(const NodePlan& node) {
  if (node.HasOutput(1)) return node.Unsupported("indices");
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  if (IsPlainByte(*x)) {
    QTX_ASSIGN_OR_RETURN(Pool plain, ReadBytePool(node, false));
    if (plain.y.elem_type != x->elem_type) return node.Unsupported("a result of another type");
    return WithBuffers(node, std::make_unique<MaxPool>(node, std::move(plain), ByteTable{}, false));
  }
  QTX_ASSIGN_OR_RETURN(Pool pool, ReadEightBitPool(node, false));
  auto table = MakeByteTable(pool.x, pool.y, {},
                             RuleFor(node.arithmetic(), Purpose::kSelect, pool.x, pool.y));
  if (!table.has_value()) return node.Because(table.error());
  // Equal parameters need no table unless a stored value may lie outside quant_min to quant_max.
  const bool converts =
      !SameReals(pool.x, pool.y) || format::StoredRange(pool.y.elem_type, *pool.y.quantization) !=
                                        format::StorageRange(pool.y.elem_type);
  auto step = std::make_unique<MaxPool>(node, std::move(pool), *table, converts);
  QTX_RETURN_IF_ERROR(step->FindBuffers(node));
  return step;
}

}  // namespace qtx::backend::engine
