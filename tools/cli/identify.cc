// qtx identify: the named arithmetic of a backend, operator by operator.
#include "qtx/conformance/identify.h"

#include <fmt/core.h>

#include <algorithm>

#include "backends.h"
#include "commands.h"
#include "data_folders.h"
#include "json.h"
#include "model_cache.h"
#include "progress.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/print.h"

namespace qtx::cli {
namespace {

using conformance::Identification;
using conformance::Identity;

// Lists the claimed arithmetic first among indistinguishable ones.
std::string Names(const Identity& identity, const std::vector<std::string>& claimed) {
  constexpr std::size_t kMaxNamed = 4;
  std::vector<std::string> names = identity.arithmetics;
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    return std::ranges::find(claimed, name) != claimed.end();
  });
  const std::size_t more = names.size() > kMaxNamed ? names.size() - kMaxNamed + 1 : 0;
  if (more == 0) return format::Joined(names);
  names.resize(kMaxNamed - 1);
  return format::Format("{} and {} more that no case here tells apart", format::Joined(names),
                        more);
}

// The cases that keep an operator from being what it is nearest to.
std::string Exceptions(const Identity& identity) {
  constexpr std::size_t kMaxNamed = 3;
  std::vector<std::string> named = identity.exceptions;
  const std::size_t more = named.size() > kMaxNamed ? named.size() - kMaxNamed : 0;
  named.resize(named.size() - more);
  std::string text = format::Joined(named);
  if (more > 0) text += " and " + std::to_string(more) + " more";
  return text;
}

std::string Verdict(const Identity& identity, const std::vector<std::string>& claimed) {
  if (!identity.arithmetics.empty()) return Names(identity, claimed);
  std::string text = identity.fault.empty() ? "none" : identity.fault;
  text += "; " + identity.nearest + " but for " + Exceptions(identity);
  if (identity.place && !identity.place->says.empty()) text += ": " + identity.place->says;
  return text;
}

void Print(const Identification& identification) {
  const backend::Description& description = identification.description;
  format::Print("{} {} ({}), claims {}\n\n", description.name, description.version,
                description.device, format::Joined(description.arithmetics));
  format::Print(
      "compared with the reference's answers in each arithmetic, which no other source "
      "confirms\n\n");
  std::size_t width = std::string_view("operator").size();
  for (const Identity& one : identification.operators) width = std::max(width, one.op.size());
  format::Print("{:<{}}    agree  arithmetic\n", "operator", width);
  std::vector<std::string> declined;
  for (const Identity& one : identification.operators) {
    if (one.cases == 0) {
      declined.push_back(one.op);
      continue;
    }
    const std::string answers = fmt::format("{}/{}", one.agreeing, one.cases);
    format::Print("{:<{}}  {:>7}  {}\n", one.op, width, answers,
                  Verdict(one, description.arithmetics));
  }
  if (!declined.empty()) format::Print("\ndeclined: {}\n", format::Joined(declined));
  if (declined.size() == identification.operators.size()) {
    format::Print("\nno arithmetic: it answered no case of any operator\n");
  }
}

std::string ToJson(const Identification& identification) {
  Json json("identify");
  json.BeginObject();
  json.Field("backend", identification.description.name);
  json.Field("version", identification.description.version);
  json.Field("device", identification.description.device);
  json.Field("judge", kJudge);
  json.Array("claims", identification.description.arithmetics,
             [&](const std::string& name) { json.Value(std::string_view(name)); });
  json.Array("operators", identification.operators, [&](const Identity& one) {
    json.BeginObject();
    json.Field("op", std::string_view(one.op));
    json.Array("arithmetics", one.arithmetics,
               [&](const std::string& name) { json.Value(std::string_view(name)); });
    json.Field("nearest", std::string_view(one.nearest));
    json.Array("exceptions", one.exceptions,
               [&](const std::string& id) { json.Value(std::string_view(id)); });
    json.Field("fault", std::string_view(one.fault));
    if (one.place) {
      json.Key("place");
      json.BeginObject();
      json.Field("op", std::string_view(one.place->op));
      json.Field("form", std::string_view(one.place->form));
      json.Field("says", std::string_view(one.place->says));
      json.EndObject();
    }
    json.Field("cases", one.cases);
    json.Field("agreeing", one.agreeing);
    json.Field("declined", one.declined);
    json.EndObject();
  });
  json.EndObject();
  return json.Text();
}

// With progress, which is gone when this returns.
Result<Identification> Identified(std::span<const conformance::Case> cases,
                                  const conformance::BackendSource& source, bool quiet) {
  WorkProgress progress(quiet, "computing the answers of all arithmetics");
  return conformance::Identify(
      cases, source, [&progress](std::size_t done, std::size_t all, const std::string& op) {
        progress.Set(done, all, op);
      });
}

}  // namespace

int Identify(const IdentifyOptions& options) {
  std::vector<OptionFile> inputs = BackendFiles({options.backend});
  inputs.push_back({"--suite", options.suite});
  const auto outputs = CheckOutputs({{"--json", options.json}}, inputs);
  if (!outputs.has_value()) return Fail(outputs.error());
  const auto source =
      FindBackend(options.backend, {.process = ProcessOptionsOf(options, options.timeout_seconds)});
  if (!source.has_value()) return Fail(source.error());
  ModelCache models;
  const auto suite = conformance::LoadSuite(options.suite.empty() ? SuiteFolder() : options.suite,
                                            models.Loader());
  if (!suite.has_value()) return Fail(suite.error());
  const auto identification = Identified(suite->cases, *source, options.quiet);
  if (!identification.has_value()) {
    return Fail(OfRequest(options.backend, "", identification.error()));
  }
  if (options.SaysText()) Print(*identification);
  const auto& operators = identification->operators;
  const bool answered = std::ranges::any_of(operators, &Identity::cases);
  const bool all = std::ranges::all_of(
      operators, [](const Identity& one) { return one.cases == 0 || !one.arithmetics.empty(); });
  return Finish(options, all && answered ? kDone : kFailed,
                [&] { return ToJson(*identification); });
}

}  // namespace qtx::cli
