#include "nnef/files.h"

#include <algorithm>
#include <filesystem>

#include "errors.h"
#include "qtx/format/limits.h"

namespace qtx::convert::nnef {
namespace {

namespace fs = std::filesystem;

// A tar is a row of blocks: a header for each file, then its bytes.  Source: POSIX.1 pax, ustar.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kSizeAt = 124, kSumAt = 148, kSumBytes = 8, kKindAt = 156, kMagicAt = 257,
                      kPrefixAt = 345, kMaxEntries = 1 << 20;

std::string_view FieldAt(std::string_view block, std::size_t at, std::size_t size) {
  const std::string_view field = block.substr(at, size);
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

std::optional<std::uint64_t> Octal(std::string_view field) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  for (const char c : field) {
    if (c == ' ' || c == '\0') continue;
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
    ++digits;
  }
  return digits == 0 ? std::nullopt : std::optional(value);
}

bool HasChecksum(std::string_view block) {
  std::uint64_t sum = kSumBytes * ' ';
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (i < kSumAt || i >= kSumAt + kSumBytes) sum += static_cast<unsigned char>(block[i]);
  }
  return Octal(block.substr(kSumAt, kSumBytes)) == sum;
}

bool LooksLikeTar(std::string_view bytes) {
  return bytes.size() >= kBlock && bytes.substr(kMagicAt, 5) == "ustar" && HasChecksum(bytes);
}

std::string NameOf(std::string_view block) {
  const bool has_prefix = block[kMagicAt + 5] == '\0';  // POSIX; GNU's has other fields there
  const std::string_view prefix = has_prefix ? FieldAt(block, kPrefixAt, 155) : "";
  std::string name(FieldAt(block, 0, 100));
  if (!prefix.empty()) name = std::string(prefix) + "/" + name;
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

// The name in the record "N path=NAME\n" of a pax header.
std::string PaxPath(std::string_view records) {
  const std::size_t at = records.find(" path=");
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + 6;
  return std::string(records.substr(begin, records.find('\n', begin) - begin));
}

// The name that GNU's or pax' entry before another one gives it; "" of other entries.
std::string LongName(char type, std::string_view content) {
  std::string name;
  if (type == 'L') name = FieldAt(content, 0, content.size());
  if (type == 'x') name = PaxPath(content);
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

Result<std::map<std::string, std::string_view>> EntriesOf(std::string_view bytes) {
  std::map<std::string, std::string_view> entries;
  std::string long_name;
  std::size_t at = 0;
  while (at + kBlock <= bytes.size() && bytes[at] != '\0') {
    const std::string place = "byte " + std::to_string(at);
    const std::string_view block = bytes.substr(at, kBlock);
    if (!HasChecksum(block)) return Invalid(place, "found another checksum of the tar's entry");
    const auto size = Octal(block.substr(kSizeAt, 12));
    if (!size || *size > bytes.size() - at - kBlock)
      return Invalid(place, "found an entry longer than the file, of " +
                                std::to_string(bytes.size()) + " bytes");
    const std::string_view content = bytes.substr(at + kBlock, static_cast<std::size_t>(*size));
    const char type = block[kKindAt];
    const std::string name = long_name.empty() ? NameOf(block) : long_name;
    long_name = LongName(type, content);
    const bool is_file = type == '0' || type == '\0';
    if (is_file && !entries.emplace(name, content).second)
      return Invalid(place, "found '" + name.substr(0, 100) + "' twice in the tar");
    if (entries.size() > kMaxEntries)
      return Error{ErrorCode::kTooLarge, place, "more than 2^20 files in the tar"};
    at += kBlock + (content.size() + kBlock - 1) / kBlock * kBlock;
  }
  return entries;
}

// `digits` octal digits and a zero byte.
void SetOctal(std::string& block, std::size_t at, std::size_t digits, std::uint64_t value) {
  for (std::size_t i = digits; i-- > 0; value /= 8)
    block[at + i] = static_cast<char>('0' + value % 8);
}

std::string HeaderOf(const std::string& name, std::uint64_t size) {
  std::string block(kBlock, '\0');
  block.replace(0, name.size(), name);
  SetOctal(block, 100, 7, 0644);
  SetOctal(block, 108, 7, 0);
  SetOctal(block, 116, 7, 0);
  SetOctal(block, kSizeAt, 11, size);
  SetOctal(block, 136, 11, 0);
  block[kKindAt] = '0';
  block.replace(kMagicAt, 8, std::string("ustar\00000", 8));
  block.replace(kSumAt, kSumBytes, kSumBytes, ' ');
  std::uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  SetOctal(block, kSumAt, 6, sum);
  block[kSumAt + 6] = '\0';
  return block;
}

// Errors: kInvalid for a name that leaves the folder.
Result<void> CheckName(const std::string& name) {
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string::npos)
      return Invalid("'" + name.substr(0, 100) + "'",
                     "leaves the folder of the graph, expected a path within it");
    at = end + 1;
  }
  return {};
}

// Whether a path is within a folder once links are followed.
bool IsWithin(const fs::path& path, const fs::path& folder) {
  std::error_code code;
  const fs::path real = fs::canonical(path, code), base = fs::canonical(folder, code);
  if (code) return false;
  return std::ranges::mismatch(base, real).in1 == base.end();
}

}  // namespace

bool IsTarOfGraph(std::string_view bytes) {
  if (!LooksLikeTar(bytes)) return false;
  const auto entries = EntriesOf(bytes);
  if (!entries.has_value())
    return NameOf(bytes.substr(0, kBlock)).find("graph.nnef") != std::string::npos;
  return entries->contains(std::string(kGraphFile));
}

Result<std::vector<format::Piece>> TarOf(const std::vector<OutputFile>& files) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 33;
  std::vector<format::Piece> pieces;
  for (const OutputFile& file : files) {
    const std::string& content = std::get<std::string>(file.pieces[0]);
    if (file.name.size() > 100 || content.size() >= kMostBytes)
      return Unsupported("'" + file.name + "'", "a name past 100 bytes, or 8 GiB, in a tar");
    pieces.emplace_back(HeaderOf(file.name, content.size()));
    pieces.emplace_back(content + std::string((kBlock - content.size() % kBlock) % kBlock, '\0'));
  }
  pieces.emplace_back(std::string(2 * kBlock, '\0'));
  return pieces;
}

Result<Files> Files::Of(const Source& source) {
  Files files;
  if (!LooksLikeTar(source.bytes())) {
    files.graph_ = source.bytes();
    files.graph_name_ = fs::path(source.path).filename().string();
    files.folder_ = fs::path(source.path).parent_path().string();
    if (files.folder_.empty()) files.folder_ = ".";
    return files;
  }
  QTX_ASSIGN_OR_RETURN(files.entries_, EntriesOf(source.bytes()));
  files.graph_name_ = kGraphFile;
  const auto graph = files.entries_->find(files.graph_name_);
  if (graph == files.entries_->end()) return Invalid("found no 'graph.nnef' in the tar");
  files.graph_ = graph->second;
  return files;
}

Result<std::optional<format::FileBytes>> Files::Open(const std::string& name) const {
  QTX_RETURN_IF_ERROR(CheckName(name));
  if (entries_) {
    const auto found = entries_->find(name);
    if (found == entries_->end()) return std::optional<format::FileBytes>();
    return std::optional(format::FileBytes(std::string(found->second)));
  }
  const fs::path path = fs::path(folder_) / name;
  std::error_code code;
  if (!fs::exists(path, code)) return std::optional<format::FileBytes>();
  if (!fs::is_regular_file(path, code) || !IsWithin(path, folder_))
    return Invalid("'" + name + "'", "is no file within the folder of the graph");
  auto bytes = format::FileBytes::Open(path.string(), format::kMaxTensorBytes);
  if (!bytes.has_value()) return std::move(bytes).error();
  return std::optional(*std::move(bytes));
}

}  // namespace qtx::convert::nnef
