// Conv of one filter a channel. Taps above each other are interleaved four by four, once for all
// positions of a line; a line of outputs is then a few products of whole vectors.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/ops/conv.h"
#include "engine/pack.h"
#include "engine/product_epilogue.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kQuad = 4;
constexpr std::int64_t kMostTaps = 1 << 14;
// Outputs that share one set of vectors of weights: channels repeated to whole blocks of vectors
// where that is not too many, else to at least the smaller number.
constexpr std::int64_t kLargestPeriod = 1 << 13;
constexpr std::int64_t kSmallestRun = 512;
// Of one thread, roughly.
constexpr std::int64_t kOutputsPerNanosecond = 4;
constexpr std::int64_t kBytesPerNanosecond = 16;

// The window over rows (y) and columns (x). The padded image is kept as [rows][phase][columns of
// that phase][channels]: neighbours of a strided window lie side by side.
struct Geometry {
  WindowAxis y, x;
  std::int64_t channels = 0;
  std::int64_t quads = 0;  // of rows: ceil(kernel / 4)

  std::int64_t PhaseColumns() const { return (PaddedSize(x) + x.stride - 1) / x.stride; }
  std::int64_t Line() const { return x.stride * PhaseColumns() * channels; }
  std::int64_t ColumnAt(std::int64_t padded_x) const {
    return (padded_x % x.stride * PhaseColumns() + padded_x / x.stride) * channels;
  }
};

// Channels repeated until they fill a run, and their weights as the kernels read them.
struct RunWeights {
  std::int64_t run = 0;               // outputs: a multiple of the channels
  bool whole = false;                 // and of four vectors
  std::int64_t padded = 0;            // to whole vectors
  std::vector<std::int64_t> offsets;  // of each tap's quads
  AlignedBuffer weights;              // [taps][padded][4]
  std::vector<std::int32_t> initial;  // [padded]

  const std::int8_t* data() const { return reinterpret_cast<const std::int8_t*>(weights.data()); }
};

class DepthwiseConv : public Step {
 public:
  DepthwiseConv(const NodePlan& node, const ConvPlan& plan, const Geometry& geometry,
                RunWeights weights, Requantizer requantizer)
      : geometry_(geometry),
        batch_(plan.batch),
        zero_(plan.x.offset),
        weights_(std::move(weights)),
        requantizer_(std::move(requantizer)),
        kernels_(node.kernels()),
        threads_(node.threads()) {}

  Result<void> FindBuffers(const NodePlan& node, const format::Tensor& y) {
    QTX_ASSIGN_OR_RETURN(x_, node.InputBuffer(0, Layout::kChannelsLast));
    const std::int64_t image = PaddedSize(geometry_.y) * geometry_.Line();
    QTX_ASSIGN_OR_RETURN(image_, node.Scratch(image));
    QTX_ASSIGN_OR_RETURN(work_, node.Scratch(Pieces() * PieceBytes()));
    QTX_ASSIGN_OR_RETURN(y_, node.OutputBuffer(y.dims, Layout::kChannelsLast));
    return {};
  }

  std::string_view Path() const override { return "depthwise"; }
  Result<void> Run() override {
    const std::int64_t in = x_->size / std::max<std::int64_t>(batch_, 1);
    for (std::int64_t n = 0; n < batch_; ++n) {
      Load(x_->bytes() + n * in);
      threads_.For(Pieces(), geometry_.y.output * OutLine() / kOutputsPerNanosecond,
                   [&](std::int64_t piece) {
                     const std::int64_t rows = geometry_.y.output;
                     for (std::int64_t r = rows * piece / Pieces();
                          r < rows * (piece + 1) / Pieces(); ++r) {
                       ComputeRow(n, r, work_->data + piece * PieceBytes());
                     }
                   });
    }
    return {};
  }

 private:
  std::int64_t Pieces() const {
    return std::min<std::int64_t>(geometry_.y.output,
                                  threads_.count() == 1 ? 1 : 4 * threads_.count());
  }
  std::int64_t QuadBytes() const { return (geometry_.Line() + weights_.padded) * kQuad; }
  // One thread's quads and sums.
  std::int64_t PieceBytes() const {
    const std::int64_t sums = (OutLine() + weights_.padded) * std::int64_t{sizeof(Doubtful)};
    return (geometry_.quads * QuadBytes() + sums + 63) / 64 * 64;
  }
  std::int64_t OutLine() const { return geometry_.x.output * geometry_.channels; }

  // Copies an image into its padding, its columns sorted by phase.
  void Load(const std::uint8_t* stored) {
    const WindowAxis& y = geometry_.y;
    const auto zero = static_cast<std::uint8_t>(zero_);
    std::uint8_t* image = image_->bytes();
    threads_.For(PaddedSize(y), PaddedSize(y) * geometry_.Line() / kBytesPerNanosecond,
                 [&](std::int64_t row) {
                   std::uint8_t* line = image + row * geometry_.Line();
                   const std::int64_t from = row - y.pad_begin;
                   if (from < 0 || from >= y.input) {
                     std::fill_n(line, geometry_.Line(), zero);
                   } else {
                     LoadLine(stored + from * geometry_.x.input * geometry_.channels, zero, line);
                   }
                 });
  }

  void LoadLine(const std::uint8_t* stored, std::uint8_t zero, std::uint8_t* line) const {
    const WindowAxis& x = geometry_.x;
    const std::int64_t channels = geometry_.channels;
    if (x.stride == 1) {
      std::fill_n(line, x.pad_begin * channels, zero);
      std::copy_n(stored, x.input * channels, line + x.pad_begin * channels);
      std::fill_n(line + (x.pad_begin + x.input) * channels, x.pad_end * channels, zero);
      return;
    }
    if (PaddedSize(x) != x.input || PaddedSize(x) % x.stride != 0)
      std::fill_n(line, geometry_.Line(), zero);
    for (std::int64_t phase = 0; phase < x.stride; ++phase) {
      const std::int64_t first = ((phase - x.pad_begin) % x.stride + x.stride) % x.stride;
      CopyPhase(stored, first, line);
    }
  }

  // Columns first, first + stride, .. of the input: neighbours in the line. As they are written in
  // order, each may spill over the next by part of a step.
  void CopyPhase(const std::uint8_t* stored, std::int64_t first, std::uint8_t* line) const {
    constexpr std::int64_t kStep = 16;
    const WindowAxis& x = geometry_.x;
    const std::int64_t channels = geometry_.channels;
    std::uint8_t* to = line + geometry_.ColumnAt(x.pad_begin + first);
    for (std::int64_t i = first; i < x.input; i += x.stride, to += channels) {
      const std::uint8_t* from = stored + i * channels;
      const bool last = i + x.stride >= x.input;
      if (last || channels < kStep) {
        std::copy_n(from, channels, to);
      } else {
        for (std::int64_t c = 0; c < channels; c += kStep) std::memcpy(to + c, from + c, kStep);
      }
    }
  }

  void ComputeRow(std::int64_t n, std::int64_t row, std::byte* work) const {
    auto* quads = reinterpret_cast<std::uint8_t*>(work);
    for (std::int64_t q = 0; q < geometry_.quads; ++q) {
      InterleaveRows(row, q, quads + q * QuadBytes());
    }
    const std::int64_t element = (n * geometry_.y.output + row) * OutLine();
    const std::optional<Rounding> rounding = requantizer_.ForKernel();
    std::byte* rest = work + geometry_.quads * QuadBytes();
    if (rounding && weights_.whole) {
      return FinishLine(quads, *rounding, element, reinterpret_cast<Doubtful*>(rest));
    }
    FinishRuns(quads, element, reinterpret_cast<std::int32_t*>(rest));
  }

  QuadSums SumsFrom(const std::uint8_t* quads, std::int64_t n, std::int32_t* sums) const {
    return {.values = quads,
            .offsets = weights_.offsets.data(),
            .weights = weights_.data(),
            .weight_stride = weights_.padded * kQuad,
            .taps = static_cast<std::int64_t>(weights_.offsets.size()),
            .initial = weights_.initial.data(),
            .n = n,
            .sums = sums};
  }

  void FinishLine(const std::uint8_t* quads, const Rounding& rounding, std::int64_t element,
                  Doubtful* doubtful) const {
    const std::int64_t count = kernels_.quad_line({.sums = SumsFrom(quads, OutLine(), nullptr),
                                                   .rounding = rounding,
                                                   .period = weights_.run,
                                                   .out = y_->bytes() + element},
                                                  doubtful);
    for (std::int64_t d = 0; d < count; ++d) {
      requantizer_.Single(doubtful[d].acc, doubtful[d].index % weights_.run,
                          element + doubtful[d].index, y_->data);
    }
  }

  void FinishRuns(const std::uint8_t* quads, std::int64_t element, std::int32_t* sums) const {
    const std::int64_t lanes = kernels_.lanes;
    for (std::int64_t first = 0; first < OutLine(); first += weights_.run) {
      const std::int64_t count = std::min(weights_.run, OutLine() - first);
      kernels_.quad_sums(
          SumsFrom(quads + first * kQuad, (count + lanes - 1) / lanes * lanes, sums));
      requantizer_.Convert(
          {.acc = sums, .stride = count, .columns = count, .element = element + first}, y_->data);
    }
  }

  // Rows 4q to 4q + 3 of the window at output row `row`; where it has no more, any row will do: its
  // weights are zero.
  void InterleaveRows(std::int64_t row, std::int64_t q, std::uint8_t* quads) const {
    const WindowAxis& y = geometry_.y;
    std::array<const std::uint8_t*, kQuad> rows;
    for (std::int64_t j = 0; j < kQuad; ++j) {
      const std::int64_t tap = std::min(kQuad * q + j, y.kernel - 1);
      rows[static_cast<std::size_t>(j)] =
          image_->bytes() + (row * y.stride + tap * y.dilation) * geometry_.Line();
    }
    kernels_.interleave(rows.data(), geometry_.Line(), quads);
  }

  Geometry geometry_;
  std::int64_t batch_;
  std::int32_t zero_;
  RunWeights weights_;
  Requantizer requantizer_;
  const Kernels& kernels_;
  Threads& threads_;
  Buffer* x_ = nullptr;
  Buffer* y_ = nullptr;
  Buffer* image_ = nullptr;
  Buffer* work_ = nullptr;
};

// One channel's taps as [quads][columns][4], zero where the window has no row.
std::vector<std::int16_t> QuadsOf(const ConvPlan& plan, const Geometry& geometry, std::int64_t c) {
  const std::int64_t columns = geometry.x.kernel;
  const std::int16_t* filter = plan.weights.values.data() + c * geometry.y.kernel * columns;
  std::vector<std::int16_t> quads(static_cast<std::size_t>(geometry.quads * columns * kQuad));
  for (std::int64_t y = 0; y < geometry.y.kernel; ++y) {
    for (std::int64_t x = 0; x < columns; ++x) {
      quads[static_cast<std::size_t>((y / kQuad * columns + x) * kQuad + y % kQuad)] =
          filter[y * columns + x];
    }
  }
  return quads;
}

// Splits what an instruction cannot take at once over further taps at the same place.
RunWeights PackRun(const ConvPlan& plan, const Geometry& geometry, const Kernels& kernels,
                   std::span<const std::int32_t> addend) {
  RunWeights packed;
  const std::int64_t channels = geometry.channels;
  const std::int64_t block = 4 * kernels.lanes;
  packed.run = std::lcm(channels, block);
  packed.whole = packed.run <= kLargestPeriod;
  if (!packed.whole) packed.run = channels * ((kSmallestRun + channels - 1) / channels);
  packed.padded = (packed.run + block - 1) / block * block;
  packed.initial.resize(static_cast<std::size_t>(packed.padded));
  const OperandRange range = OperandRange::OfBytes(plan.x, kernels);
  const auto limits =
      WeightLimits<std::int8_t>::For(range.Magnitude(), kQuad, kernels.bytes.pair_limit);
  std::vector<std::vector<std::int16_t>> rest;
  for (std::int64_t c = 0; c < channels; ++c) {
    rest.push_back(QuadsOf(plan, geometry, c));
    std::int32_t sum = 0;
    for (const std::int16_t w : rest.back()) sum += w;
    for (std::int64_t i = c; i < packed.run; i += channels) {
      packed.initial[static_cast<std::size_t>(i)] =
          addend[static_cast<std::size_t>(c)] - range.zero * sum;
    }
  }
  const std::int64_t line_quads = (geometry.Line() + packed.padded) * kQuad;
  std::vector<std::int8_t> weights;
  for (std::int64_t tap = 0; tap < geometry.quads * geometry.x.kernel; ++tap) {
    const std::int64_t column = geometry.ColumnAt(tap % geometry.x.kernel * geometry.x.dilation);
    for (bool done = false; !done;) {
      done = true;
      packed.offsets.push_back(tap / geometry.x.kernel * line_quads + column * kQuad);
      const std::size_t begin = weights.size();
      weights.resize(begin + static_cast<std::size_t>(packed.padded * kQuad));
      for (std::int64_t c = 0; c < channels; ++c) {
        std::array<std::int8_t, kQuad> part;
        const bool all = TakeGroup(
            limits, kQuad, rest[static_cast<std::size_t>(c)].data() + tap * kQuad, part.data());
        done = done && all;
        for (std::int64_t i = c; i < packed.run; i += channels) {
          std::ranges::copy(part, weights.begin() + static_cast<std::ptrdiff_t>(begin) + i * kQuad);
        }
      }
    }
  }
  packed.weights.Resize(static_cast<std::int64_t>(weights.size()));
  std::copy_n(reinterpret_cast<const std::byte*>(weights.data()), weights.size(),
              packed.weights.data());
  return packed;
}

// One or two spatial axes; a line of a single row is taken as a column, whose taps interleave.
Result<Geometry> GeometryOf(const NodePlan& node, const ConvPlan& plan) {
  Geometry geometry;
  geometry.channels = plan.channels;
  if (plan.axes.size() > 2) return node.Unsupported("three spatial dimensions");
  if (plan.axes.size() == 2) {
    geometry.y = plan.axes[0];
    geometry.x = plan.axes[1];
    const bool row = PaddedSize(geometry.y) == 1;
    if (row) std::swap(geometry.y, geometry.x);
  } else {
    geometry.y = plan.axes[0];
  }
  geometry.quads = (geometry.y.kernel + kQuad - 1) / kQuad;
  return geometry;
}

}  // namespace

StepResult MakeDepthwiseConv(const NodePlan& node, ConvPlan plan) {
  if (plan.GroupFilters() != 1 || plan.Taps() > kMostTaps) {
    return node.Unsupported("several filters a channel, or a window this large");
  }
  QTX_ASSIGN_OR_RETURN(const Geometry geometry, GeometryOf(node, plan));
  const auto taken = TakeIntegerBias(plan.outputs, plan.epilogue);
  if (!taken.has_value()) return node.Because(taken.error());
  const std::vector<std::int32_t>& addend = *taken;
  RunWeights weights = PackRun(plan, geometry, node.kernels(), addend);
  std::vector<Channel> channels;
  for (std::int64_t i = 0; i < weights.run; ++i) {
    channels.push_back(plan.outputs[static_cast<std::size_t>(i % plan.channels)]);
  }
  auto requantizer = Requantizer::Make(std::move(channels), plan.y, node.kernels(), plan.epilogue);
  if (!requantizer.has_value()) return node.Because(requantizer.error());
  auto step = std::make_unique<DepthwiseConv>(node, plan, geometry, std::move(weights),
                                              *std::move(requantizer));
  QTX_RETURN_IF_ERROR(step->FindBuffers(node, plan.y));
  return step;
}

}  // namespace qtx::backend::engine
