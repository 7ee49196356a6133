#include "journal.h"

#include <filesystem>

#include "json.h"
#include "qtx/format/check.h"

namespace qtx::calibrate {
namespace {

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
  rapidjson::StringBuffer buffer;
  JsonWriter writer(buffer);
  writer.StartObject();
  writer.Key("run");
  WriteText(writer, KeyOf(run));
  writer.Key("done");  // run lengths: first, count, first, count, ...
  writer.StartArray();
  for (std::size_t i = 0; i < state.done.size();) {
    std::size_t last = i;
    while (last < state.done.size() && state.done[last]) ++last;
    if (last != i) {
      writer.Uint64(i);
      writer.Uint64(last - i);
    }
    i = last + 1;
  }
  writer.EndArray();
  writer.Key("skipped");
  writer.StartArray();
  for (const auto& [position, sample] : state.skipped) {
    writer.StartObject();
    writer.Key("position");
    writer.Int64(position);
    writer.Key("sample");
    WriteText(writer, sample.name);
    writer.Key("reason");
    WriteText(writer, sample.reason);
    writer.Key("message");
    WriteText(writer, sample.message);
    writer.EndObject();
  }
  writer.EndArray();
  writer.Key("left_out");
  writer.StartArray();
  for (const auto& [value, why] : state.left_out) {
    WriteText(writer, value);
    WriteText(writer, why);
  }
  writer.EndArray();
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

bool ReadDone(const rapidjson::Value& list, std::vector<bool>& done) {
  const auto pairs = list.GetArray();
  if (pairs.Size() % 2 != 0) return false;
  for (rapidjson::SizeType i = 0; i < pairs.Size(); i += 2) {
    if (!pairs[i].IsUint64() || !pairs[i + 1].IsUint64()) return false;
    const std::uint64_t first = pairs[i].GetUint64();
    const std::uint64_t count = pairs[i + 1].GetUint64();
    if (first > done.size() || count > done.size() - first) return false;
    for (std::uint64_t at = first; at < first + count; ++at) {
      if (done[at]) return false;
      done[at] = true;
    }
  }
  return true;
}

bool ReadSkipped(const rapidjson::Value& list, JournalState& state) {
  for (const auto& entry : list.GetArray()) {
    const auto position = Number(entry, "position", 0);
    const auto name = Text(entry, "sample");
    const auto reason = Text(entry, "reason");
    const auto message = Text(entry, "message");
    if (!position || !name || !reason || !message || *position >= std::ssize(state.done) ||
        !state.done[static_cast<std::size_t>(*position)] ||
        !state.skipped.emplace(*position, SkippedSample{*name, *reason, *message}).second) {
      return false;
    }
  }
  return true;
}

bool ReadLeftOut(const rapidjson::Value& list, JournalState& state) {
  const auto pairs = list.GetArray();
  if (pairs.Size() % 2 != 0) return false;
  for (rapidjson::SizeType i = 0; i < pairs.Size(); i += 2) {
    if (!pairs[i].IsString() || !pairs[i + 1].IsString()) return false;
    state.left_out.emplace_back(pairs[i].GetString(), pairs[i + 1].GetString());
  }
  return true;
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
  const auto document = ParseObject(model->metadata[0].second);
  if (!document) return foreign;
  const auto key = Text(*document, "run");
  if (key != KeyOf(run)) {
    return Error{ErrorCode::kInvalid, path,
                 "is the journal of another model, other options or other samples"};
  }
  JournalState state;
  state.done.assign(static_cast<std::size_t>(planned), false);
  const rapidjson::Value* const done = List(*document, "done");
  const rapidjson::Value* const skipped = List(*document, "skipped");
  const rapidjson::Value* const left_out = List(*document, "left_out");
  if (done == nullptr || skipped == nullptr || left_out == nullptr ||
      !ReadDone(*done, state.done) || !ReadSkipped(*skipped, state) ||
      !ReadLeftOut(*left_out, state)) {
    return foreign;
  }
  // Statistics must keep their rules before anything is added to them.
  for (const format::Finding& finding : format::Check(*model)) {
    if (finding.rule.starts_with("statistics.")) return foreign;
  }
  state.observations = ObservationsOf(*model);
  return std::optional(std::move(state));
}

}  // namespace qtx::calibrate
