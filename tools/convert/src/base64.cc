#include "base64.h"

#include <cstdint>

namespace qtx::convert {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t ByteAt(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
}

}  // namespace

std::string ToBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group =
        ByteAt(bytes, i) << 16 | ByteAt(bytes, i + 1) << 8 | ByteAt(bytes, i + 2);
    for (int digit = 0; digit < 4; ++digit) text += kDigits[group >> (18 - 6 * digit) & 63];
  }
  const std::size_t padding = (3 - bytes.size() % 3) % 3;
  text.replace(text.size() - padding, padding, padding, '=');
  return text;
}

Result<std::string> FromBase64(std::string_view text) {
  const Error error{ErrorCode::kInvalid, "", "not base64"};
  if (text.size() % 4 != 0) return error;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::size_t padding = 0;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = text[i] == '=' ? 0 : kDigits.find(text[i]);
    if (text[i] == '=') ++padding;
    if (digit == std::string_view::npos) return error;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(group >> shift & 255);
    group = 0;
  }
  if (padding > 2) return error;
  bytes.resize(bytes.size() - padding);
  // Only the canonical encoding is valid: no other padding, no nonzero spare bits.
  if (ToBase64(bytes) != text) return error;
  return bytes;
}

}  // namespace qtx::convert
