#include "qtx/format/npy.h"

#include <array>
#include <charconv>
#include <cstring>

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

// What follows `key` in the header's dictionary literal, blanks skipped.
Result<std::string_view> After(std::string_view header, std::string_view key) {
  std::size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) at = header.find("\"" + std::string(key) + "\"");
  if (at == std::string_view::npos) return Bad("expected the key '" + std::string(key) + "'");
  std::string_view rest = header.substr(at + key.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  return rest;
}

Result<ElementType> ParseDescr(std::string_view header) {
  QTX_ASSIGN_OR_RETURN(const std::string_view rest, After(header, "descr"));
  const std::string_view text = rest.size() < 4 ? "" : rest.substr(1, 3);
  for (const Descr& descr : kDescrs) {
    if (text == descr.text) return descr.type;
  }
  if (text.starts_with('>')) return Bad("found big-endian elements, expected little-endian");
  return Error{ErrorCode::kUnsupported, "npy header",
               "found elements " + std::string(rest.substr(0, 12)) +
                   ", expected bool, an integer or a float type"};
}

Result<Dims> ParseShape(std::string_view header) {
  QTX_ASSIGN_OR_RETURN(std::string_view rest, After(header, "shape"));
  if (!rest.starts_with('(')) return Bad("expected a tuple for 'shape'");
  rest.remove_prefix(1);
  Dims dims;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,"), rest.size()));
    if (rest.starts_with(')')) return dims;
    std::int64_t dim = 0;
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
    if (code != std::errc() || dim < 0) return Bad("expected non-negative numbers in 'shape'");
    dims.push_back(dim);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
}

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
  NpyHeader header;
  QTX_ASSIGN_OR_RETURN(header.elem_type, ParseDescr(layout.header));
  QTX_ASSIGN_OR_RETURN(const std::string_view order, After(layout.header, "fortran_order"));
  QTX_ASSIGN_OR_RETURN(header.dims, ParseShape(layout.header));
  if (!order.starts_with("False") && header.dims.size() > 1) {
    return Bad("found Fortran order, expected C order");
  }
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
