#include "nnef/dat.h"

#include <array>
#include <bit>
#include <cstring>

#include "errors.h"

namespace qtx::convert::nnef {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::size_t kHeader = 128;
constexpr std::size_t kMaxRank = 8;
constexpr std::size_t kRankAt = 8, kDimsAt = 12, kBitsAt = 44, kTypeAt = 48, kSignedAt = 52;

std::uint32_t Word(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i)
    word |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return word;
}

void SetWord(std::string& bytes, std::size_t at, std::uint32_t word) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>((word >> (8 * i)) & 0xFF);
}

Error Broken(std::size_t at, const std::string& what, std::uint64_t found,
             const std::string& expected) {
  return Invalid("byte " + std::to_string(at),
                 "found " + what + " " + std::to_string(found) + ", expected " + expected);
}

Result<ItemType> ItemOf(std::string_view bytes) {
  const std::uint32_t code = Word(bytes, kTypeAt);
  if (code >> 16 != 0)
    return Unsupported("byte 48", "item type " + std::to_string(code & 0xFFFF) + " of vendor " +
                                      std::to_string(code >> 16));
  if (code == 0x10 || code == 0x11)
    return Unsupported("byte 48",
                       "item type " + std::to_string(code) +
                           ", quantization in the tensor; since 1.0.3 it is in graph.quant");
  if (code > static_cast<std::uint32_t>(ItemType::kBool))
    return Broken(kTypeAt, "item type", code, "0 to 5");
  // Before 1.0.3 a word behind the type said whether integers are signed.
  const bool is_signed = code == 1 && Word(bytes, kSignedAt) != 0;
  return is_signed ? ItemType::kInt : static_cast<ItemType>(code);
}

Result<void> CheckBits(ItemType item, std::uint32_t bits) {
  if (item == ItemType::kFloat && bits != 16 && bits != 32 && bits != 64)
    return Broken(kBitsAt, "bits per item", bits, "16, 32 or 64 of floats");
  if (item == ItemType::kBool && bits != 1 && bits != 8)
    return Broken(kBitsAt, "bits per item", bits, "1 or 8 of booleans");
  if (bits == 0 || bits > 64) return Broken(kBitsAt, "bits per item", bits, "1 to 64");
  return {};
}

std::uint64_t ItemAt(const Dat& dat, std::size_t i) {
  std::uint64_t item = 0;
  const auto bits = static_cast<std::size_t>(dat.bits);
  if (bits % 8 == 0) {
    for (std::size_t k = 0; k < bits / 8; ++k)
      item |= std::uint64_t{static_cast<unsigned char>(dat.items[i * bits / 8 + k])} << (8 * k);
    return item;
  }
  for (std::size_t bit = i * bits; bit < (i + 1) * bits; ++bit) {
    const auto byte = static_cast<unsigned char>(dat.items[bit / 8]);
    item = item << 1 | ((byte >> (7 - bit % 8)) & 1U);
  }
  return item;
}

std::size_t CountOf(const Dat& dat) {
  std::size_t count = 1;
  for (const std::int64_t dim : dat.dims) count *= static_cast<std::size_t>(dim);
  return count;
}

struct ItemForm {
  ItemType item;
  std::uint32_t bits;
};

Result<ItemForm> FormOf(ElementType type) {
  const ElementType storage = format::StorageOf(type);
  const auto bits = static_cast<std::uint32_t>(format::BitWidth(storage));
  if (type == ElementType::kBool) return ItemForm{ItemType::kBool, 8};
  if (type == ElementType::kFloat || type == ElementType::kFloat16 || type == ElementType::kDouble)
    return ItemForm{ItemType::kFloat, bits};
  if (!format::IsIntegerStorage(storage) || storage == ElementType::kBipolar1)
    return Unsupported("", "NNEF has no items of " + std::string(format::Name(type)));
  const bool is_signed = format::StorageRange(storage).min < 0;
  if (format::IsQuantized(type))
    return ItemForm{is_signed ? ItemType::kQint : ItemType::kQuint, bits};
  return ItemForm{is_signed ? ItemType::kInt : ItemType::kUint, bits};
}

// ONNX packs the first of several elements of a byte into its low bits, NNEF into its high ones.
std::string Repacked(const Tensor& tensor, std::uint32_t bits) {
  std::string items(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  if (bits >= 8) return items;
  for (char& c : items) {
    const auto byte = static_cast<unsigned char>(c);
    unsigned swapped = 0;
    for (unsigned at = 0; at < 8; at += bits)
      swapped |= ((byte >> at) & ((1U << bits) - 1)) << (8 - bits - at);
    c = static_cast<char>(swapped);
  }
  return items;
}

}  // namespace

Result<Dat> ParseDat(std::string_view bytes) {
  if (bytes.size() < kHeader)
    return Invalid("found " + std::to_string(bytes.size()) + " bytes, expected a header of 128");
  if (bytes.substr(0, 2) != "N\xEF") return Invalid("byte 0", "found no 'N', 0xEF of NNEF");
  if (bytes[2] != 1 || bytes[3] != 0)
    return Invalid("byte 2",
                   "found version " + std::to_string(static_cast<unsigned char>(bytes[2])) + "." +
                       std::to_string(static_cast<unsigned char>(bytes[3])) + ", expected 1.0");
  const std::uint32_t rank = Word(bytes, kRankAt);
  if (rank > kMaxRank) return Broken(kRankAt, "rank", rank, "at most 8");
  Dat dat;
  for (std::size_t i = 0; i < rank; ++i) dat.dims.push_back(Word(bytes, kDimsAt + 4 * i));
  QTX_ASSIGN_OR_RETURN(dat.item, ItemOf(bytes));
  const std::uint32_t bits = Word(bytes, kBitsAt);
  QTX_RETURN_IF_ERROR(CheckBits(dat.item, bits));
  dat.bits = static_cast<int>(bits);
  const auto count = format::ElementCount(dat.dims);
  if (!count.has_value()) return At("byte 12", count.error());
  const std::uint64_t size = bytes.size() - kHeader;
  if (static_cast<std::uint64_t>(*count) > size * 8 / bits)
    return Broken(kDimsAt, "items", static_cast<std::uint64_t>(*count),
                  "at most " + std::to_string(size * 8 / bits) + ", as many as the file has");
  const std::uint64_t expected = (static_cast<std::uint64_t>(*count) * bits + 7) / 8;
  if (Word(bytes, 4) != expected)
    return Broken(4, "data length", Word(bytes, 4), std::to_string(expected));
  if (size != expected)
    return Invalid("found " + std::to_string(size) + " bytes behind the header, expected " +
                   std::to_string(expected));
  dat.items = bytes.substr(kHeader);
  return dat;
}

Result<std::vector<std::int64_t>> IntegersOf(const Dat& dat) {
  std::vector<std::int64_t> values(CountOf(dat));
  const bool is_signed = dat.item == ItemType::kQint || dat.item == ItemType::kInt;
  const int unused = 64 - dat.bits;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t item = ItemAt(dat, i);
    values[i] = static_cast<std::int64_t>(item << unused);
    if (is_signed) {
      values[i] >>= unused;
    } else if (item >> 63 != 0) {
      return Unsupported("item " + std::to_string(i), "an unsigned integer of 2^63 or more");
    } else {
      values[i] = static_cast<std::int64_t>(item);
    }
    if (dat.item == ItemType::kBool) values[i] = values[i] != 0 ? 1 : 0;
  }
  return values;
}

Tensor FloatsOf(const Dat& dat, bool& rounded) {
  Tensor tensor{ElementType::kFloat, dat.dims, std::nullopt, {}};
  tensor.bytes.resize(CountOf(dat) * sizeof(float));
  rounded = false;
  const auto values = tensor.As<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t item = ItemAt(dat, i);
    if (dat.bits == 32) {
      values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(item));
    } else if (dat.bits == 16) {
      values[i] = static_cast<float>(
          format::DecodeSmallFloat(ElementType::kFloat16, static_cast<std::uint32_t>(item)));
    } else {
      const auto real = std::bit_cast<double>(item);
      values[i] = static_cast<float>(real);
      rounded = rounded || (static_cast<double>(values[i]) != real && real == real);
    }
  }
  return tensor;
}

Result<std::string> DatOf(const Tensor& tensor) {
  QTX_ASSIGN_OR_RETURN(const ItemForm form, FormOf(tensor.elem_type));
  if (tensor.dims.size() > kMaxRank)
    return Unsupported("", "rank " + std::to_string(tensor.dims.size()) + ", NNEF has at most 8");
  if (tensor.bytes.size() > 0xFFFFFFFF)
    return Unsupported("", "more than 4 GiB, whose length NNEF cannot say");
  std::string bytes(kHeader, '\0');
  bytes[0] = 'N';
  bytes[1] = '\xEF';
  bytes[2] = 1;
  SetWord(bytes, 4, static_cast<std::uint32_t>(tensor.bytes.size()));
  SetWord(bytes, kRankAt, static_cast<std::uint32_t>(tensor.dims.size()));
  for (std::size_t i = 0; i < tensor.dims.size(); ++i)
    SetWord(bytes, kDimsAt + 4 * i, static_cast<std::uint32_t>(tensor.dims[i]));
  SetWord(bytes, kBitsAt, form.bits);
  SetWord(bytes, kTypeAt, static_cast<std::uint32_t>(form.item));
  return bytes + Repacked(tensor, form.bits);
}

}  // namespace qtx::convert::nnef
