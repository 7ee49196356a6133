#include "safetensors/header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "errors.h"
#include "json_document.h"

namespace qtx::convert::safetensors {
namespace {

using enum format::ElementType;

// Source: the dtypes of safetensors 0.8.0. F6 and complex elements stay bytes: no type here has
// them.
constexpr std::array kDtypes = {
    Dtype{"BOOL", kBool, 8},
    Dtype{"F4", kFloat4E2M1, 4},
    Dtype{"F6_E2M3", kUndefined, 6},
    Dtype{"F6_E3M2", kUndefined, 6},
    Dtype{"U8", kUint8, 8},
    Dtype{"I8", kInt8, 8},
    Dtype{"F8_E5M2", kFloat8E5M2, 8},
    Dtype{"F8_E4M3", kFloat8E4M3FN, 8},
    Dtype{"F8_E5M2FNUZ", kFloat8E5M2FNUZ, 8},
    Dtype{"F8_E4M3FNUZ", kFloat8E4M3FNUZ, 8},
    Dtype{"F8_E8M0", kFloat8E8M0, 8},
    Dtype{"I16", kInt16, 16},
    Dtype{"U16", kUint16, 16},
    Dtype{"F16", kFloat16, 16},
    Dtype{"BF16", kBfloat16, 16},
    Dtype{"I32", kInt32, 32},
    Dtype{"U32", kUint32, 32},
    Dtype{"F32", kFloat, 32},
    Dtype{"C64", kUndefined, 64},
    Dtype{"F64", kDouble, 64},
    Dtype{"I64", kInt64, 64},
    Dtype{"U64", kUint64, 64},
};

constexpr std::size_t kMaxRank = 64;
constexpr std::string_view kMetadata = "__metadata__";

std::string_view TextOf(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

Result<void> CheckMetadata(const rapidjson::Value& metadata) {
  if (!metadata.IsObject()) return Invalid(std::string(kMetadata), "expected an object of texts");
  for (const auto& member : metadata.GetObject()) {
    if (member.value.IsString()) continue;
    return Invalid(std::string(kMetadata) + ": " + std::string(TextOf(member.name)),
                   "expected a text");
  }
  return {};
}

// An array of numbers from 0 on.
Result<std::vector<std::int64_t>> Counts(const rapidjson::Value& value, const char* field) {
  const auto fits = [](const rapidjson::Value& item) {
    return item.IsInt64() && item.GetInt64() >= 0;
  };
  std::vector<std::int64_t> counts;
  if (!value.IsArray() || value.Size() > kMaxRank || !std::ranges::all_of(value.GetArray(), fits)) {
    return Invalid(field, "expected an array of at most " + std::to_string(kMaxRank) +
                              " integers from 0 to 2^63 - 1");
  }
  for (const auto& item : value.GetArray()) counts.push_back(item.GetInt64());
  return counts;
}

// The bytes of a tensor of that shape.
Result<std::int64_t> SizeOf(const HeaderEntry& entry) {
  auto count = format::ElementCount(std::span<const std::int64_t>(entry.dims));
  if (!count.has_value()) return At("shape", count.error());
  const std::int64_t bits = *count * entry.dtype->bits;  // at most 2^32 elements of 2^6 bits
  if (bits % 8 == 0) return bits / 8;
  return Invalid("shape", "found " + std::to_string(*count) + " elements of " +
                              std::to_string(entry.dtype->bits) + " bits, expected whole bytes");
}

Result<HeaderEntry> ReadEntry(const rapidjson::Value& value) {
  if (!value.IsObject()) return Invalid("expected an object");
  QTX_RETURN_IF_ERROR(CheckMembers(value, {"dtype", "shape", "data_offsets"}));
  if (value.MemberCount() != 3) return Invalid("expected dtype, shape and data_offsets");
  HeaderEntry entry;
  const rapidjson::Value& dtype = value["dtype"];
  if (!dtype.IsString()) return Invalid("dtype", "expected a text");
  entry.dtype = FindDtype(TextOf(dtype));
  if (entry.dtype == nullptr)
    return Invalid("dtype", "found '" + std::string(TextOf(dtype)) + "', which is no dtype");
  QTX_ASSIGN_OR_RETURN(entry.dims, Counts(value["shape"], "shape"));
  QTX_ASSIGN_OR_RETURN(const auto offsets, Counts(value["data_offsets"], "data_offsets"));
  QTX_ASSIGN_OR_RETURN(const std::int64_t size, SizeOf(entry));
  if (offsets.size() != 2 || offsets[1] < offsets[0] || offsets[1] - offsets[0] != size) {
    return Invalid("data_offsets", "found " + format::ToString(std::span(offsets)) +
                                       ", expected a range of " + std::to_string(size) + " bytes");
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

Result<void> CheckNames(const std::vector<HeaderEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const HeaderEntry& entry : entries) names.push_back(entry.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return Invalid("'" + std::string(*twice) + "'", "is the name of two tensors");
}

// The tensors lie one after another, and end with the file.
Result<void> CheckCoverage(const std::vector<HeaderEntry>& entries, std::int64_t data_bytes) {
  std::int64_t at = 0;
  for (const HeaderEntry& entry : entries) {
    if (entry.begin != at) {
      return Invalid("'" + entry.name + "'",
                     "data_offsets: found a begin of " + std::to_string(entry.begin) +
                         ", expected " + std::to_string(at) + ", where the tensor before it ends");
    }
    at = entry.end;
    if (at > data_bytes) {
      return Invalid("'" + entry.name + "'",
                     "data_offsets: found an end of " + std::to_string(at) + ", expected at most " +
                         std::to_string(data_bytes) + ", the end of the file");
    }
  }
  if (at == data_bytes) return {};
  return Invalid("found " + std::to_string(data_bytes) + " bytes behind the header, expected " +
                 std::to_string(at) + ", those of the tensors");
}

}  // namespace

const Dtype* FindDtype(std::string_view name) {
  const auto* found = std::ranges::find(kDtypes, name, &Dtype::name);
  return found == kDtypes.end() ? nullptr : found;
}

Result<std::int64_t> HeaderLength(std::string_view first, std::int64_t file_bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, first.data(), sizeof(length));
  if (length > static_cast<std::uint64_t>(kMaxHeaderBytes)) {
    return Error{ErrorCode::kTooLarge, "header",
                 "found a length of " + std::to_string(length) + ", expected at most " +
                     std::to_string(kMaxHeaderBytes) + " bytes"};
  }
  const auto bytes = static_cast<std::int64_t>(length);
  if (bytes <= file_bytes - kLengthBytes) return bytes;
  return Invalid("header", "found a length of " + std::to_string(bytes) + ", expected at most " +
                               std::to_string(file_bytes - kLengthBytes) +
                               ", the bytes that the file has behind it");
}

bool LooksLikeHeader(std::string_view bytes) {
  if (bytes.size() < static_cast<std::size_t>(kLengthBytes) + 2 || bytes[kLengthBytes] != '{')
    return false;
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  // What is too long by little is refused by what it is, not as an unknown kind.
  return length >= 2 && length <= std::uint64_t{1} << 40;
}

Result<std::vector<HeaderEntry>> ParseHeader(std::string_view json,
                                             std::optional<std::int64_t> data_bytes) {
  rapidjson::Document document;
  auto parsed = ParseObject(json, document);
  if (!parsed.has_value()) return At("header", parsed.error());
  std::vector<HeaderEntry> entries;
  entries.reserve(document.MemberCount());
  bool has_metadata = false;
  for (const auto& member : document.GetObject()) {
    const std::string_view name = TextOf(member.name);
    if (name == kMetadata) {
      if (has_metadata) return Invalid(std::string(kMetadata), "is given twice");
      has_metadata = true;
      QTX_RETURN_IF_ERROR(CheckMetadata(member.value));
      continue;
    }
    auto entry = ReadEntry(member.value);
    if (!entry.has_value()) return At("'" + std::string(name) + "'", entry.error());
    entry->name = name;
    if (name.empty()) return Invalid("header", "found a tensor without a name");
    entries.push_back(*std::move(entry));
  }
  QTX_RETURN_IF_ERROR(CheckNames(entries));
  std::ranges::sort(entries, {}, [](const HeaderEntry& e) { return std::pair(e.begin, e.end); });
  QTX_RETURN_IF_ERROR(
      CheckCoverage(entries, data_bytes.value_or(entries.empty() ? 0 : entries.back().end)));
  return entries;
}

}  // namespace qtx::convert::safetensors
