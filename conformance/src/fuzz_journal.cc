#include "fuzz_journal.h"

#include <utility>

#include "digest.h"

namespace qtx::conformance {
namespace {

void WriteBlock(const FuzzBlock& block, JsonWriter& writer) {
  writer.BeginObject();
  writer.Field("models", block.counts.models);
  writer.Field("unsupported", block.counts.unsupported);
  writer.Field("drafts", block.counts.drafts);
  writer.Field("refused", block.counts.refused);
  std::vector<std::string> operators;  // in turn with their nodes
  writer.Key("nodes");
  writer.BeginArray();
  for (const auto& [op, nodes] : block.counts.operators) {
    operators.push_back(op);
    writer.Value(nodes);
  }
  writer.EndArray();
  writer.Field("operators", operators);
  writer.Key("failed");
  writer.BeginArray();
  for (const std::int64_t number : block.failed) writer.Value(number);
  writer.EndArray();
  writer.EndObject();
}

Result<FuzzBlock> ReadBlock(const rapidjson::Value& json, const std::string& where) {
  JsonFields fields(json, where + ": result");
  FuzzBlock block;
  block.counts.models = fields.Integer("models");
  block.counts.unsupported = fields.Integer("unsupported");
  block.counts.drafts = fields.Integer("drafts");
  block.counts.refused = fields.Integer("refused");
  const std::vector<std::string> operators = fields.Texts("operators");
  const std::vector<std::int64_t> nodes = fields.Integers("nodes");
  block.failed = fields.Integers("failed");
  if (operators.size() != nodes.size()) fields.Refuse("nodes", "a number for each operator");
  QTX_RETURN_IF_ERROR(fields.Finish());
  for (std::size_t i = 0; i < nodes.size(); ++i) block.counts.operators[operators[i]] = nodes[i];
  return block;
}

}  // namespace

Result<FuzzJournal> FuzzJournal::Open(const FuzzOptions& options, const std::string& arithmetic,
                                      const backend::Description& backend,
                                      const std::string& source) {
  FuzzJournal journal;
  Digest digest;
  for (const std::string& part : {std::string(QTX_VERSION), source, backend.name, backend.version,
                                  backend.device, arithmetic, options.operators}) {
    digest.Add(part);
  }
  digest.Add(static_cast<std::int64_t>(options.seed));
  digest.Add(options.shard.index);
  digest.Add(options.shard.count);
  journal.run_ = digest.Text();
  const auto take = [&journal](std::string key, const rapidjson::Value& result,
                               const std::string& where) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(FuzzBlock block, ReadBlock(result, where));
    journal.blocks_.insert_or_assign(std::move(key), std::move(block));
    return {};
  };
  QTX_ASSIGN_OR_RETURN(journal.file_, JournalFile::Open(options.journal, options.commit, take));
  return journal;
}

std::string FuzzJournal::KeyOf(std::int64_t number) const {
  return run_ + "/" + std::to_string(number);
}

std::optional<FuzzBlock> FuzzJournal::Find(std::int64_t number) const {
  const auto found = blocks_.find(KeyOf(number));
  return found == blocks_.end() ? std::nullopt : std::optional(found->second);
}

void FuzzJournal::Append(std::int64_t number, const FuzzBlock& block) {
  file_->Append(KeyOf(number), [&block](JsonWriter& writer) { WriteBlock(block, writer); });
}

}  // namespace qtx::conformance
