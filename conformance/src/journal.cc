#include "qtx/conformance/journal.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "case_digest.h"
#include "journal_file.h"
#include "model_builder.h"
#include "qtx/format/model.h"
#include "report_json.h"

namespace qtx::conformance {
namespace {

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

}  // namespace

Journal::Journal(const TextAnswers* text_answers) : text_answers_(text_answers) {}
Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& path, const std::string& commit,
                                               const TextAnswers* text_answers) {
  std::unique_ptr<Journal> journal(new Journal(text_answers));
  const auto take = [&journal](std::string key, const rapidjson::Value& result,
                               const std::string& where) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(CaseResult read, ReadCase(result, where));
    journal->results_.insert_or_assign(std::move(key), std::move(read));
    return {};
  };
  QTX_ASSIGN_OR_RETURN(journal->file_, JournalFile::Open(path, commit, take));
  return journal;
}

std::optional<CaseResult> Journal::Find(const BackendReport& row, const Case& c) const {
  if (results_.empty()) return std::nullopt;
  const auto found = results_.find(Key(row, c, text_answers_));
  if (found == results_.end() || found->second.id != c.id) return std::nullopt;
  return found->second;
}

void Journal::Append(const BackendReport& row, const Case& c, const CaseResult& result) {
  file_->Append(Key(row, c, text_answers_),
                [&result](JsonWriter& writer) { WriteCase(writer, result); });
}

std::optional<Error> Journal::error() const { return file_->error(); }

}  // namespace qtx::conformance
