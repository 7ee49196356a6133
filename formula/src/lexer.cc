#include "lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "qtx/formula/parser.h"

namespace qtx::formula {
namespace {

// Longer ones first.
constexpr std::array<std::string_view, 20> kSigns = {"...", "<=", ">=", "!=", "<<", ">>", "+",
                                                     "-",   "*",  "/",  "^",  "(",  ")",  "[",
                                                     "]",   ",",  ":",  "=",  "<",  ">"};

bool Is(int (*kind)(int), char c) { return kind(static_cast<unsigned char>(c)) != 0; }

bool InName(char c) { return Is(std::isalnum, c) || c == '_' || c == '.'; }

class Splitter {
 public:
  Splitter(std::string_view text, const std::string& where, int first_line)
      : text_(text), where_(where), place_{first_line, 1} {}

  Result<std::vector<Token>> Split() {
    while (at_ < text_.size()) QTX_RETURN_IF_ERROR(Next());
    Add(Token::Kind::kNewline, "");
    Add(Token::Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Result<void> Next() {
    const char c = text_[at_];
    if (c == '\n') return EndLine();
    if (c == ' ' || c == '\r') return Skip(1);
    if (c == '#') return Comment();
    if (Is(std::isdigit, c)) return Number();
    if (Is(std::isalpha, c)) return Name();
    if (c == '"') return Text();
    for (const std::string_view sign : kSigns) {
      if (text_.substr(at_, sign.size()) == sign) return Sign(sign);
    }
    const bool printable = Is(std::isprint, c);
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    return Error{ErrorCode::kInvalid, PlaceIn(where_, place_),
                 "found " +
                     (printable ? "'" + std::string(1, c) + "'"
                                : "byte 0x" + std::string{kDigits[byte >> 4], kDigits[byte & 15]}) +
                     ", expected a name, a number or an operator"};
  }

  Result<void> Skip(std::size_t count) {
    at_ += count;
    place_.column += static_cast<int>(count);
    return {};
  }

  void Add(Token::Kind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), place_});
  }

  Result<void> EndLine() {
    const std::size_t next = text_.find_first_not_of('\n', at_);
    const bool continues = next != std::string_view::npos && text_[next] == ' ';
    if (open_ == 0 && !continues) Add(Token::Kind::kNewline, "");
    ++at_;
    ++place_.line;
    place_.column = 1;
    return {};
  }

  Result<void> Comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view words = text_.substr(at_ + 1, end - at_ - 1);
    words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
    Add(Token::Kind::kComment, words);
    return Skip(end - at_);
  }

  // Digits, a point, an exponent with a sign; 0x and hexadecimal digits.
  Result<void> Number() {
    std::size_t end = at_;
    const bool hexadecimal = text_.substr(at_, 2) == "0x";
    const auto exponent = [hexadecimal](char c) {
      return hexadecimal ? c == 'p' || c == 'P' : c == 'e' || c == 'E';
    };
    while (end < text_.size() && (InName(text_[end]) || ((text_[end] == '-' || text_[end] == '+') &&
                                                         exponent(text_[end - 1])))) {
      ++end;
    }
    if (static_cast<int>(end - at_) > kMaxNumberCharacters) {
      return Error{ErrorCode::kTooLarge, PlaceIn(where_, place_),
                   "found a number of " + std::to_string(end - at_) +
                       " characters, expected at most " + std::to_string(kMaxNumberCharacters)};
    }
    Add(Token::Kind::kNumber, text_.substr(at_, end - at_));
    return Skip(end - at_);
  }

  // Between quotation marks of one line.
  Result<void> Text() {
    const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] != '"') {
      return Error{ErrorCode::kInvalid, PlaceIn(where_, place_),
                   "found '\"', expected another that closes the text on its line"};
    }
    Add(Token::Kind::kText, text_.substr(at_ + 1, end - at_ - 1));
    return Skip(end + 1 - at_);
  }

  // Letters, digits and underscores; c' is a name too, and so is the clause tflite.S3. The three
  // points after a name are a sign.
  Result<void> Name() {
    std::size_t end = at_;
    while (end < text_.size() && InName(text_[end]) && text_.substr(end, 3) != "...") ++end;
    while (end < text_.size() && text_[end] == '\'') ++end;
    Add(Token::Kind::kName, text_.substr(at_, end - at_));
    return Skip(end - at_);
  }

  Result<void> Sign(std::string_view sign) {
    Add(Token::Kind::kSign, sign);
    if (sign == "(" || sign == "[") ++open_;
    if ((sign == ")" || sign == "]") && open_ > 0) --open_;
    return Skip(sign.size());
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  Place place_;
  int open_ = 0;  // brackets
  std::vector<Token> tokens_;
};

}  // namespace

std::string PlaceIn(const std::string& where, Place place) {
  return (where.empty() ? "" : where + ":") + std::to_string(place.line) + ":" +
         std::to_string(place.column);
}

Result<std::vector<Token>> SplitFormula(std::string_view text, const std::string& where,
                                        int first_line) {
  if (text.size() > kMaxFormulaBytes) {
    return Error{ErrorCode::kTooLarge, where,
                 "found a formula of " + std::to_string(text.size()) + " bytes, expected at most " +
                     std::to_string(kMaxFormulaBytes)};
  }
  return Splitter(text, where, first_line).Split();
}

}  // namespace qtx::formula
