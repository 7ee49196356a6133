#include "journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "qtx/format/json_reader.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{1} << 26;
constexpr std::size_t kMaxCommit = 80;  // characters that an error shows
// What is read at once: twice as much each time, since most journals are short.
constexpr std::size_t kFirstChunk = std::size_t{1} << 12;
constexpr std::size_t kMaxChunk = std::size_t{1} << 20;

Error SystemError(const std::string& path) { return {ErrorCode::kIo, path, std::strerror(errno)}; }

}  // namespace

Result<std::unique_ptr<JournalFile>> JournalFile::Open(const std::string& path,
                                                       const std::string& commit,
                                                       const Take& take) {
  QTX_ASSIGN_OR_RETURN(format::FileLock lock, format::FileLock::Take(path));
  format::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file.value() < 0) return SystemError(path);
  struct stat status {};
  if (fstat(file.value(), &status) != 0 || !S_ISREG(status.st_mode))
    return Error{ErrorCode::kIo, path, "expected a regular file"};
  std::unique_ptr<JournalFile> journal(
      new JournalFile(path, commit, std::move(lock), std::move(file)));
  QTX_RETURN_IF_ERROR(journal->Read(take));
  return journal;
}

// Adds up to `size` bytes of the file to `text`; false at its end.
Result<bool> JournalFile::ReadMore(std::size_t size, std::string& text) const {
  const std::size_t before = text.size();
  text.resize(before + size);
  ssize_t count = -1;
  do {
    count = read(file_.value(), text.data() + before, size);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return SystemError(path_);
  text.resize(before + static_cast<std::size_t>(count));
  return count > 0;
}

Result<void> JournalFile::TakeLine(std::string_view line, const std::string& where,
                                   const Take& take) const {
  rapidjson::Document document;
  if (const auto parsed = format::ParseJson(line, kReportBounds, document); !parsed.has_value())
    return At(where, parsed.error());
  JsonFields fields(document, where);
  std::string key = fields.Text("key");
  const rapidjson::Value* const result = fields.Find("result");
  if (key.empty() || result == nullptr) fields.Refuse("key", "a key with its result");
  if (const std::string found = fields.Text("commit"); found != commit_) {
    fields.Refuse("commit", "a result of this program, " + commit_,
                  found.empty() ? "none" : found.substr(0, kMaxCommit));
  }
  QTX_RETURN_IF_ERROR(fields.Finish());
  return take(std::move(key), *result, where);
}

Result<void> JournalFile::Read(const Take& take) {
  std::string text;  // from the beginning of a line
  off_t begin = 0;   // of that line, in the file
  std::int64_t number = 1;
  std::size_t chunk = kFirstChunk;
  for (bool more = true; more; chunk = std::min(2 * chunk, kMaxChunk)) {
    QTX_ASSIGN_OR_RETURN(more, ReadMore(chunk, text));
    std::size_t done = 0;
    for (std::size_t end = 0; (end = text.find('\n', done)) != std::string::npos; done = end + 1) {
      QTX_RETURN_IF_ERROR(TakeLine(std::string_view(text).substr(done, end - done),
                                   path_ + ":" + std::to_string(number++), take));
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

void JournalFile::Append(const std::string& key,
                         const std::function<void(JsonWriter&)>& write_result) {
  JsonWriter writer(JsonWriter::Layout::kLine);
  writer.BeginObject();
  writer.Field("key", std::string_view(key));
  writer.Field("commit", std::string_view(commit_));
  writer.Key("result");
  write_result(writer);
  writer.EndObject();
  const std::string line = writer.Text() + "\n";
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

std::optional<Error> JournalFile::error() const {
  const std::scoped_lock lock(mutex_);
  return error_;
}

}  // namespace qtx::conformance
