// Buffers: values in the layout of the kernels. 8-bit elements have the signedness that the kernels
// want, images may have their channels last, and all buffers share one block of memory. The general
// path works on row-major tensors; the plan inserts a step that copies between tensor and buffer
// where it is needed.
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
  kRowMajor,     // the order of the dims in ONNX
  kChannelsLast  // N, spatial dimensions, C
};

/// A value's elements at run time. The kReadAhead bytes after them may be read and written.
struct Buffer {
  format::Tensor type;  // BufferType of the value, dims in ONNX's order; no bytes
  Layout layout = Layout::kRowMajor;
  std::byte* data = nullptr;        // set by Arena::Place
  std::int64_t size = 0;            // bytes
  std::size_t first = 0, last = 0;  // first and last node that use the elements
  Buffer* alias_of = nullptr;       // the buffer whose memory it shares

  std::uint8_t* bytes() const { return reinterpret_cast<std::uint8_t*>(data); }
};

/// 64-byte aligned memory, initially zero.
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

/// The buffers of a model, in one block of memory. Buffers that are never alive at the same time
/// may share addresses.
class Arena {
 public:
  /// A buffer that is alive from node `now` on.  Errors: kTooLarge.
  Result<Buffer*> Add(format::Tensor type, Layout layout, std::size_t now);
  /// The memory of `of` under another type or shape of equal size.
  Buffer* AddAlias(Buffer& of, format::Tensor type, Layout layout);
  /// A constant's buffer, whose memory is outside of the block and exists at once.  Errors:
  /// kTooLarge.
  Result<Buffer*> AddConstant(format::Tensor type, Layout layout);
  /// `bytes` of scratch memory for node `now`.  Errors: kTooLarge.
  Result<Buffer*> AddScratch(std::int64_t bytes, std::size_t now);
  static void Use(Buffer& buffer, std::size_t now);
  /// Assigns addresses, the largest buffer first, each the lowest where it overlaps no buffer that
  /// is alive at the same time: Y. Pisarchyk and J. Lee, "Efficient Memory Management for Deep
  /// Neural Net Inference", 2020, section 5 ("greedy by size").
  void Place();
  /// Size of the shared block.
  std::int64_t bytes() const { return total_; }

 private:
  Result<Buffer*> Append(Buffer buffer);

  std::deque<Buffer> values_;
  std::vector<Buffer*> shared_;  // those in the block
  std::deque<AlignedBuffer> constants_;
  AlignedBuffer block_;
  std::int64_t total_ = 0, declared_ = 0;
};

/// The type of a value's buffer. An 8-bit quantized type of the other signedness changes to it,
/// with offsets moved by 128, so that the real values stay the same; any other type stays as it is.
format::Tensor BufferType(const format::Tensor& type, bool signed_bytes);

/// True if both layouts have the elements in the same order.
bool LayoutsCoincide(const format::Dims& dims);

/// Copies `from`, elements of `size` bytes in the given layout and shape, to the other layout.
/// `flip` is exclusive-ored to every byte (0 or 0x80).
void ChangeLayout(const std::byte* from, Layout layout, const format::Dims& dims, std::size_t size,
                  std::uint8_t flip, std::byte* to);
void CopyFlipped(const std::byte* from, std::int64_t n, std::uint8_t flip, std::byte* to);

}  // namespace qtx::backend::engine
