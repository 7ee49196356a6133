#include "site/code_map.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <utility>

#include "qtx/format/file.h"
#include "site/html.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxSourceBytes = std::int64_t{16} << 20;
constexpr int kMaxRange = 64;  // clauses of "S1 to S9"

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

struct Number {
  char kind = 'S';
  int value = 0;
};

// Takes "S12" off the front of `text`.
bool TakeNumber(std::string_view& text, Number& number) {
  if (text.size() < 2 || (text[0] != 'C' && text[0] != 'S') || !IsDigit(text[1])) return false;
  number.kind = text[0];
  const auto [end, status] =
      std::from_chars(text.data() + 1, text.data() + text.size(), number.value);
  if (status != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return text.empty() || !InWord(text[0]);
}

// Takes the " to conv.S5" or " to .S5" that may follow an id of `stem`.
bool TakeEnd(std::string_view& text, std::string_view stem, Number& end) {
  constexpr std::string_view kTo = " to ";
  std::string_view rest = text;
  if (!rest.starts_with(kTo)) return false;
  rest.remove_prefix(kTo.size());
  if (rest.starts_with(stem)) rest.remove_prefix(stem.size());
  if (rest.starts_with('.')) rest.remove_prefix(1);
  if (!TakeNumber(rest, end)) return false;
  text = rest;
  return true;
}

// The names in "TEST(A, B" as "A.B".
std::string TestName(std::string_view arguments) {
  std::string name;
  for (const char c : arguments.substr(0, arguments.find(')'))) {
    if (c == ',') {
      name += '.';
    } else if (!IsSpace(c)) {
      name += c;
    }
  }
  return name;
}

// Where a declaration's name ends: at its parenthesis, or at = ; { where that comes first, outside
// of <>.
std::size_t EndOfHead(std::string_view text) {
  int angles = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '<') ++angles;
    if (text[at] == '>') --angles;
    if (angles <= 0 && std::string_view("(=;{").find(text[at]) != std::string_view::npos) return at;
  }
  return text.size();
}

// The name that a definition gives, when `text` begins with one.
std::string DeclaredName(std::string_view text) {
  const std::size_t at = EndOfHead(text);
  if (at == text.size()) return "";
  std::size_t end = at;
  while (end > 0 && (IsSpace(text[end - 1]) || text[end - 1] == ']' || text[end - 1] == '[')) --end;
  std::size_t begin = end;
  const auto in_name = [](char c) { return InWord(c) || c == ':' || c == '~'; };
  while (begin > 0 && in_name(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin, end - begin);
  const bool test = text[at] == '(' && (name.starts_with("TEST") || name.ends_with("_PROP"));
  return test ? TestName(text.substr(at + 1)) : std::string(name);
}

std::string_view Trimmed(std::string_view line) {
  while (!line.empty() && IsSpace(line.front())) line.remove_prefix(1);
  while (!line.empty() && IsSpace(line.back())) line.remove_suffix(1);
  return line;
}

bool IsComment(std::string_view trimmed) {
  return trimmed.starts_with("//") || trimmed.starts_with("/*") || trimmed.starts_with("* ");
}

// Goes through a file that clang-format has laid out: definitions begin at the left edge and end
// with a brace there, members of a class are indented by two.
class Scanner {
 public:
  Scanner(std::string_view code, const std::string& file, CodeMap& map)
      : file_(file), is_test_(("/" + file).find("/tests/") != std::string::npos), map_(map) {
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = std::min(code.find('\n', at), code.size());
      lines_.push_back(code.substr(at, end - at));
      at = end + 1;
    }
  }

  void Run() {
    for (std::size_t i = 0; i < lines_.size(); ++i) Line(i);
    Attach(scope_);
  }

 private:
  // A declaration may go on over several lines.
  std::string Declared(std::size_t i) const {
    std::string text;
    for (std::size_t end = std::min(i + 6, lines_.size()); i < end; ++i) {
      text.append(lines_[i]) += ' ';
      std::string name = DeclaredName(text);
      // The parenthesis of TEST( has its names with it, on one line or the next.
      if (!name.empty() || text.find_first_of("(;{=") != std::string::npos) return name;
    }
    return "";
  }

  void Line(std::size_t i) {
    const std::string_view line = lines_[i];
    const std::string_view trimmed = Trimmed(line);
    if (IsComment(trimmed)) {
      if (comment_.empty()) comment_line_ = static_cast<int>(i) + 1;
      comment_ +=
          std::string(trimmed.substr(std::min(trimmed.find_first_not_of("/* "), trimmed.size()))) +
          " ";
      return;
    }
    if (trimmed.empty() || trimmed.starts_with('#')) return Attach(scope_);
    if (line[0] == '}') {
      Attach(scope_);
      scope_.clear();
      is_class_ = false;
      return;
    }
    const std::string name = NameAt(i);
    Attach(name);
    Cite(line, static_cast<int>(i) + 1, name);
  }

  // Of the definition or member that begins on this line, else of what encloses it.
  std::string NameAt(std::size_t i) {
    const std::string_view line = lines_[i];
    const bool begins = InWord(line[0]) && line.find("namespace") != 0 &&
                        line.find("using ") != 0 && !line.starts_with("template");
    if (begins && scope_.empty()) {
      is_class_ =
          line.starts_with("class ") || line.starts_with("struct ") || line.starts_with("enum ");
      scope_ = is_class_ ? ClassName(line) : Declared(i);
      std::string name = scope_;
      if (Trimmed(line).ends_with(';') || (!is_class_ && EndsAtOnce(i))) scope_.clear();
      return name;
    }
    const bool member = is_class_ && line.size() > 2 && line.starts_with("  ") && InWord(line[2]) &&
                        !line.ends_with(':');
    if (!member) return scope_;
    const std::string name = Declared(i);
    return name.empty() ? scope_ : scope_ + "::" + name;
  }

  static std::string ClassName(std::string_view line) {
    std::size_t begin = line.find(' ') + 1;
    if (line.substr(begin).starts_with("class ")) begin += 6;  // enum class
    std::size_t end = begin;
    while (end < line.size() && InWord(line[end])) ++end;
    return std::string(line.substr(begin, end - begin));
  }

  // Whether a declaration, or a definition on one line, has no body to follow.
  bool EndsAtOnce(std::size_t i) const {
    for (std::size_t end = std::min(i + 12, lines_.size()); i < end; ++i) {
      std::string_view line = Trimmed(lines_[i]);
      line = Trimmed(line.substr(0, std::min(line.find("//"), line.size())));
      if (line.ends_with(';') || line.ends_with('}')) return true;
      if (line.ends_with('{')) return false;
    }
    return false;
  }

  // Attributes the citations of the preceding comment to `name`.
  void Attach(const std::string& name) {
    if (!comment_.empty()) Cite(comment_, comment_line_, name);
    comment_.clear();
  }

  void Cite(std::string_view text, int line, const std::string& name) {
    for (std::string& id : CitedClauses(text)) {
      std::vector<CodePlace>& places = map_[std::move(id)];
      const bool known = std::ranges::any_of(places, [&](const CodePlace& place) {
        return place.file == file_ && place.name == name;
      });
      if (!known) places.push_back({name, file_, line, is_test_});
    }
  }

  const std::string& file_;
  bool is_test_;
  CodeMap& map_;
  std::vector<std::string_view> lines_;
  std::string scope_;  // the definition that encloses the line; empty between them
  bool is_class_ = false;
  std::string comment_;
  int comment_line_ = 0;
};

bool IsCode(const fs::path& path) { return path.extension() == ".h" || path.extension() == ".cc"; }

Result<std::vector<std::string>> CodeFiles(const fs::path& source, const char* module) {
  std::vector<std::string> files;
  std::error_code status;
  if (!fs::is_directory(source / module, status)) return files;
  fs::recursive_directory_iterator entry(source / module, status);
  for (; !status && entry != fs::recursive_directory_iterator(); entry.increment(status)) {
    if (entry->is_regular_file(status) && IsCode(entry->path())) {
      files.push_back(entry->path().lexically_relative(source).generic_string());
    }
  }
  if (status) return Error{ErrorCode::kUnreadable, (source / module).string(), status.message()};
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<std::string> CitedClauses(std::string_view text) {
  std::vector<std::string> ids;
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at)) {
    std::size_t begin = at;
    while (begin > 0 && InWord(text[begin - 1])) --begin;
    const std::string_view stem = text.substr(begin, at - begin);
    std::string_view rest = text.substr(++at);
    Number first;
    if (stem.empty() || stem[0] < 'a' || stem[0] > 'z' || !TakeNumber(rest, first)) continue;
    Number last;
    const std::string_view after_first = rest;
    if (!TakeEnd(rest, stem, last) || last.kind != first.kind || last.value < first.value) {
      rest = after_first;
      last = first;
    }
    at = text.size() - rest.size();
    last.value = std::min(last.value, first.value + kMaxRange - 1);
    for (int i = first.value; i <= last.value; ++i) {
      ids.push_back(std::string(stem) + "." + first.kind + std::to_string(i));
    }
  }
  return ids;
}

void ReadCode(std::string_view code, const std::string& file, CodeMap& map) {
  Scanner(code, file, map).Run();
}

Result<CodeMap> ReadSourceTree(const std::string& source) {
  CodeMap map;
  // Modules that compute come first; the spec's tools cite clauses only as examples.
  for (const char* module : {"reference", "proto", "backends", "conformance", "tools"}) {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::string> files, CodeFiles(source, module));
    for (const std::string& file : files) {
      if (file.starts_with("tools/spec/")) continue;
      QTX_ASSIGN_OR_RETURN(const std::string code,
                           format::ReadFile((fs::path(source) / file).string(), kMaxSourceBytes));
      ReadCode(code, file, map);
    }
  }
  return map;
}

}  // namespace qtx::spec
