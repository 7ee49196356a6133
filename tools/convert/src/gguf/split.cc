#include "gguf/split.h"

#include <filesystem>
#include <limits>
#include <unordered_set>

#include "errors.h"
#include "qtx/format/text.h"

namespace qtx::convert::gguf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNumberKey = "split.no";
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";
constexpr std::size_t kDigits = 5;

std::int64_t IntegerOr(const GgufFile& file, std::string_view key, std::int64_t fallback) {
  const Entry* entry = file.Find(key);
  return entry == nullptr ? fallback : entry->Integer().value_or(fallback);
}

std::string FiveDigits(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

// "-00002-of-00003.gguf"
std::string Ending(std::int64_t number, std::int64_t count) {
  return "-" + FiveDigits(number) + "-of-" + FiveDigits(count) + ".gguf";
}

Result<GgufFile> Parse(std::string_view bytes, const std::string& path, bool is_source) {
  auto file = ParseGguf(bytes);
  if (!file.has_value() && !is_source) return At(path, file.error());
  return file;
}

Result<Part> OpenPart(const std::string& path) {
  Part part{.path = path, .opened = {}, .bytes = {}, .file = {}};
  QTX_ASSIGN_OR_RETURN(part.opened,
                       format::FileBytes::Open(path, std::numeric_limits<std::int64_t>::max()));
  part.bytes = part.opened.view();
  QTX_ASSIGN_OR_RETURN(part.file, Parse(part.bytes, path, false));
  return part;
}

Result<void> CheckPart(const Part& part, std::int64_t number, std::int64_t count) {
  const std::int64_t found = IntegerOr(part.file, kNumberKey, -1);
  const std::int64_t of = IntegerOr(part.file, kCountKey, 0);
  if (found == number && of == count) return {};
  return Invalid(part.path, "is part " + std::to_string(found + 1) + " of " + std::to_string(of) +
                                ", expected " + std::to_string(number + 1) + " of " +
                                std::to_string(count));
}

Result<void> CheckTogether(const std::vector<Part>& parts) {
  std::unordered_set<std::string_view> names;
  for (const Part& part : parts) {
    for (const TensorInfo& info : part.file.tensors) {
      if (names.insert(info.name).second) continue;
      return Invalid(part.path, "found tensor '" + format::Printable(info.name).text() +
                                    "', which another part has");
    }
  }
  const auto all = static_cast<std::int64_t>(names.size());
  const std::int64_t told = IntegerOr(parts[0].file, kTensorsKey, all);
  if (told == all) return {};
  return Invalid(parts[0].path, "found " + std::to_string(all) + " tensors in " +
                                    std::to_string(parts.size()) + " parts, expected " +
                                    std::to_string(told));
}

}  // namespace

bool IsOfSplit(std::string_view key) {
  return key == kNumberKey || key == kCountKey || key == kTensorsKey;
}

Result<std::vector<Part>> OpenParts(const Source& source) {
  std::vector<Part> parts;
  Part own{.path = source.path, .opened = {}, .bytes = source.bytes(), .file = {}};
  QTX_ASSIGN_OR_RETURN(own.file, Parse(own.bytes, source.path, true));
  const std::int64_t count = IntegerOr(own.file, kCountKey, 0);
  if (count <= 1) {
    parts.push_back(std::move(own));
    return parts;
  }
  const std::int64_t number = IntegerOr(own.file, kNumberKey, -1);
  const std::string ending = Ending(number + 1, count);
  if (number < 0 || number >= count || !source.path.ends_with(ending)) {
    return Invalid("", "is part " + std::to_string(number + 1) + " of " + std::to_string(count) +
                           ", expected a name that ends in " + ending + ", beside the others");
  }
  const std::string stem = source.path.substr(0, source.path.size() - ending.size());
  for (std::int64_t i = 0; i < count; ++i) {
    if (i == number) {
      parts.push_back(std::move(own));
    } else {
      QTX_ASSIGN_OR_RETURN(Part part, OpenPart(stem + Ending(i + 1, count)));
      parts.push_back(std::move(part));
    }
    QTX_RETURN_IF_ERROR(CheckPart(parts.back(), i, count));
  }
  QTX_RETURN_IF_ERROR(CheckTogether(parts));
  return parts;
}

}  // namespace qtx::convert::gguf
