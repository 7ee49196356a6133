
#include <string_view>

#include "qtx/bench/report.h"
#include "qtx/format/json_writer.h"

namespace qtx::bench {
namespace {

using Writer = format::JsonWriter;

void WriteSpread(Writer& writer, const std::string& key, const Spread& spread) {
  writer.Field(key, spread.median);
  writer.Field(key + "_low", spread.low);
  writer.Field(key + "_high", spread.high);
}

void WriteRatio(Writer& writer, const std::string& kind, const std::optional<Ratio>& ratio) {
  const std::string key = "ratio_to_" + kind;
  if (!ratio) return writer.Null(key);
  WriteSpread(writer, key, ratio->spread);
  writer.Field(kind, ratio->peer);
}

// `exact` is null without a comparison.
void WriteComparison(Writer& writer, const Row& row) {
  if (!row.comparison) return writer.Null("exact");
  writer.Field("exact", row.exact());
  writer.Field("elements", row.comparison->elements);
  writer.Field("differing", row.comparison->differing);
  writer.Field("largest_difference", row.comparison->largest_difference);
  if (row.conforms) writer.Field("conforms", *row.conforms);
}

void WriteTimes(Writer& writer, const Machine& machine, const Row& row) {
  if (!row.measured()) {
    writer.Null("gops");
    writer.Null("seconds");
    writer.Null("ratio_to_best_exact_peer");
    return writer.Null("ratio_to_best_peer");
  }
  writer.Field("gops", row.gops());
  WriteSpread(writer, "seconds", row.seconds());
  writer.Field("rounds", row.rounds);
  writer.Field("repetitions", row.repetitions);
  writer.Field("prepare_seconds", row.prepare_seconds);
  WriteRatio(writer, "best_exact_peer", row.to_best_exact_peer);
  WriteRatio(writer, "best_conforming_peer", row.to_best_conforming_peer);
  WriteRatio(writer, "best_peer", row.to_best_peer);
  WriteRatio(writer, "best_float_peer", row.to_best_float_peer);
  const Peak* peak = PeakOf(machine, row);
  if (peak == nullptr) return;
  writer.Field("peak", peak->name);
  writer.Field("fraction_of_peak", row.gops() / peak->gops);
}

void WriteRow(Writer& writer, const Machine& machine, const Row& row) {
  writer.Field("work", row.work);
  writer.Field("shape", row.shape);
  writer.Field("types", row.types);
  writer.Field("count", row.count);
  writer.Field("threads", row.threads);
  writer.Field("backend", row.backend);
  writer.Field("label", row.label);
  writer.Field("version", row.version);
  writer.Field("device", row.device);
  writer.Field("arithmetic", row.arithmetic);
  writer.Field("outcome", row.outcome);
  if (!row.reason.empty()) writer.Field("reason", row.reason);
  writer.Field("multiply_adds", row.multiply_adds);
  writer.Field("bytes", row.bytes);
  WriteComparison(writer, row);
  WriteTimes(writer, machine, row);
}

void WriteMachine(Writer& writer, const Machine& machine) {
  writer.Key("machine");
  writer.BeginObject();
  writer.Field("processor", machine.processor);
  writer.Objects("peaks", machine.peaks, [&](const Peak& peak) {
    writer.Field("name", peak.name);
    writer.Field("operands", std::string_view(peak.floats ? "float" : "integer"));
    writer.Field("threads", peak.threads);
    writer.Field("gops", peak.gops);
  });
  writer.Objects("bandwidths", machine.bandwidths, [&](const Bandwidth& bandwidth) {
    writer.Field("level", bandwidth.level);
    writer.Field("bytes", bandwidth.bytes);
    writer.Field("threads", bandwidth.threads);
    writer.Field("gbps", bandwidth.gbps);
  });
  writer.EndObject();
}

}  // namespace

std::string ToJson(const Report& report) {
  Writer writer;
  writer.BeginObject();
  WriteMachine(writer, report.machine);
  writer.Field("rounds", report.options.rounds);
  writer.Field("seconds_per_turn", report.options.seconds);
  writer.Objects("rows", report.results.rows,
                 [&](const Row& row) { WriteRow(writer, report.machine, row); });
  if (report.interrupted) writer.Field("interrupted", true);
  writer.Objects("skipped", report.results.skipped, [&](const Skipped& skipped) {
    writer.Field("work", skipped.work);
    writer.Field("types", skipped.types);
    writer.Field("reason", skipped.reason);
  });
  writer.EndObject();
  return conformance::Document("bench", report.provenance, writer.Text() + "\n");
}

}  // namespace qtx::bench
