// What the other tools read: rules of quantization, models that are inspected and quantized, and
// the scoreboard's reports and deviations.
#include <array>

#include "qtx/conformance/report.h"
#include "qtx/format/check.h"
#include "qtx/inspect/inspect.h"
#include "qtx/quantize/quantize.h"
#include "qtx/scoreboard/scoreboard.h"
#include "target.h"

namespace qtx::fuzz {
namespace {

void Rules(std::string_view, const std::string& bytes) {
  static const auto measured = format::Model::Parse(kMeasured);
  auto rules = quantize::ParseRules(bytes, "fuzz");
  if (!Answered(rules)) return;
  quantize::Options options;
  options.rules = *std::move(rules);
  const auto quantized = quantize::Quantize(*measured, options);
  if (!Answered(quantized)) return;
  const auto findings = format::Check(quantized->model);
  if (!findings.empty()) Stop("quantized to what breaks a rule: " + findings[0].message);
}

void Quantize(std::string_view, const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (!Answered(model) || !format::CheckFirst(*model).has_value()) return;
  const auto quantized = quantize::Quantize(*model, {});
  if (!Answered(quantized)) return;
  const auto findings = format::Check(quantized->model);
  if (!findings.empty()) Stop("quantized to what breaks a rule: " + findings[0].message);
}

void Inspect(std::string_view, const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (!Answered(model)) return;
  const auto listing = inspect::Listing(*model);
  if (!Answered(listing)) return;
  Answered(inspect::Inferred(*model, *listing));
  const auto values = inspect::Examine(*listing);
  if (!Answered(values)) return;
  inspect::Findings(*values);
  inspect::ToString(inspect::WhatWasJudged(*listing, *values));
  Answered(inspect::ToHtml(*model, "fuzz"));
}

void Scoreboard(std::string_view, const std::string& bytes) {
  const auto report = conformance::ParseReport(bytes, "fuzz");
  if (!Answered(report)) return;
  const std::array reports = {*report};
  Answered(scoreboard::MakeScoreboard(reports, {}));
}

void Deviations(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  folder.Write("fuzz.md", bytes);
  Answered(scoreboard::ReadDeviations(folder.path()));
}

constexpr std::array kTargets = {
    Target{"rules", &Rules},
    Target{"quantize", &Quantize, Form::kProtobuf},
    Target{"inspect", &Inspect, Form::kProtobuf},
    Target{"scoreboard", &Scoreboard},
    Target{"deviations", &Deviations},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace qtx::fuzz
