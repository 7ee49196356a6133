#include "qtx/format/npy.h"

#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "qtx/format/limits.h"

namespace qtx::format {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;  // of the elements within the file

struct Descr {
  std::string_view text;
  ElementType type;
};
constexpr std::array kDescrs = {
    Descr{"<f4", ElementType::kFloat},   Descr{"<f8", ElementType::kDouble},
    Descr{"<f2", ElementType::kFloat16}, Descr{"|i1", ElementType::kInt8},
    Descr{"|u1", ElementType::kUint8},   Descr{"<i2", ElementType::kInt16},
    Descr{"<u2", ElementType::kUint16},  Descr{"<i4", ElementType::kInt32},
    Descr{"<u4", ElementType::kUint32},  Descr{"<i8", ElementType::kInt64},
    Descr{"<u8", ElementType::kUint64},  Descr{"|b1", ElementType::kBool},
};

Error Bad(const std::string& message) { return {ErrorCode::kInvalid, "npy header", message}; }

// A header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, a literal of Python. Like
// NumPy it has these keys and no others, each once.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  Result<NpyHeader> Read() {
    NpyHeader header;
    if (!Take('{')) return Bad("expected a dictionary");
    while (!Take('}')) {
      QTX_RETURN_IF_ERROR(Entry(header));
      if (!Take(',') && !rest_.starts_with('}')) return Bad("expected a comma");
    }
    if (!descr_ || !order_ || !shape_)
      return Bad("expected the keys descr, fortran_order and shape");
    if (rest_.find_first_not_of(" \n") != rest_.npos) return Bad("found text after the dictionary");
    header.fortran = header.fortran && header.dims.size() > 1;
    return header;
  }

 private:
  Result<void> Entry(NpyHeader& header) {
    const std::string_view key = Quoted();
    bool* const seen = key == "descr" ? &descr_ : key == "shape" ? &shape_ : &order_;
    if (key.empty() || (seen == &order_ && key != "fortran_order"))
      return Bad("found '" + std::string(key.empty() ? rest_ : key).substr(0, 40) +
                 "', expected one of the keys descr, fortran_order and shape");
    if (std::exchange(*seen, true)) return Bad("found '" + std::string(key) + "' twice");
    if (!Take(':')) return Bad("expected a colon after '" + std::string(key) + "'");
    if (seen == &descr_) {
      QTX_ASSIGN_OR_RETURN(header.elem_type, Descriptor());
    } else if (seen == &shape_) {
      QTX_ASSIGN_OR_RETURN(header.dims, Shape());
    } else {
      QTX_ASSIGN_OR_RETURN(header.fortran, Order());
    }
    return {};
  }
  void SkipBlanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool Take(char c) {
    SkipBlanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    SkipBlanks();
    return true;
  }
  // The text between quotes; empty where there is none.
  std::string_view Quoted() {
    SkipBlanks();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == rest_.npos) return {};
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  Result<ElementType> Descriptor() {
    const std::string_view before = rest_;
    const std::string_view text = Quoted();
    for (const Descr& descr : kDescrs) {
      if (text == descr.text) return descr.type;
    }
    if (text.starts_with('>')) return Bad("found big-endian elements, expected little-endian");
    return Error{ErrorCode::kUnsupported, "npy header",
                 "found elements " + std::string(before.substr(0, 12)) +
                     ", expected bool, an integer or a float type"};
  }
  Result<bool> Order() {
    for (const std::string_view word : {"False", "True"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      SkipBlanks();
      return word == "True";
    }
    return Bad("expected True or False for 'fortran_order'");
  }
  Result<Dims> Shape() {
    if (!Take('(')) return Bad("expected a tuple for 'shape'");
    Dims dims;
    while (!Take(')')) {
      std::int64_t dim = 0;
      const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (code != std::errc() || dim < 0) return Bad("expected non-negative numbers in 'shape'");
      if (dims.size() == kMaxRank)
        return Bad("found more than " + std::to_string(kMaxRank) + " dimensions in 'shape'");
      dims.push_back(dim);
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (!Take(',') && !rest_.starts_with(')')) return Bad("expected a comma in 'shape'");
    }
    return dims;
  }

  std::string_view rest_;
  bool descr_ = false, order_ = false, shape_ = false;  // which keys were there
};

struct NpyLayout {
  std::string_view header, elements;
};

Result<NpyLayout> Split(std::string_view bytes) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) {
    return Error{ErrorCode::kInvalid, "", "expected a NumPy .npy file"};
  }
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return Bad("found version " + std::to_string(version) + ", expected 1 to 3");
  const std::size_t start = version == 1 ? 10 : 12;
  std::uint32_t length = 0;
  if (bytes.size() < start) return Bad("the file is cut short");
  std::memcpy(&length, bytes.data() + 8, start - 8);
  if (bytes.size() - start < length) return Bad("the file is cut short");
  return NpyLayout{bytes.substr(start, length), bytes.substr(start + length)};
}

// The type NumPy has for `tensor`, and the tensor in it.
Result<Tensor> Widen(const Tensor& tensor) {
  const ElementType storage = StorageOf(tensor.elem_type);
  for (const Descr& descr : kDescrs) {
    if (descr.type != storage) continue;
    Tensor plain = tensor;
    plain.elem_type = storage;
    return plain;
  }
  if (IsIntegerStorage(storage)) {
    const bool is_signed = StorageRange(storage).min < 0;
    QTX_ASSIGN_OR_RETURN(
        Tensor wide, MakeTensor(is_signed ? ElementType::kInt8 : ElementType::kUint8, tensor.dims));
    PackIntegers(UnpackIntegers(tensor), wide);
    return wide;
  }
  if (!IsSmallFloat(storage) && storage != ElementType::kBfloat16) {
    return Error{
        ErrorCode::kUnsupported, "",
        "found elements of type " + std::string(Name(storage)) + ", which .npy has no type for"};
  }
  QTX_ASSIGN_OR_RETURN(Tensor wide, MakeTensor(ElementType::kFloat, tensor.dims));
  const auto values = StoredValues(tensor);
  for (std::size_t i = 0; i < values.size(); ++i)
    wide.As<float>()[i] = static_cast<float>(values[i]);
  return wide;
}

}  // namespace

Result<NpyHeader> ParseNpyHeader(std::string_view bytes) {
  QTX_ASSIGN_OR_RETURN(const NpyLayout layout, Split(bytes));
  QTX_ASSIGN_OR_RETURN(NpyHeader header, Reader(layout.header).Read());
  header.size = static_cast<std::int64_t>(bytes.size() - layout.elements.size());
  return header;
}

Result<Tensor> ParseNpy(std::string_view bytes) {
  QTX_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(bytes));
  const std::string_view elements = bytes.substr(static_cast<std::size_t>(header.size));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count,
                       ElementCount(std::span<const std::int64_t>(header.dims)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, PackedBytes(header.elem_type, count));
  if (static_cast<std::int64_t>(elements.size()) != size) {
    return Error{
        ErrorCode::kInvalid, "npy data",
        "found " + std::to_string(elements.size()) + " bytes, expected " + std::to_string(size)};
  }
  QTX_ASSIGN_OR_RETURN(Tensor tensor, MakeTensor(header.elem_type, header.dims));
  if (size != 0) std::memcpy(tensor.bytes.data(), elements.data(), elements.size());
  return header.fortran ? FromFortranOrder(tensor) : tensor;
}

Tensor FromFortranOrder(const Tensor& fortran) {
  Tensor tensor = fortran;
  const auto size = static_cast<std::size_t>(BitWidth(tensor.elem_type) / 8);
  std::vector<std::size_t> sizes, strides;  // of each axis; strides in bytes of `fortran`
  std::size_t stride = size;
  for (const std::int64_t dim : tensor.dims) {
    sizes.push_back(static_cast<std::size_t>(dim));
    strides.push_back(stride);
    stride *= sizes.back();
  }
  std::vector<std::size_t> index(sizes.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < tensor.bytes.size(); to += size) {
    std::memcpy(tensor.bytes.data() + to, fortran.bytes.data() + from, size);
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < sizes[axis]) break;
      from -= strides[axis] * sizes[axis];
      index[axis] = 0;
    }
  }
  return tensor;
}

Result<std::string> ToNpy(const Tensor& tensor) {
  QTX_ASSIGN_OR_RETURN(const Tensor plain, Widen(tensor));
  std::string_view descr;
  for (const Descr& candidate : kDescrs) {
    if (candidate.type == plain.elem_type) descr = candidate.text;
  }
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t dim : plain.dims) header += std::to_string(dim) + ", ";
  if (plain.dims.size() > 1) header.resize(header.size() - 2);
  if (plain.dims.size() == 1) header.resize(header.size() - 1);
  header += "), }";
  const std::size_t prefix = kMagic.size() + 4;
  header.append(kAlignment - (prefix + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(plain.bytes.data()), plain.bytes.size());
  return bytes;
}

}  // namespace qtx::format
