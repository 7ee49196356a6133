// A review as JSON, also the data of its page.

#include <map>

#include "qtx/format/json_writer.h"
#include "qtx/spec/review.h"

namespace qtx::spec {
namespace {

using Json = format::JsonWriter;

void WriteProposal(const Proposal& proposal, Json& json) {
  json.Object("proposal", [&] {
    json.Field("number", proposal.number);
    json.Field("slug", proposal.slug);
    json.Field("title", proposal.title);
    json.Field("status", Name(proposal.status));
    json.Field("feature", proposal.FeatureName());
    json.Field("version", proposal.version);
    json.Field("promoted", proposal.promoted());
    json.Field("date", proposal.date);
    json.Field("folder", proposal.folder);
  });
  json.Field("text", proposal.text.markdown);
}

void WriteExamples(const Review& review, Json& json) {
  json.Objects("examples", review.examples, [&](const ExampleResult& result) {
    const conformance::Case& example = review.proposal.examples[result.example];
    json.Field("id", example.id);
    json.Field("arithmetic", result.arithmetic);
    json.Field("spec", example.spec);
    json.Field("why", example.why);
    json.Field("where", example.where);
    json.Field("derivation", example.derivation);
    for (const auto& [key, side] :
         {std::pair("before", &result.before), {"after", &result.after}}) {
      json.Object(key, [&json, side = side] {
        json.Field("ok", side->ok);
        json.Field("expected", side->expected);
        json.Field("obtained", side->obtained);
        json.Field("differs", side->differs);
      });
    }
  });
}

void WriteOverlay(const Review& review, Json& json) {
  const Overlay& overlay = *review.proposal.overlay;
  json.Object("overlay", [&] {
    json.Objects("changes", overlay.after.changes(), [&](const formula::Change& change) {
      json.Field("clause", change.clause);
      json.Field("where", change.where);
      json.Field("added", change.added);
    });
    json.Objects("element_types", overlay.after.tables(), [&](const formula::ElementTable& table) {
      json.Field("name", table.name);
      json.Field("code", table.code);
      json.Field("values", static_cast<std::int64_t>(table.values.size()));
    });
    json.Field("claims_hold", ClaimsHold(review));
    json.Objects("claims", review.claims, [&](const ClaimResult& result) {
      const Claim& claim = overlay.claims[result.claim];
      json.Field("name", claim.name);
      json.Field("clause", claim.clause);
      json.Field("where", claim.where);
      json.Field("case", result.where);
      json.Field("elements", result.elements);
      json.Field("exhaustive", result.exhaustive);
      json.Field("failing", result.failing);
      json.Field("counterexample", result.counterexample);
    });
    json.Field("affected_cases", review.cases.affected);
    json.Field("not_reached", review.cases.not_reached);
    json.Field("declined", review.cases.declined);
  });
}

void WriteFlip(const Flip& flip, Json& json) {
  json.Field("id", flip.id);
  json.Field("arithmetic", flip.arithmetic);
  json.Field("kind", Name(flip.kind));
  json.Field("spec", flip.spec);
  json.Field("op", flip.op);
  json.Field("where", flip.where);
  json.Field("stated", flip.stated);
  json.Field("before", flip.before);
  json.Field("after", flip.after);
  if (!flip.difference) return;
  json.Field("output", flip.difference->output);
  json.Field("elements", flip.difference->elements);
  json.Field("differing", flip.difference->differing);
  json.Field("unit", flip.difference->unit);
  json.Field("mismatch", flip.difference->mismatch);
  json.Objects("first", flip.difference->first, [&](const conformance::ElementDifference& one) {
    json.Field("index", one.index);
    json.Field("before", one.expected);
    json.Field("after", one.got);
  });
}

void WriteCases(const CaseEffect& effect, Json& json) {
  json.Object("cases", [&] {
    json.Field("cases", effect.cases);
    json.Field("results", effect.results);
    json.Field("flipped_cases", effect.flipped_cases);
    json.Field("flipped_results", static_cast<std::int64_t>(effect.flips.size()));
    json.Field("not_built", effect.not_built);
    json.Objects("flips", effect.flips, [&](const Flip& flip) { WriteFlip(flip, json); });
  });
}

void WriteBackends(const Review& review, Json& json) {
  json.Objects("backends", review.backends, [&](const BackendEffect& one) {
    json.Field("name", one.name);
    if (one.error) json.Field("error", one.error->Text());
    json.Field("asked", one.asked);
    json.Field("stays", one.stays);
    json.Field("fails_both", one.fails_both);
    json.Field("unsupported", one.unsupported);
    json.Field("newly_fails", one.newly_fails);
    json.Field("newly_passes", one.newly_passes);
  });
}

void WriteModels(const Review& review, Json& json) {
  json.Field("models_folder", review.models_folder);
  json.Objects("models", review.models, [&](const ModelEffect& model) {
    json.Field("path", model.path);
    json.Field("outcome", Name(model.outcome));
    json.Field("why", model.why);
    json.Field("seconds", model.seconds);
    json.Objects("outputs", model.differences, [&](const ModelDifference& one) {
      json.Field("output", one.output);
      json.Field("elements", one.elements);
      json.Field("differing", one.differing);
      json.Field("largest", one.largest);
      json.Field("unit", one.unit);
    });
  });
}

}  // namespace

std::string ToJson(const Review& review) {
  Json json;
  json.BeginObject();
  WriteProposal(review.proposal, json);
  json.Field("examples_hold", ExamplesHold(review));
  WriteExamples(review, json);
  if (review.proposal.overlay != nullptr) WriteOverlay(review, json);
  WriteCases(review.cases, json);
  WriteBackends(review, json);
  WriteModels(review, json);
  json.Field("seconds", review.seconds);
  json.EndObject();
  return json.Text() + "\n";
}

}  // namespace qtx::spec
