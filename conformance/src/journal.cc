#include "qtx/conformance/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "case_digest.h"
#include "model_builder.h"
#include "qtx/format/model.h"
#include "report_json.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{1} << 26;
constexpr std::size_t kMaxCommit = 80;  // characters that an error shows
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

void AddTolerance(const Case& c, Digest& digest) {
  digest.Add(c.ulp.value_or(-1));
  digest.Add(std::int64_t{c.close.has_value()});
  if (c.close) {
    digest.Add(c.close->relative);
    digest.Add(c.close->absolute);
  }
  digest.Add(std::int64_t{c.or_exact});
  digest.Add(std::ssize(c.alternatives));
  for (const Alternative& alternative : c.alternatives) {
    digest.Add(alternative.output);
    digest.Add(alternative.data);
  }
}

// Hashes everything that the outcome depends on, with the contents of files rather than their
// names. For a case that cannot be built, its error is hashed.
Result<void> AddContents(const Case& c, Digest& digest) {
  digest.Add(c.error);
  AddTolerance(c, digest);
  QTX_ASSIGN_OR_RETURN(const format::Model model, BuildModel(c));
  digest.Add(std::ssize(c.outputs));
  for (std::size_t i = 0; i < c.outputs.size() && c.error.empty(); ++i) {
    QTX_ASSIGN_OR_RETURN(const auto expected, BuildExpected(c, model, i));
    digest.Add(c.outputs[i].name);
    digest.Add(std::int64_t{expected.has_value()});
    if (expected) digest.Add(*expected);
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<format::Tensor> inputs, BuildInputs(c, model));
  return AddQuestion(c, model, inputs, digest);
}

std::string Key(const BackendReport& row, const Case& c, const TextAnswers* text_answers) {
  Digest digest;
  if (text_answers != nullptr) digest.Add(text_answers->Find(c.id, row.arithmetic));
  // This program's version counts, because it computes missing expectations.
  for (const std::string& part :
       {std::string(QTX_VERSION), row.source, row.description.name, row.description.version,
        row.description.device, row.arithmetic, c.id}) {
    digest.Add(part);
  }
  if (const auto added = AddContents(c, digest); !added) digest.Add(added.error().message);
  return digest.Text();
}

Error SystemError(const std::string& path) { return {ErrorCode::kIo, path, std::strerror(errno)}; }

struct Entry {
  std::string key;
  CaseResult result;
};

Result<Entry> ParseEntry(std::string_view line, const std::string& commit,
                         const std::string& where) {
  rapidjson::Document document;
  if (const auto parsed = format::ParseJson(line, kReportBounds, document); !parsed.has_value())
    return At(where, parsed.error());
  JsonFields fields(document, where);
  std::string key = fields.Text("key");
  const rapidjson::Value* const result = fields.Find("result");
  if (key.empty() || result == nullptr) fields.Refuse("key", "a key with its result");
  if (const std::string found = fields.Text("commit"); found != commit) {
    fields.Refuse("commit", "a result of this program, " + commit,
                  found.empty() ? "none" : found.substr(0, kMaxCommit));
  }
  QTX_RETURN_IF_ERROR(fields.Finish());
  QTX_ASSIGN_OR_RETURN(CaseResult read, ReadCase(*result, where));
  return Entry{std::move(key), std::move(read)};
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& path, const std::string& commit,
                                               const TextAnswers* text_answers) {
  QTX_ASSIGN_OR_RETURN(format::FileLock lock, format::FileLock::Take(path));
  format::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file.value() < 0) return SystemError(path);
  struct stat status {};
  if (fstat(file.value(), &status) != 0 || !S_ISREG(status.st_mode))
    return Error{ErrorCode::kIo, path, "expected a regular file"};
  std::unique_ptr<Journal> journal(
      new Journal(path, commit, std::move(lock), std::move(file), text_answers));
  QTX_RETURN_IF_ERROR(journal->Read());
  return journal;
}

// Adds bytes of the file to `text`; false at its end.
Result<bool> Journal::ReadMore(std::string& text) const {
  const std::size_t before = text.size();
  text.resize(before + kChunkBytes);
  ssize_t count = -1;
  do {
    count = read(file_.value(), text.data() + before, kChunkBytes);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return SystemError(path_);
  text.resize(before + static_cast<std::size_t>(count));
  return count > 0;
}

Result<void> Journal::Read() {
  std::string text;  // from the beginning of a line
  off_t begin = 0;   // of that line, in the file
  std::int64_t number = 1;
  for (bool more = true; more;) {
    QTX_ASSIGN_OR_RETURN(more, ReadMore(text));
    std::size_t done = 0;
    for (std::size_t end = 0; (end = text.find('\n', done)) != std::string::npos; done = end + 1) {
      QTX_ASSIGN_OR_RETURN(Entry entry,
                           ParseEntry(std::string_view(text).substr(done, end - done), commit_,
                                      path_ + ":" + std::to_string(number++)));
      results_.insert_or_assign(std::move(entry.key), std::move(entry.result));
    }
    text.erase(0, done);
    begin += static_cast<off_t>(done);
    if (text.size() <= kMaxLineBytes) continue;
    return Error{
        ErrorCode::kTooLarge, path_ + ":" + std::to_string(number),
        "found a line of more than " + std::to_string(kMaxLineBytes) + " bytes, expected fewer"};
  }
  if (text.empty()) return {};
  // Drops a line that was incomplete when the run was killed, unless the file is not a journal.
  constexpr std::string_view kBegin = "{\"key\":\"";
  if (!text.starts_with(kBegin.substr(0, text.size())))
    return Error{ErrorCode::kInvalid, path_, "is no journal"};
  if (ftruncate(file_.value(), begin) != 0) return SystemError(path_);
  return {};
}

std::optional<CaseResult> Journal::Find(const BackendReport& row, const Case& c) const {
  if (results_.empty()) return std::nullopt;
  const auto found = results_.find(Key(row, c, text_answers_));
  if (found == results_.end() || found->second.id != c.id) return std::nullopt;
  return found->second;
}

void Journal::Append(const BackendReport& row, const Case& c, const CaseResult& result) {
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  WriteField(writer, "key", Key(row, c, text_answers_));
  WriteField(writer, "commit", commit_);
  writer.Key("result");
  WriteCase(writer, result);
  writer.EndObject();
  const std::string line = std::string(buffer.GetString(), buffer.GetSize()) + "\n";
  const std::scoped_lock lock(mutex_);
  if (error_) return;
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = write(file_.value(), rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error_ = SystemError(path_);
      return;
    }
  }
}

std::optional<Error> Journal::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

}  // namespace qtx::conformance
