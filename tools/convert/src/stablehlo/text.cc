#include "stablehlo/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "errors.h"

namespace qtx::convert {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

constexpr std::size_t kMaxShown = 24;  // bytes of the text that an error quotes

// The beginning of `text` as an error shows it: up to the end of the line, without controls.
std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kMaxShown)) {
    if (c == '\n' || c == '\r') break;
    shown += c >= ' ' && c <= '~' ? c : '?';
  }
  return shown;
}

char ClosingOf(char open) {
  return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : open == '<' ? '>' : '\0';
}

}  // namespace

void MlirText::SkipBlanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

char MlirText::Peek() {
  SkipBlanks();
  return Raw();
}

bool MlirText::Take(std::string_view token) {
  SkipBlanks();
  if (text_.substr(at_, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

Result<void> MlirText::Expect(std::string_view token) {
  if (Take(token)) return {};
  return Fail("'" + std::string(token) + "'");
}

std::string_view MlirText::Word() {
  SkipBlanks();
  std::size_t end = at_;
  if (end < text_.size() && IsLetter(text_[end])) {
    while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]) ||
                                  text_[end] == '.' || text_[end] == '$')) {
      ++end;
    }
  }
  const std::string_view word = text_.substr(at_, end - at_);
  at_ = end;
  return word;
}

std::string_view MlirText::PeekWord() {
  SkipBlanks();
  const std::size_t before = at_;
  const std::string_view word = Word();
  at_ = before;
  return word;
}

std::string_view MlirText::Name() {
  std::size_t end = at_;
  while (end < text_.size()) {
    const char c = text_[end];
    const bool arrow = c == '-' && end + 1 < text_.size() && text_[end + 1] == '>';
    if (arrow || !(IsLetter(c) || IsDigit(c) || c == '.' || c == '$' || c == '-')) break;
    ++end;
  }
  const std::string_view name = text_.substr(at_, end - at_);
  at_ = end;
  return name;
}

Result<std::string_view> MlirText::String() {
  QTX_RETURN_IF_ERROR(Expect("\""));
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n')
    at_ += text_[at_] == '\\' ? std::size_t{2} : std::size_t{1};
  if (at_ >= text_.size() || text_[at_] != '"') {
    at_ = begin;
    return Fail("a string that ends on its line");
  }
  return text_.substr(begin, at_++ - begin);
}

Result<MlirNumber> MlirText::Number() {
  SkipBlanks();
  const std::size_t before = at_;
  MlirNumber number;
  number.negative = Raw() == '-';
  if (number.negative) ++at_;
  std::size_t end = at_;
  if (text_.substr(at_, 2) == "0x" && at_ + 2 < text_.size() && IsHexDigit(text_[at_ + 2])) {
    number.form = MlirNumber::Form::kBits;
    const auto read =
        std::from_chars(text_.data() + at_ + 2, text_.data() + text_.size(), number.bits, 16);
    at_ = static_cast<std::size_t>(read.ptr - text_.data());
    if (read.ec == std::errc()) return number;
    at_ = before;
    return Fail("a number of at most 64 bits");
  }
  while (end < text_.size() && IsDigit(text_[end])) ++end;
  const bool whole =
      end >= text_.size() || (text_[end] != '.' && text_[end] != 'e' && text_[end] != 'E');
  const char* begin = text_.data() + at_;
  std::from_chars_result read{};
  if (whole) {
    std::uint64_t magnitude = 0;
    read = std::from_chars(begin, text_.data() + end, magnitude);
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (magnitude > kMost + (number.negative ? 1 : 0)) {
      number.form = MlirNumber::Form::kBits;  // an integer of ui64
      number.bits = magnitude;
    }
    number.integer = static_cast<std::int64_t>(number.negative ? 0 - magnitude : magnitude);
    number.real =
        number.negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
  } else {
    number.form = MlirNumber::Form::kFloat;
    read = std::from_chars(begin, text_.data() + text_.size(), number.real);
    if (read.ec == std::errc::result_out_of_range && read.ptr != begin) read.ec = {};
    if (number.negative) number.real = -number.real;
  }
  if (end == at_ || read.ec != std::errc()) {
    at_ = before;
    return Fail("a number");
  }
  at_ = static_cast<std::size_t>(read.ptr - text_.data());
  return number;
}

Result<std::int64_t> MlirText::Integer() {
  SkipBlanks();
  const std::size_t before = at_;
  QTX_ASSIGN_OR_RETURN(const MlirNumber number, Number());
  if (number.form == MlirNumber::Form::kInteger) return number.integer;
  at_ = before;
  return Fail("an integer");
}

Result<void> MlirText::SkipBalanced() {
  const std::size_t begin = at_;
  std::string open;
  do {
    const char c = Peek();
    if (c == '\0') break;
    if (c == '"') {
      QTX_RETURN_IF_ERROR(String());
      continue;
    }
    if (text_.substr(at_, 2) == "->") {
      at_ += 2;
      continue;
    }
    if (const char closing = ClosingOf(c); closing != '\0') {
      open += closing;
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      if (open.empty() || open.back() != c)
        return Fail(open.empty() ? "a bracket" : "'" + std::string(1, open.back()) + "'");
      open.pop_back();
    }
    ++at_;
  } while (!open.empty());
  if (open.empty() && at_ > begin) return {};
  at_ = begin;
  return Invalid(Place(begin), "the bracket that opens here is not closed");
}

std::size_t MlirText::LineOf(std::size_t at) const {
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(at, text_.size()));
  return static_cast<std::size_t>(std::count(text_.begin(), end, '\n')) + 1;
}

std::string Unescaped(std::string_view content) {
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (content[i] != '\\' || i + 1 == content.size()) {
      text += content[i];
      continue;
    }
    unsigned byte = 0;
    const char* begin = content.data() + i + 1;
    const char* end = content.data() + std::min(i + 3, content.size());
    if (const auto read = std::from_chars(begin, end, byte, 16);
        read.ec == std::errc() && read.ptr == begin + 2) {
      text += static_cast<char>(byte);
      i += 2;
      continue;
    }
    const char c = content[++i];
    text += c == 'n' ? '\n' : c == 't' ? '\t' : c;
  }
  return text;
}

Error MlirText::Fail(const std::string& expected) {
  SkipBlanks();
  const std::string found =
      at_ >= text_.size() ? "the end of the text" : "'" + Shown(text_.substr(at_)) + "'";
  return Invalid(Place(at_), "found " + found + ", expected " + expected);
}

}  // namespace qtx::convert
