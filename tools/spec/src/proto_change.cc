#include "proto_change.h"

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "qtx/spec/links.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;

constexpr std::string_view kSection = "Change to the proto";
constexpr std::size_t kMaxFields = 1000;  // each is held to all others

std::string AtLine(const std::string& where, int line) {
  return where + ":" + std::to_string(line);
}

// Keeps the first error, which usually causes the others.
class FirstError : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (!message_.empty()) return;
    line_ = line;
    message_ = message;
  }
  int line() const { return line_; }
  const std::string& message() const { return message_; }

 private:
  int line_ = 0;
  std::string message_;
};

// What stands after the change, line by line: lines that are taken away or left out are empty.
std::string After(std::string_view diff, std::vector<bool>& added) {
  std::string after = "syntax = \"proto2\"; ";
  for (std::size_t at = 0; at < diff.size();) {
    const std::size_t stop = std::min(diff.find('\n', at), diff.size());
    std::string_view line = diff.substr(at, stop - at);
    at = stop + 1;
    added.push_back(line.starts_with('+'));
    const bool gone = line.starts_with('-') || line.starts_with("@@") || line.starts_with("+++");
    if (line.starts_with('+') || line.starts_with(' ')) line.remove_prefix(1);
    const bool left_out = line.find_first_not_of(" .") == std::string_view::npos;
    if (!gone && !left_out) after += line;
    after += '\n';
  }
  return after;
}

class FenceReader {
 public:
  FenceReader(const std::string& where, const Fence& fence, std::vector<ProtoField>& fields)
      : where_(where), fence_(fence), fields_(fields) {}

  Result<void> Read() {
    const std::string text = After(fence_.text, added_);
    pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    FirstError error;
    pb::io::Tokenizer tokenizer(&stream, &error);
    pb::compiler::Parser parser;
    parser.RecordErrorsTo(&error);
    parser.RecordSourceLocationsTo(&places_);
    pb::FileDescriptorProto file;
    if (!parser.Parse(&tokenizer, &file) || !error.message().empty()) {
      return Error{ErrorCode::kInvalid, AtLine(where_, LineOf(error.line())),
                   "the diff is not a schema: " + error.message()};
    }
    for (const pb::DescriptorProto& message : file.message_type()) Add(message, message.name());
    return {};
  }

 private:
  int LineOf(int of_text) const { return fence_.line + 1 + of_text; }

  void Add(const pb::DescriptorProto& message, const std::string& name) {
    for (const pb::FieldDescriptorProto& field : message.field()) {
      int line = 0, column = 0;
      places_.Find(&field, pb::DescriptorPool::ErrorCollector::NUMBER, &line, &column);
      const auto index = static_cast<std::size_t>(line);
      fields_.push_back({name, field.name(), field.number(), LineOf(line),
                         index < added_.size() && added_[index]});
    }
    for (const pb::DescriptorProto& nested : message.nested_type()) {
      Add(nested, name + "." + nested.name());
    }
  }

  const std::string& where_;
  const Fence& fence_;
  std::vector<ProtoField>& fields_;
  std::vector<bool> added_;
  pb::compiler::SourceLocationTable places_;
};

bool MayBeNumber(std::int64_t number) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 29) - 1, kFirstReserved = 19000,
                         kLastReserved = 19999;
  return number >= 1 && number <= kMost && (number < kFirstReserved || number > kLastReserved);
}

// The one of `others` in the same message that has the field's number or its name, but not both.
const ProtoField* Clash(const ProtoField& field, std::span<const ProtoField> others) {
  const auto clashes = [&field](const ProtoField& other) {
    const bool same_number = other.number == field.number, same_name = other.name == field.name;
    return other.message == field.message && same_number != same_name;
  };
  const auto found = std::ranges::find_if(others, clashes);
  return found == others.end() ? nullptr : &*found;
}

// The same field, where both are added; context may be shown twice.
const ProtoField* AddedAlready(const ProtoField& field, std::span<const ProtoField> before) {
  const auto same = [&field](const ProtoField& other) {
    return field.added && other.added && other.message == field.message &&
           other.number == field.number;
  };
  const auto found = std::ranges::find_if(before, same);
  return found == before.end() ? nullptr : &*found;
}

std::string Say(const ProtoField& field) {
  return field.name + " = " + std::to_string(field.number) + " of " + field.message;
}

// "| 12 | `scale_levels` | ..." of the chapter of a message, which may have tables of others after
// a line "The message `OTHER` ...".
std::vector<ProtoField> FieldsOfChapter(const Document& chapter, const std::string& message) {
  constexpr std::string_view kMessage = "The message `";
  std::vector<ProtoField> fields;
  const std::string_view text = chapter.markdown;
  std::string_view current = message;
  int line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, stop - at);
    at = stop + 1;
    ++line;
    if (row.starts_with(kMessage)) {
      current = row.substr(kMessage.size());
      current = current.substr(0, current.find('`'));
    }
    if (current != message || !row.starts_with("| ")) continue;
    std::int64_t number = 0;
    const auto [rest, status] = std::from_chars(row.data() + 2, row.data() + row.size(), number);
    const std::string_view name = row.substr(static_cast<std::size_t>(rest - row.data()));
    if (status != std::errc() || !name.starts_with(" | `")) continue;
    fields.push_back({message, std::string(name.substr(4, name.find('`', 4) - 4)), number, line});
  }
  return fields;
}

// The fields that the text and the other proposals give to the messages of `fields`, each with the
// file that says so.
Result<std::vector<std::pair<std::string, std::vector<ProtoField>>>> Others(
    const Document& proposal, const std::vector<ProtoField>& fields) {
  std::vector<std::pair<std::string, std::vector<ProtoField>>> others;
  std::error_code status;
  const fs::path own = fs::absolute(proposal.where, status).lexically_normal().parent_path();
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(own.parent_path(), status);
       !status && entry != fs::directory_iterator(); entry.increment(status)) {
    std::error_code ignored;  // what cannot be asked is no file
    const fs::path path = entry->path() / "proposal.md";
    if (entry->path() != own && fs::is_regular_file(path, ignored)) paths.push_back(path);
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    QTX_ASSIGN_OR_RETURN(const Document other, ReadDocument(path.string()));
    QTX_ASSIGN_OR_RETURN(auto theirs, ReadProtoChange(other));
    std::erase_if(theirs, [](const ProtoField& field) { return !field.added; });
    others.emplace_back(path.string(), std::move(theirs));
  }
  std::set<std::string> messages;
  for (const ProtoField& field : fields) messages.insert(field.message);
  for (const std::string& message : messages) {
    const fs::path path = own.parent_path().parent_path() / "format" / (SnakeCase(message) + ".md");
    if (!fs::is_regular_file(path, status)) continue;
    QTX_ASSIGN_OR_RETURN(const Document chapter, ReadDocument(path.string()));
    others.emplace_back(path.string(), FieldsOfChapter(chapter, message));
  }
  return others;
}

}  // namespace

Result<std::vector<ProtoField>> ReadProtoChange(const Document& proposal) {
  std::vector<ProtoField> fields;
  const Section* section = proposal.Find(kSection);
  if (section == nullptr) return fields;
  for (const Fence& fence : proposal.fences) {
    if (fence.info != "diff" || fence.line < section->line || fence.line >= section->end) continue;
    QTX_RETURN_IF_ERROR(FenceReader(proposal.where, fence, fields).Read());
    if (fields.size() <= kMaxFields) continue;
    return Error{ErrorCode::kTooLarge, AtLine(proposal.where, fence.line),
                 "found " + std::to_string(fields.size()) + " fields, expected at most " +
                     std::to_string(kMaxFields)};
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string place = AtLine(proposal.where, fields[i].line);
    if (!MayBeNumber(fields[i].number)) {
      return Error{ErrorCode::kInvalid, place,
                   "found " + Say(fields[i]) +
                       ", expected a number of 1 to 536870911 outside 19000 to 19999"};
    }
    const auto before = std::span(fields).first(i);
    const ProtoField* other = Clash(fields[i], before);
    if (other == nullptr) other = AddedAlready(fields[i], before);
    if (other == nullptr) continue;
    return Error{ErrorCode::kInvalid, place, "found " + Say(fields[i]) + " beside " + Say(*other)};
  }
  return fields;
}

Result<void> CheckProtoChange(const Document& proposal) {
  QTX_ASSIGN_OR_RETURN(std::vector<ProtoField> fields, ReadProtoChange(proposal));
  std::erase_if(fields, [](const ProtoField& field) { return !field.added; });
  if (fields.empty()) return {};
  QTX_ASSIGN_OR_RETURN(const auto others, Others(proposal, fields));
  for (const ProtoField& field : fields) {
    for (const auto& [path, theirs] : others) {
      const ProtoField* other = Clash(field, theirs);
      if (other == nullptr) continue;
      return Error{ErrorCode::kInvalid, AtLine(proposal.where, field.line),
                   "found " + Say(field) + ", but " + path + " has " + Say(*other)};
    }
  }
  return {};
}

}  // namespace qtx::spec
