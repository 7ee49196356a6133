// Values as kernels want them: in memory that the plan shares out, bytes of one signedness, images
// with their channels last. The general path works on tensors in ONNX's order instead; a step
// between the two forms is planned where one is asked for and the other is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/kernels.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend::engine {

enum class Layout {
  kRowMajor,     // ONNX's order
  kChannelsLast  // dimension 1 behind the spatial ones: N, .., C
};

/// Where the elements are at run time; kReadAhead bytes behind them may be read and written.
struct Buffer {
  format::Tensor type;  // element type as buffer, dims in ONNX's order, parameters; no bytes
  Layout layout = Layout::kRowMajor;
  std::byte* data = nullptr;        // from the end of planning on
  std::int64_t size = 0;            // bytes
  std::size_t first = 0, last = 0;  // nodes between which the elements must stay
  Buffer* alias_of = nullptr;       // shares its memory

  std::uint8_t* bytes() const { return reinterpret_cast<std::uint8_t*>(data); }
};

/// 64-byte aligned memory, zero at first.
class AlignedBuffer {
 public:
  void Resize(std::int64_t bytes) { lines_.resize(static_cast<std::size_t>((bytes + 63) / 64)); }
  std::byte* data() { return lines_.empty() ? nullptr : lines_.front().bytes; }
  const std::byte* data() const { return lines_.empty() ? nullptr : lines_.front().bytes; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

/// All buffer values of a model, in one block of memory where values that are never alive together
/// share addresses.
class Arena {
 public:
  /// A value alive from node `now` on.  Errors: kTooLarge.
  Result<Buffer*> Add(format::Tensor type, Layout layout, std::size_t now);
  /// The same elements under another type or shape of equal size.
  Buffer* AddAlias(Buffer& of, format::Tensor type, Layout layout);
  /// A constant: has memory of its own at once.  Errors: kTooLarge.
  Result<Buffer*> AddConstant(format::Tensor type, Layout layout);
  /// `bytes` of scratch for one node.
  Result<Buffer*> AddScratch(std::int64_t bytes, std::size_t now);
  static void Use(Buffer& buffer, std::size_t now);
  /// Gives every value its address. Greatest first, each at the lowest address where it meets no
  /// other that is alive with it: Y. Pisarchyk and J. Lee, "Efficient Memory Management for Deep
  /// Neural Net Inference", 2020, section 5 ("greedy by size").
  void Place();
  /// Of the shared block.
  std::int64_t bytes() const { return total_; }

 private:
  Result<Buffer*> Append(Buffer buffer);

  std::deque<Buffer> values_;
  std::vector<Buffer*> shared_;  // those with a place in the block
  std::deque<AlignedBuffer> constants_;
  AlignedBuffer block_;
  std::int64_t total_ = 0, declared_ = 0;
};

/// The type as `kernels` hold it: an 8-bit integer type of the other signedness with its offsets
/// moved by 128, which changes no real value; any other as it is.
format::Tensor BufferType(const format::Tensor& type, bool signed_bytes);

/// True where both layouts have the elements in the same order.
bool LayoutsCoincide(const format::Dims& dims);

/// Copies `from`, elements of `size` bytes in the given layout and shape, to the other layout.
/// `flip` is exclusive-ored to every byte (0 or 0x80).
void ChangeLayout(const std::byte* from, Layout layout, const format::Dims& dims, std::size_t size,
                  std::uint8_t flip, std::byte* to);
void CopyFlipped(const std::byte* from, std::int64_t n, std::uint8_t flip, std::byte* to);

}  // namespace qtx::backend::engine
