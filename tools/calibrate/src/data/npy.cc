// NumPy's .npy and files of raw elements. Reads single samples.
#include "qtx/format/npy.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "data/readers.h"
#include "qtx/format/file.h"
#include "qtx/format/limits.h"

namespace qtx::calibrate {
namespace {

constexpr std::int64_t kMaxNpyHeaderBytes = 1 << 20;

Result<std::int64_t> SizeOf(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return Error{ErrorCode::kUnreadable, "", error.message()};
  return static_cast<std::int64_t>(size);
}

Result<std::string> ReadPart(const std::string& path, std::int64_t at, std::int64_t bytes) {
  std::string part(static_cast<std::size_t>(bytes), '\0');
  const auto read =
      format::ReadRange({path, at, bytes}, 0, std::as_writable_bytes(std::span(part)));
  if (!read.has_value()) return Error{read.error().code, "", read.error().message};
  return part;
}

// The elements of one sample within a file.
struct Place {
  format::ElementType elem_type = format::ElementType::kUndefined;
  Fit fit;
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t header = 0;  // bytes before the elements
  bool fortran = false;     // `offset` is that of the array in C order
};

Sample ReadPlace(const std::string& path, const Place& place, const Target& target) {
  auto tensor = format::MakeTensor(place.elem_type, place.fit.dims);
  if (!tensor.has_value()) return BadFile(tensor.error(), Reason::kShape);
  const auto read = format::ReadRange({path, place.offset, place.bytes}, 0, tensor->bytes);
  if (!read.has_value()) return BadFile({read.error().code, "", read.error().message});
  return OneInput(*std::move(tensor), target.inputs[0], target.preprocess());
}

// A file that holds its samples one after the other.
class Placed : public Reader {
 public:
  explicit Placed(const Target& target) : target_(target) {}

  Result<std::int64_t> Count(const std::string& path) const override {
    const auto place = Find(path, 0);
    if (!place.has_value()) return place.error().error;
    return place->fit.count;
  }
  Sample Read(const std::string& path, std::int64_t index) const override {
    const auto place = Find(path, index);
    if (!place.has_value()) return tl::unexpected(place.error());
    return place->fortran ? ReadFortran(path, *place) : ReadPlace(path, *place, target_);
  }

 protected:
  virtual tl::expected<Place, BadSample> Find(const std::string& path,
                                              std::int64_t index) const = 0;
  const Target& target_;

 private:
  // No sample lies in one piece: the array is turned once, and kept for the next samples.
  Sample ReadFortran(const std::string& path, const Place& place) const {
    const std::scoped_lock lock(mutex_);
    if (turned_path_ != path) {
      const auto bytes = format::ReadFile(path, format::kMaxTensorBytes);
      if (!bytes.has_value()) return BadFile({bytes.error().code, "", bytes.error().message});
      auto array = format::ParseNpy(*bytes);
      if (!array.has_value()) return BadFile(array.error());
      turned_ = *std::move(array);
      turned_path_ = path;
    }
    auto sample = SampleOf(turned_, {place.offset - place.header, place.bytes}, place.fit.dims);
    if (!sample.has_value()) return BadFile(sample.error());
    return OneInput(*std::move(sample), target_.inputs[0], target_.preprocess());
  }

  mutable std::mutex mutex_;
  mutable format::Tensor turned_;  // the last array in Fortran order, in C order
  mutable std::string turned_path_;
};

class Npy : public Placed {
 public:
  using Placed::Placed;

 private:
  tl::expected<Place, BadSample> Find(const std::string& path, std::int64_t index) const override {
    const auto size = SizeOf(path);
    if (!size.has_value()) return BadFile(size.error());
    const auto start = ReadPart(path, 0, std::min(*size, kMaxNpyHeaderBytes));
    if (!start.has_value()) return BadFile(start.error());
    const auto header = format::ParseNpyHeader(*start);
    if (!header.has_value()) return BadFile(header.error());
    const auto fit = FitDims(header->dims, target_.inputs[0]);
    if (!fit.has_value()) return Bad(Reason::kShape, fit.error());
    const auto slice = SliceOf(header->elem_type, *fit, index);
    if (!slice.has_value()) return Bad(Reason::kShape, slice.error());
    std::int64_t all = 0;
    if (__builtin_mul_overflow(slice->bytes, fit->count, &all) || all != *size - header->size) {
      return Bad(Reason::kMalformed,
                 {ErrorCode::kInvalid, "npy data",
                  "found " + std::to_string(*size - header->size) + " bytes, not those of shape " +
                      format::ToString(header->dims)});
    }
    return Place{header->elem_type, *fit,         header->size + slice->offset,
                 slice->bytes,      header->size, header->fortran};
  }
};

// Little-endian elements of the input's type, without a header.
class Raw : public Placed {
 public:
  using Placed::Placed;

 private:
  tl::expected<Place, BadSample> Find(const std::string& path, std::int64_t index) const override {
    const Input& input = target_.inputs[0];
    format::Shape shape = input.shape.value_or(format::Shape{{}});
    // A leading dimension without a size counts as 1 per sample.
    if (!shape.empty() && !shape[0].value) shape[0].value = 1;
    const auto dims = format::FixedDims(shape);
    if (!dims || !input.shape) {
      return Bad(Reason::kShape, {ErrorCode::kInvalid, "",
                                  "the shape of input '" + input.name +
                                      "' is not fixed, expected --shape for raw elements"});
    }
    const auto size = SizeOf(path);
    if (!size.has_value()) return BadFile(size.error());
    Fit fit{*dims, 1};
    auto slice = SliceOf(input.elem_type, fit, 0);
    if (!slice.has_value()) return Bad(Reason::kShape, slice.error());
    if (slice->bytes == 0 || *size == 0 || *size % slice->bytes != 0) {
      return Bad(Reason::kShape, {ErrorCode::kInvalid, "",
                                  "found " + std::to_string(*size) + " bytes, expected " +
                                      std::to_string(slice->bytes) + " for each sample"});
    }
    fit.count = *size / slice->bytes;
    return Place{input.elem_type, fit, index * slice->bytes, slice->bytes, 0, false};
  }
};

}  // namespace

Result<Slice> SliceOf(format::ElementType type, const Fit& fit, std::int64_t index) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(fit.dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t bytes, format::PackedBytes(type, count));
  // Limits the number of samples of size zero.
  if (bytes == 0) return Error{ErrorCode::kInvalid, "", "found samples without any element"};
  Slice slice{.bytes = bytes};
  if (index >= fit.count || __builtin_mul_overflow(index, bytes, &slice.offset)) {
    return Error{ErrorCode::kTooLarge, "", "the file has been truncated"};
  }
  return slice;
}

Result<format::Tensor> SampleOf(const format::Tensor& array, const Slice& slice,
                                const format::Dims& dims) {
  if (slice.offset + slice.bytes > std::ssize(array.bytes))
    return Error{ErrorCode::kInvalid, "", "has changed"};
  QTX_ASSIGN_OR_RETURN(format::Tensor sample, format::MakeTensor(array.elem_type, dims));
  std::ranges::copy(
      std::span(array.bytes)
          .subspan(static_cast<std::size_t>(slice.offset), static_cast<std::size_t>(slice.bytes)),
      sample.bytes.begin());
  return sample;
}

std::unique_ptr<Reader> NpyReader(const Target& target) { return std::make_unique<Npy>(target); }
std::unique_ptr<Reader> RawReader(const Target& target) { return std::make_unique<Raw>(target); }

}  // namespace qtx::calibrate
