#include "journal.h"

#include <filesystem>

#include "qtx/format/json_reader.h"
#include "qtx/format/json_writer.h"

namespace qtx::calibrate {
namespace {

using format::JsonFields;
using format::JsonWriter;

constexpr std::string_view kJournalKey = "qtx.calibration.journal";

// The options that must be equal for a run to resume from this journal.
std::string KeyOf(Coverage run) {
  for (Part& part : run.parts) {
    part.samples = 0;
    part.skipped.clear();
  }
  return ToJson(run);
}

std::string ToJson(const Coverage& run, const JournalState& state) {
  JsonWriter writer(JsonWriter::Layout::kLine);
  writer.BeginObject();
  writer.Field("run", KeyOf(run));
  writer.Key("done");  // run lengths: first, count, first, count, ...
  writer.BeginArray();
  for (std::size_t i = 0; i < state.done.size();) {
    std::size_t last = i;
    while (last < state.done.size() && state.done[last]) ++last;
    if (last != i) {
      writer.Value(i);
      writer.Value(last - i);
    }
    i = last + 1;
  }
  writer.EndArray();
  writer.Key("skipped");
  writer.BeginArray();
  for (const auto& [position, sample] : state.skipped) {
    writer.BeginObject();
    writer.Field("position", position);
    writer.Field("sample", sample.name);
    writer.Field("reason", sample.reason);
    writer.Field("message", sample.message);
    writer.EndObject();
  }
  writer.EndArray();
  writer.Key("left_out");
  writer.BeginArray();
  for (const auto& [value, why] : state.left_out) {
    writer.Value(value);
    writer.Value(why);
  }
  writer.EndArray();
  writer.EndObject();
  return writer.Text();
}

// Marks the positions of run lengths as done; false if they overlap or go past the end.
bool MarkDone(const std::vector<std::int64_t>& runs, std::vector<bool>& done) {
  if (runs.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < runs.size(); i += 2) {
    const std::int64_t first = runs[i], count = runs[i + 1];
    if (first < 0 || first > std::ssize(done) || count < 0 || count > std::ssize(done) - first)
      return false;
    for (std::int64_t at = first; at < first + count; ++at) {
      if (done[static_cast<std::size_t>(at)]) return false;
      done[static_cast<std::size_t>(at)] = true;
    }
  }
  return true;
}

Result<void> ReadSkipped(const rapidjson::Value& entry, const std::string& where,
                         JournalState& state) {
  JsonFields fields(entry, where);
  fields.Require({"position", "sample", "reason", "message"});
  const std::int64_t position = fields.Integer("position");
  SkippedSample sample{fields.Text("sample"), fields.Text("reason"), fields.Text("message")};
  QTX_RETURN_IF_ERROR(fields.Finish());
  if (position < 0 || position >= std::ssize(state.done) ||
      !state.done[static_cast<std::size_t>(position)] ||
      !state.skipped.emplace(position, std::move(sample)).second) {
    fields.Refuse("position", "that of a sample that is done, once");
  }
  return fields.Finish();
}

// REQUIRES: `state.done` has the size of the run.
Result<void> ReadState(const rapidjson::Value& journal, const Coverage& run, JournalState& state) {
  JsonFields fields(journal, "");
  fields.Require({"run", "done", "skipped", "left_out"});
  const std::string key = fields.Text("run");
  const std::vector<std::int64_t> done = fields.Integers("done");
  const std::vector<std::string> left_out = fields.Texts("left_out");
  QTX_RETURN_IF_ERROR(fields.Finish());
  if (key != KeyOf(run)) {
    return Error{ErrorCode::kInvalid, "",
                 "is the journal of another model, other options or other samples"};
  }
  if (!MarkDone(done, state.done)) fields.Refuse("done", "run lengths of the samples");
  if (left_out.size() % 2 != 0) fields.Refuse("left_out", "pairs of a value and a reason");
  fields.Array("skipped", [&](const auto& entry, const std::string& place) {
    return ReadSkipped(entry, place, state);
  });
  QTX_RETURN_IF_ERROR(fields.Finish());
  for (std::size_t i = 0; i < left_out.size(); i += 2)
    state.left_out.emplace_back(left_out[i], left_out[i + 1]);
  return {};
}

Result<JournalState> StateOf(const format::Model& model, const Coverage& run,
                             std::int64_t planned) {
  JournalState state;
  state.done.assign(static_cast<std::size_t>(planned), false);
  rapidjson::Document document;
  QTX_RETURN_IF_ERROR(format::ParseJson(model.metadata[0].second, kJsonBounds, document));
  QTX_RETURN_IF_ERROR(ReadState(document, run, state));
  QTX_ASSIGN_OR_RETURN(state.observations, ObservationsOf(model));
  return state;
}

}  // namespace

Result<void> WriteJournal(const std::string& path, const Coverage& run, const JournalState& state) {
  format::Model model;
  model.ir_version = 8;
  model.producer_name = "qtx calibrate";
  model.opset_imports = {{"", 17, ""}};
  model.graph.name = "journal";
  model.metadata = {{std::string(kJournalKey), ToJson(run, state)}};
  QTX_RETURN_IF_ERROR(Annotate(state.observations, model));
  return model.Save(path);
}

Result<std::optional<JournalState>> ReadJournal(const std::string& path, const Coverage& run,
                                                std::int64_t planned) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<JournalState>();
  if (!std::filesystem::is_regular_file(path, error))
    return Error{ErrorCode::kIo, path, "expected a regular file"};
  if (std::filesystem::is_empty(path, error)) return std::optional<JournalState>();
  const Error foreign{ErrorCode::kInvalid, path, "expected a journal of `qtx calibrate`"};
  const auto model = format::Model::Load(path);
  if (!model.has_value())
    return model.error().code == ErrorCode::kInvalid ? foreign : model.error();
  if (model->metadata.size() != 1 || model->metadata[0].first != kJournalKey) return foreign;
  auto state = StateOf(*model, run, planned);
  if (!state.has_value()) return At(path, state.error());
  return std::optional(*std::move(state));
}

}  // namespace qtx::calibrate
