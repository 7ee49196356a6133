// A cursor over MLIR text: blanks and comments, names, strings, numbers, lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::convert {

/// A number as it is written: an integer, a float, or the bits of one (0x...).
struct MlirNumber {
  enum class Form { kInteger, kFloat, kBits } form = Form::kInteger;
  std::int64_t integer = 0;  // of kInteger
  double real = 0;           // of kInteger and kFloat
  std::uint64_t bits = 0;    // of kBits, without the sign
  bool negative = false;
};

class MlirText {
 public:
  /// Borrows `text`.
  explicit MlirText(std::string_view text) : text_(text) {}

  std::string_view all() const { return text_; }
  std::size_t at() const { return at_; }
  void Seek(std::size_t at) { at_ = at; }

  /// The next character behind blanks and comments, which are skipped; 0 at the end.
  char Peek();
  /// The character at the cursor, whatever it is; 0 at the end.
  char Raw() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Advance() { ++at_; }

  /// Skips blanks, then `token` if it stands there.
  bool Take(std::string_view token);
  Result<void> Expect(std::string_view token);
  /// An identifier such as `stablehlo.add`; "" where there is none.
  std::string_view Word();
  /// The word that Word would give, not taken.
  std::string_view PeekWord();
  /// The name after a sigil: letters, digits and "$._-".
  std::string_view Name();
  /// The content of "...", with escapes as they stand.
  Result<std::string_view> String();
  Result<MlirNumber> Number();
  Result<std::int64_t> Integer();
  /// At an opening bracket: skips to behind the one that closes it.
  Result<void> SkipBalanced();

  /// Counted from 1.
  std::size_t LineOf(std::size_t at) const;
  /// "line 12"
  std::string Place(std::size_t at) const { return "line " + std::to_string(LineOf(at)); }
  /// kInvalid at the cursor's line: `expected`, and what stands there instead.
  Error Fail(const std::string& expected);

 private:
  void SkipBlanks();

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The text of a string's content: \n, \t, \\, \" and two hexadecimal digits are escapes.
std::string Unescaped(std::string_view content);

}  // namespace qtx::convert
