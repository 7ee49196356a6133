// NumPy's .npz: a zip archive with an .npy file for each input. Archives are decompressed as
// streams, sample by sample.
#include "qtx/calibrate/npz.h"

#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "data/readers.h"
#include "qtx/format/limits.h"
#include "qtx/format/npy.h"

namespace qtx::calibrate {
namespace {

constexpr std::size_t kMaxHeaderBytes = 1 << 16;
// Threads request samples nearly in order. Those that one passes over are kept for the others: this
// many bytes, but one sample of any size.
constexpr std::int64_t kMaxKeptBytes = std::int64_t{64} << 20;
constexpr std::int64_t kEntryBytes = 512;  // of a kept sample, beside its elements

struct ZipClose {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct EntryClose {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

Error Broken(const std::string& array, const std::string& message) {
  return {ErrorCode::kInvalid, "array '" + array + "'", message};
}

// The bytes of an array that the archive can contain.
Result<std::uint64_t> SizeOf(zip_t* archive, std::uint64_t at, const std::string& name) {
  // DEFLATE makes at most 258 bytes of two bits: RFC 1951, 3.2.5.
  constexpr zip_uint64_t kMaxRatio = 1032;
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(archive, at, 0, &stat) != 0 || (stat.valid & kNeeded) != kNeeded ||
      (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)) {
    return Broken(name, "expected stored or deflated bytes");
  }
  if (stat.size / kMaxRatio > stat.comp_size) {
    return Broken(name, "found " + std::to_string(stat.comp_size) + " bytes, too few for the " +
                            std::to_string(stat.size) + " that they should hold");
  }
  return stat.size;
}

// Reads all of `to`.
Result<void> FillFrom(zip_file_t* entry, const std::string& name, std::span<std::byte> to) {
  while (!to.empty()) {
    const zip_int64_t read = zip_fread(entry, to.data(), to.size());
    if (read <= 0) return Broken(name, read == 0 ? "is cut short" : "cannot be decompressed");
    to = to.subspan(static_cast<std::size_t>(read));
  }
  return {};
}

// Reading past the last element makes libzip verify the checksum.
Result<void> EndOf(zip_file_t* entry, const std::string& name) {
  char more = 0;
  const zip_int64_t read = zip_fread(entry, &more, 1);
  if (read == 0) return {};
  return Broken(name, read < 0 ? "has a wrong checksum" : "has more bytes than its shape");
}

using ZipArchive = std::unique_ptr<zip_t, ZipClose>;

// What an entry says of its own size bounds the memory taken for it (SizeOf): no more than the
// file.
Result<void> CheckEntries(zip_t* archive, std::uint64_t file_size) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    zip_stat_init(&stat);
    if (zip_stat_index(archive, static_cast<zip_uint64_t>(i), 0, &stat) == 0 &&
        (stat.valid & ZIP_STAT_COMP_SIZE) != 0 && stat.comp_size > file_size) {
      return Error{ErrorCode::kInvalid, "entry " + std::to_string(i),
                   "found " + std::to_string(stat.comp_size) + " bytes in a file of " +
                       std::to_string(file_size)};
    }
  }
  return {};
}

Result<ZipArchive> OpenArchive(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return Error{ErrorCode::kUnreadable, "", "no such file"};
  int code = 0;
  ZipArchive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive != nullptr) {
    QTX_RETURN_IF_ERROR(CheckEntries(archive.get(), std::filesystem::file_size(path, error)));
    return archive;
  }
  zip_error_t why;
  zip_error_init_with_code(&why, code);
  const std::string message = zip_error_strerror(&why);
  zip_error_fini(&why);
  const bool unreadable = code == ZIP_ER_OPEN || code == ZIP_ER_READ;
  return Error{unreadable ? ErrorCode::kUnreadable : ErrorCode::kInvalid, "", message};
}

// One array of an archive, and how far it has been read.
class Array {
 public:
  // Errors: as Reader::Count; kInvalid without an array of this name.
  tl::expected<void, BadSample> Open(zip_t* archive, const Input& input) {
    name_ = input.name + ".npy";
    const zip_int64_t at = zip_name_locate(archive, name_.c_str(), 0);
    if (at < 0) {
      return Bad(Reason::kMalformed,
                 {ErrorCode::kInvalid, "", "found no array '" + input.name + "'"});
    }
    if (const auto begun = Begin(archive, static_cast<zip_uint64_t>(at)); !begun.has_value()) {
      return BadFile(begun.error());
    }
    const auto fit = FitDims(header_.dims, input);
    if (!fit.has_value()) return Bad(Reason::kShape, fit.error());
    fit_ = *fit;
    const auto slice = SliceOf(header_.elem_type, fit_, 0);
    if (!slice.has_value()) return Bad(Reason::kShape, slice.error());
    bytes_ = slice->bytes;
    if (const auto sound = CheckSize(archive); !sound.has_value()) return BadFile(sound.error());
    return {};
  }

  std::int64_t count() const { return fit_.count; }

  // The elements of the sample at `index`.
  Result<format::Tensor> Read(zip_t* archive, std::int64_t index) {
    if (header_.fortran) return ReadFortran(index);
    if (auto kept = kept_.extract(index); !kept.empty()) return std::move(kept.mapped());
    if (index < next_) {
      QTX_RETURN_IF_ERROR(Begin(archive, at_));
      kept_.clear();
    }
    while (next_ < index) {
      const std::int64_t passed = next_;
      QTX_ASSIGN_OR_RETURN(kept_[passed], Next());
      if (kept_.size() > 1 && std::ssize(kept_) * (bytes_ + kEntryBytes) > kMaxKeptBytes)
        kept_.erase(kept_.begin());
    }
    return Next();
  }

 private:
  Result<format::Tensor> Next() {
    QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::MakeTensor(header_.elem_type, fit_.dims));
    QTX_RETURN_IF_ERROR(FillFrom(entry_.get(), name_, tensor.bytes));
    if (++next_ == fit_.count) QTX_RETURN_IF_ERROR(EndOf(entry_.get(), name_));
    return tensor;
  }
  // No sample lies in one piece: the whole array is read and turned first.
  Result<format::Tensor> ReadFortran(std::int64_t index) {
    if (next_ == 0) {
      QTX_ASSIGN_OR_RETURN(turned_, format::MakeTensor(header_.elem_type, header_.dims));
      QTX_RETURN_IF_ERROR(FillFrom(entry_.get(), name_, turned_.bytes));
      QTX_RETURN_IF_ERROR(EndOf(entry_.get(), name_));
      turned_ = format::FromFortranOrder(turned_);
      next_ = fit_.count;
    }
    return SampleOf(turned_, {index * bytes_, bytes_}, fit_.dims);
  }
  // Checks that the archive can contain the promised elements.
  Result<void> CheckSize(zip_t* archive) const {
    QTX_ASSIGN_OR_RETURN(const std::uint64_t size, SizeOf(archive, at_, name_));
    std::int64_t all = 0;
    if (__builtin_mul_overflow(bytes_, fit_.count, &all) ||
        __builtin_add_overflow(all, header_.size, &all) ||
        static_cast<std::uint64_t>(all) != size) {
      return Broken(name_, "found " + std::to_string(size) + " bytes, not those of shape " +
                               format::ToString(header_.dims));
    }
    return {};
  }
  // The stream at the array's first element.
  Result<void> Begin(zip_t* archive, zip_uint64_t at) {
    at_ = at;
    next_ = 0;
    entry_.reset(zip_fopen_index(archive, at, 0));
    if (entry_ == nullptr) return Broken(name_, zip_strerror(archive));
    std::string start(12, '\0');
    QTX_RETURN_IF_ERROR(FillFrom(entry_.get(), name_, std::as_writable_bytes(std::span(start))));
    const auto byte = [&start](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(start[i]));
    };
    const bool first_version = byte(6) == 1;
    // Of version 1 two bytes of the header have been read with its length.
    const std::size_t length =
        byte(8) + 256 * byte(9) + (first_version ? 0 : 65536 * byte(10) + 16777216 * byte(11));
    const std::size_t have = first_version ? 2 : 0;
    if (length < have || length > kMaxHeaderBytes)
      return Broken(name_, "expected a NumPy .npy file");
    start.resize(12 + length - have);
    QTX_RETURN_IF_ERROR(
        FillFrom(entry_.get(), name_, std::as_writable_bytes(std::span(start).subspan(12))));
    auto header = format::ParseNpyHeader(start);
    if (!header.has_value()) return At("array '" + name_ + "'", header.error());
    header_ = *std::move(header);
    return {};
  }
  std::string name_;
  zip_uint64_t at_ = 0;
  std::unique_ptr<zip_file_t, EntryClose> entry_;
  format::NpyHeader header_;
  Fit fit_;
  std::int64_t bytes_ = 0;  // of a sample
  std::int64_t next_ = 0;   // sample that the stream is at
  std::map<std::int64_t, format::Tensor> kept_;
  format::Tensor turned_;  // an array in Fortran order, in C order
};

class Archive {
 public:
  tl::expected<void, BadSample> Open(const std::string& path, const Target& target) {
    auto archive = OpenArchive(path);
    if (!archive.has_value()) return BadFile(archive.error());
    archive_ = *std::move(archive);
    for (const Input& input : target.inputs) {
      auto opened = arrays_.emplace_back().Open(archive_.get(), input);
      if (!opened.has_value()) return opened;
      if (arrays_.back().count() != arrays_.front().count()) {
        return Bad(Reason::kShape,
                   {ErrorCode::kInvalid, "array '" + input.name + "'",
                    "found " + std::to_string(arrays_.back().count()) + " samples, expected " +
                        std::to_string(arrays_.front().count())});
      }
    }
    return {};
  }
  std::int64_t count() const { return arrays_.front().count(); }
  Sample Read(std::int64_t index, const Target& target) {
    std::vector<format::Tensor> inputs;
    if (index >= count()) return Bad(Reason::kMalformed, {ErrorCode::kInvalid, "", "has changed"});
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      auto tensor = arrays_[i].Read(archive_.get(), index);
      if (!tensor.has_value()) return BadFile(tensor.error());
      auto one = OneInput(*std::move(tensor), target.inputs[i], target.preprocess());
      if (!one.has_value())
        return Bad(one.error().reason, At(target.inputs[i].name, one.error().error));
      inputs.push_back(std::move(one->front()));
    }
    return inputs;
  }

 private:
  ZipArchive archive_;  // outlives its entries
  std::vector<Array> arrays_;
};

class Npz : public Reader {
 public:
  explicit Npz(const Target& target) : target_(target) {}

  Result<std::int64_t> Count(const std::string& path) const override {
    Archive archive;
    const auto opened = archive.Open(path, target_);
    if (!opened.has_value()) return opened.error().error;
    return archive.count();
  }
  Sample Read(const std::string& path, std::int64_t index) const override {
    const std::scoped_lock lock(mutex_);
    if (open_ == nullptr || path_ != path) {
      auto archive = std::make_unique<Archive>();
      open_.reset();
      if (auto opened = archive->Open(path, target_); !opened.has_value()) {
        return tl::unexpected(opened.error());
      }
      open_ = std::move(archive);
      path_ = path;
    }
    return open_->Read(index, target_);
  }

 private:
  const Target& target_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Archive> open_;  // the last one
  mutable std::string path_;
};

// The array's bytes, which are an .npy file.
Result<std::string> ReadEntry(zip_t* archive, std::uint64_t at, const std::string& name) {
  QTX_ASSIGN_OR_RETURN(const std::uint64_t size, SizeOf(archive, at, name));
  if (size > static_cast<std::uint64_t>(format::kMaxTensorBytes))
    return Error{ErrorCode::kTooLarge, "array '" + name + "'",
                 "found " + std::to_string(size) + " bytes, expected at most " +
                     std::to_string(format::kMaxTensorBytes)};
  const std::unique_ptr<zip_file_t, EntryClose> entry(zip_fopen_index(archive, at, 0));
  if (entry == nullptr) return Broken(name, zip_strerror(archive));
  // The size is what the archive says: memory is taken as bytes come, twice as much each time.
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 20;
  std::string bytes;
  while (bytes.size() < size) {
    const std::size_t begin = bytes.size();
    bytes.resize(std::min<std::uint64_t>(size, std::max<std::uint64_t>(kFirst, 2 * begin)));
    QTX_RETURN_IF_ERROR(
        FillFrom(entry.get(), name, std::as_writable_bytes(std::span(bytes)).subspan(begin)));
  }
  QTX_RETURN_IF_ERROR(EndOf(entry.get(), name));
  return bytes;
}

}  // namespace

Result<format::Tensor> ReadNpzArray(const std::string& path, const std::string& name) {
  const auto archive = OpenArchive(path);
  if (!archive.has_value()) return At(path, archive.error());
  const zip_int64_t count = zip_get_num_entries(archive->get(), 0);
  const std::string file = name + ".npy";
  zip_int64_t at = zip_name_locate(archive->get(), file.c_str(), 0);
  if (at < 0 && count == 1) at = 0;
  if (at < 0) {
    return Error{ErrorCode::kInvalid, path,
                 "found " + std::to_string(count) + " arrays, none of them '" + name +
                     "', expected it, or one array alone"};
  }
  const auto bytes = ReadEntry(archive->get(), static_cast<std::uint64_t>(at), file);
  if (!bytes.has_value()) return At(path, bytes.error());
  auto tensor = format::ParseNpy(*bytes);
  if (!tensor.has_value()) return At(path, At("array '" + file + "'", tensor.error()));
  return tensor;
}

std::unique_ptr<Reader> NpzReader(const Target& target) { return std::make_unique<Npz>(target); }

}  // namespace qtx::calibrate
