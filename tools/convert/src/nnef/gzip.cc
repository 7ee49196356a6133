#include "nnef/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "errors.h"

namespace qtx::convert {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";        // RFC 1952, 2.3.1
constexpr std::size_t kHeader = 512, kMagicAt = 257;  // of a tar: files.cc
constexpr std::size_t kStep = std::size_t{1} << 20;
constexpr std::size_t kMostBytes = std::size_t{1}
                                   << 30;  // of a tar: a gzip file may be 1/1000 of it

}  // namespace

Result<std::optional<std::string>> TarOfGzip(std::string_view bytes) {
  using MaybeTar = std::optional<std::string>;
  constexpr int kGzipAlone = 16 + MAX_WBITS;
  if (!bytes.starts_with(kGzip)) return MaybeTar();
  z_stream stream{};
  if (inflateInit2(&stream, kGzipAlone) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  // zlib reads `next_in` alone, but for a C without const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string tar;
  for (int status = Z_OK; status == Z_OK;) {
    const std::size_t size = tar.size();
    const std::size_t step = size == 0 ? kHeader : kStep;
    if (size + step > kMostBytes)
      return Error{ErrorCode::kTooLarge, "", "a tar of more than 2^30 bytes that gzip compressed"};
    tar.resize(size + step);
    stream.next_out = reinterpret_cast<Bytef*>(tar.data() + size);
    stream.avail_out = static_cast<uInt>(step);
    status = inflate(&stream, Z_NO_FLUSH);
    tar.resize(tar.size() - stream.avail_out);
    if (size == 0 && (tar.size() < kHeader || tar.compare(kMagicAt, 5, "ustar") != 0))
      return MaybeTar();  // what is compressed is of no kind
    if (status != Z_OK && (status != Z_STREAM_END || stream.avail_in != 0))
      return Invalid("found a damaged gzip file, expected one of one member");
  }
  return MaybeTar(std::move(tar));
}

}  // namespace qtx::convert
