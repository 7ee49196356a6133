#include "engine/buffer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "engine/transpose.h"
#include "qtx/format/limits.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kLine = 64;

std::int64_t RoundUpToLine(std::int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// Bytes of the block that a buffer occupies.
std::int64_t Room(const Buffer& buffer) { return RoundUpToLine(buffer.size + kReadAhead); }

std::int64_t SpatialSize(const format::Dims& dims) {
  std::int64_t size = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) size *= dims[i];
  return size;
}

}  // namespace

Result<Buffer*> Arena::Append(Buffer buffer) {
  if (buffer.size > format::kMaxTensorBytes - declared_) {
    return Error{ErrorCode::kTooLarge, "",
                 "the model's values pass the limit of " + std::to_string(format::kMaxTensorBytes) +
                     " bytes"};
  }
  declared_ += buffer.size;
  values_.push_back(std::move(buffer));
  return &values_.back();
}

Result<Buffer*> Arena::Add(format::Tensor type, Layout layout, std::size_t now) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(type.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, format::PackedBytes(type.elem_type, count));
  QTX_ASSIGN_OR_RETURN(
      Buffer * buffer,
      Append({.type = std::move(type), .layout = layout, .size = size, .first = now, .last = now}));
  shared_.push_back(buffer);
  return buffer;
}

Buffer* Arena::AddAlias(Buffer& of, format::Tensor type, Layout layout) {
  Buffer& owner = of.alias_of == nullptr ? of : *of.alias_of;
  values_.push_back({.type = std::move(type),
                     .layout = layout,
                     .data = owner.data,
                     .size = of.size,
                     .alias_of = &owner});
  return &values_.back();
}

Result<Buffer*> Arena::AddConstant(format::Tensor type, Layout layout) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(type.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, format::PackedBytes(type.elem_type, count));
  QTX_ASSIGN_OR_RETURN(Buffer * buffer,
                       Append({.type = std::move(type), .layout = layout, .size = size}));
  constants_.emplace_back().Resize(Room(*buffer));
  buffer->data = constants_.back().data();
  return buffer;
}

Result<Buffer*> Arena::AddScratch(std::int64_t bytes, std::size_t now) {
  QTX_ASSIGN_OR_RETURN(Buffer * buffer, Append({.size = bytes, .first = now, .last = now}));
  shared_.push_back(buffer);
  return buffer;
}

void Arena::Use(Buffer& buffer, std::size_t now) {
  Buffer& owner = buffer.alias_of == nullptr ? buffer : *buffer.alias_of;
  owner.last = std::max(owner.last, now);
}

void Arena::Place() {
  struct Place {
    Buffer* buffer;
    std::int64_t address;
  };
  std::ranges::stable_sort(shared_, std::ranges::greater(), &Buffer::size);
  std::vector<Place> placed;  // by address
  for (Buffer* buffer : shared_) {
    std::int64_t address = 0;
    for (const Place& other : placed) {
      const bool together =
          other.buffer->first <= buffer->last && buffer->first <= other.buffer->last;
      if (!together) continue;
      if (other.address >= address + Room(*buffer)) break;
      address = std::max(address, other.address + Room(*other.buffer));
    }
    const auto before = std::ranges::upper_bound(placed, address, {}, &Place::address);
    placed.insert(before, {buffer, address});
    total_ = std::max(total_, address + Room(*buffer));
  }
  block_.Resize(total_);
  for (const Place& place : placed) place.buffer->data = block_.data() + place.address;
  for (Buffer& buffer : values_) {
    if (buffer.alias_of != nullptr) buffer.data = buffer.alias_of->data;
  }
}

format::Tensor BufferType(const format::Tensor& type, bool signed_bytes) {
  using format::ElementType;
  const ElementType from = signed_bytes ? ElementType::kUint8Q : ElementType::kInt8Q;
  format::Tensor buffer{.elem_type = type.elem_type,
                        .dims = type.dims,
                        .quantization = type.quantization,
                        .bytes = {}};
  if (type.elem_type != from) return buffer;
  const std::int32_t move = signed_bytes ? -128 : 128;
  buffer.elem_type = signed_bytes ? ElementType::kInt8Q : ElementType::kUint8Q;
  format::Quantization& q = *buffer.quantization;
  if (q.offset.empty()) q.offset.assign(q.scale.size(), 0);
  for (std::int32_t& offset : q.offset) offset += move;
  if (q.quant_min) *q.quant_min += move;
  if (q.quant_max) *q.quant_max += move;
  return buffer;
}

bool LayoutsCoincide(const format::Dims& dims) {
  return dims.size() < 3 || dims[1] == 1 || SpatialSize(dims) == 1;
}

void CopyFlipped(const std::byte* from, std::int64_t n, std::uint8_t flip, std::byte* to) {
  if (flip == 0) {
    std::copy_n(from, n, to);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i] ^ std::byte{flip};
}

void ChangeLayout(const std::byte* from, Layout layout, const format::Dims& dims, std::size_t size,
                  std::uint8_t flip, std::byte* to) {
  std::int64_t rows = dims[1];
  std::int64_t columns = SpatialSize(dims);
  if (layout == Layout::kChannelsLast) std::swap(rows, columns);
  const StridedMatrix matrix{rows, columns, columns};
  const std::int64_t bytes = rows * columns * static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < dims[0]; ++i) {
    TransposeMatrix(from + i * bytes, matrix, size, to + i * bytes, rows);
  }
  if (flip != 0) CopyFlipped(to, bytes * dims[0], flip, to);
}

}  // namespace qtx::backend::engine
