#include "qtx/spec/create.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "onnx_fields.h"
#include "qtx/format/file.h"
#include "qtx/spec/document.h"
#include "qtx/spec/links.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxName = 64;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Words of a-z and 0-9 with one `between` them, the first beginning with a letter.
bool IsWords(std::string_view text, char between) {
  if (text.empty() || text.size() > kMaxName || !IsLower(text.front())) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool joint = text[i] == between && i + 1 < text.size() && text[i + 1] != between;
    if (!IsLower(text[i]) && !IsDigit(text[i]) && !joint) return false;
  }
  return true;
}

Error Refuse(std::string_view found, const std::string& expected) {
  return Error{ErrorCode::kUsage, "name",
               "found '" + std::string(found.substr(0, kMaxName)) + "', expected " + expected};
}

Result<void> WriteNew(const std::string& folder, const std::string& name, const fs::path& path,
                      const Fields& fields, Created& created) {
  QTX_ASSIGN_OR_RETURN(std::string text,
                       format::ReadFile(folder + "/templates/" + name, kMaxDocumentBytes));
  for (const auto& [key, value] : fields) {
    const std::string mark = "@" + key + "@";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += value.size()) {
      text.replace(at, mark.size(), value);
    }
  }
  std::error_code status;
  if (fs::exists(path, status)) {
    return Error{ErrorCode::kIo, path.string(), "a file of that name exists already"};
  }
  fs::create_directories(path.parent_path(), status);
  if (status) return Error{ErrorCode::kIo, path.parent_path().string(), status.message()};
  QTX_RETURN_IF_ERROR(format::WriteFileAtomically(path.string(), text));
  created.files.push_back(path.string());
  return {};
}

// One more than the greatest NNNN of a folder NNNN-slug.  Errors: kIo for a slug in use.
Result<std::string> NextNumber(const fs::path& proposals, std::string_view slug) {
  constexpr std::size_t kDigits = 4;
  int greatest = 0;
  std::error_code status;
  for (const auto& entry : fs::directory_iterator(proposals, status)) {
    const std::string name = entry.path().filename().string();
    int number = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (bad != std::errc() || end != name.data() + kDigits || *end != '-') continue;
    if (name.substr(kDigits + 1) == slug) {
      return Error{ErrorCode::kIo, entry.path().string(), "such a proposal exists already"};
    }
    greatest = std::max(greatest, number);
  }
  constexpr int kMost = 9998;
  if (greatest > kMost) return Refuse(slug, "at most 9999 proposals");
  return fmt::format("{:0{}}", greatest + 1, kDigits);
}

// The spec folder with the chapter of a stem.
std::string KindOf(const std::string& folder, const std::string& stem) {
  for (const char* kind : {"ops", "arithmetic", "format"}) {
    std::error_code status;
    if (fs::exists(fs::path(folder) / kind / (stem + ".md"), status)) return kind;
  }
  return "";
}

struct Begun {
  fs::path folder;
  std::string snake;
  Fields fields;
};

// "Wider blocks" of wider-blocks.
std::string TitleOf(std::string_view slug) {
  std::string title(slug);
  std::ranges::replace(title, '-', ' ');
  title.front() = static_cast<char>(title.front() - 'a' + 'A');
  return title;
}

// The next number, and what the templates of a proposal ask.
Result<Begun> Begin(std::string_view slug, const std::string& folder, std::string_view date) {
  if (!IsWords(slug, '-')) return Refuse(slug, "words of a-z and 0-9 with - between them");
  const fs::path proposals = fs::path(folder) / "proposals";
  QTX_ASSIGN_OR_RETURN(const std::string number, NextNumber(proposals, slug));
  std::string snake(slug);
  std::ranges::replace(snake, '-', '_');
  return Begun{proposals / (number + "-" + std::string(slug)),
               snake,
               {{"NUMBER", number},
                {"TITLE", TitleOf(slug)},
                {"SLUG", std::string(slug)},
                {"SNAKE", snake},
                {"DATE", std::string(date)}}};
}

}  // namespace

Result<Created> NewProposal(std::string_view slug, const std::string& folder,
                            std::string_view date) {
  QTX_ASSIGN_OR_RETURN(const Begun own, Begin(slug, folder, date));
  Created created;
  QTX_RETURN_IF_ERROR(
      WriteNew(folder, "proposal.md", own.folder / "proposal.md", own.fields, created));
  const fs::path example = own.folder / "examples" / (own.snake + ".yaml");
  QTX_RETURN_IF_ERROR(WriteNew(folder, "example.yaml", example, own.fields, created));
  created.next = {"a row of AllFeatures() in proto/src/feature.cc: " + std::string(slug)};
  return created;
}

Result<Created> NewOverlay(std::string_view slug, const std::string& folder,
                           std::string_view date) {
  QTX_ASSIGN_OR_RETURN(const Begun own, Begin(slug, folder, date));
  Created created;
  QTX_RETURN_IF_ERROR(
      WriteNew(folder, "overlay.md", own.folder / "proposal.md", own.fields, created));
  const fs::path clause = own.folder / "overlay/arithmetic/exact.md";
  QTX_RETURN_IF_ERROR(WriteNew(folder, "overlay_clause.md", clause, own.fields, created));
  const fs::path example = own.folder / "examples" / (own.snake + ".yaml");
  QTX_RETURN_IF_ERROR(WriteNew(folder, "overlay_example.yaml", example, own.fields, created));
  created.next = {"the clause and its formula in " + clause.string(),
                  "qtx review " + own.folder.string()};
  return created;
}

Result<Created> NewOperator(std::string_view op_type, const std::string& folder,
                            const std::string& suite) {
  const bool named =
      !op_type.empty() && op_type.size() <= kMaxName && IsUpper(op_type.front()) &&
      std::ranges::all_of(op_type, [](char c) { return IsUpper(c) || IsLower(c) || IsDigit(c); });
  if (!named) return Refuse(op_type, "ONNX's op_type, such as MatMul");
  const std::string stem = SnakeCase(op_type);
  Created created;
  Fields fields = OnnxFields(op_type);
  fields.insert(fields.begin(), {{"OP_TYPE", std::string(op_type)}, {"STEM", stem}});
  QTX_RETURN_IF_ERROR(
      WriteNew(folder, "op.md", fs::path(folder) / "ops" / (stem + ".md"), fields, created));
  const fs::path cases = fs::path(suite) / "ops" / stem;
  std::error_code status;
  fs::create_directories(cases, status);
  if (status) return Error{ErrorCode::kIo, cases.string(), status.message()};
  created.files.push_back(cases.string());
  created.next = {"the shapes and clauses of " + created.files.front(),
                  "its row in the file of its family in proto/src/catalogue/",
                  "reference/src/ops/" + stem + ".cc", "reference/tests/ops/" + stem + "_test.cc",
                  "a case in " + cases.string() + " for each clause: qtx spec new case " + stem +
                      "/WHAT_IT_SHOWS"};
  return created;
}

Result<Created> NewCase(std::string_view name, const std::string& folder,
                        const std::string& suite) {
  const std::size_t slash = std::min(name.find('/'), name.size());
  const std::string stem(name.substr(0, slash));
  const std::string shows(name.substr(std::min(slash + 1, name.size())));
  if (!IsWords(stem, '_') || !IsWords(shows, '_')) {
    return Refuse(name, "STEM/what_it_shows, such as add/tie_with_odd_offset");
  }
  const std::string kind = KindOf(folder, stem);
  if (kind.empty()) return Refuse(stem, "the stem of a chapter in ops, arithmetic or format");
  std::string op_type = "Identity";
  if (kind == "ops") {
    QTX_ASSIGN_OR_RETURN(const Document chapter, ReadDocument(folder + "/ops/" + stem + ".md"));
    if (!chapter.sections.empty()) op_type = chapter.sections.front().title;
  }
  Created created;
  std::string arithmetics = "[exact]";
  if (kind == "arithmetic") {
    arithmetics = "[" + stem + "]";
    std::ranges::replace(arithmetics, '_', '-');
  }
  const Fields fields = {
      {"STEM", stem}, {"NAME", shows}, {"OP_TYPE", op_type}, {"ARITHMETICS", arithmetics}};
  const fs::path path = fs::path(suite) / kind / stem / (shows + ".yaml");
  QTX_RETURN_IF_ERROR(WriteNew(folder, "case.yaml", path, fields, created));
  created.next = {"the clause, why, values and derivation of " + path.string()};
  return created;
}

Result<Created> NewBackend(std::string_view name, const std::string& folder,
                           const std::string& backends) {
  if (!IsWords(name, '-')) return Refuse(name, "words of a-z and 0-9 with - between them");
  std::string class_name;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool begins_word = IsLower(name[i]) && (i == 0 || name[i - 1] == '-');
    if (begins_word) class_name += static_cast<char>(name[i] - 'a' + 'A');
    if (!begins_word && name[i] != '-') class_name += name[i];
  }
  const Fields fields = {
      {"NAME", std::string(name)}, {"TITLE", TitleOf(name)}, {"CLASS", class_name}};
  const fs::path path = fs::path(backends) / name / "backend.py";
  Created created;
  QTX_RETURN_IF_ERROR(WriteNew(folder, "backend.py", path, fields, created));
  created.next = {"qtx validate --backend 'cmd:python3 " + path.string() + "' --filter 'add/*'",
                  "the system, instead of the reference, in " + path.string()};
  return created;
}

}  // namespace qtx::spec
