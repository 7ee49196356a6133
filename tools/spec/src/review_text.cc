// A review as text of at most 100 columns if words allow.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "qtx/format/print.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/review.h"

namespace qtx::spec {
namespace {

using format::Format;
using format::Printable;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 42;     // of one side of an example
constexpr std::size_t kMaxText = 1000;  // characters of what a case or a backend says
constexpr std::size_t kListed = 40;     // flips, models; all of them are in the JSON

// At blanks; a word that is longer than the width stands alone.
std::vector<std::string> Wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines = {""};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word = Printable(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string Indented(std::string_view text, std::size_t first, std::size_t others) {
  std::string out;
  for (const std::string& line : Wrap(text, kWidth - others)) {
    out += std::string(out.empty() ? first : others, ' ') + line + "\n";
  }
  return out;
}

std::string Indented(std::string_view text, std::size_t indent) {
  return Indented(Printable(text, kMaxText).text(), indent, indent);
}

// The proposal as it is written, but filled to the width: paragraphs, items, long rows of tables.
class Prose {
 public:
  std::string Fill(std::string_view markdown) {
    while (!markdown.empty()) {
      const std::size_t end = std::min(markdown.find('\n'), markdown.size());
      Add(markdown.substr(0, end));
      markdown.remove_prefix(std::min(end + 1, markdown.size()));
    }
    Flush();
    return std::move(out_);
  }

 private:
  void Add(std::string_view line) {
    const bool fence = line.starts_with("```");
    if (fence) fenced_ = !fenced_;
    const bool code = fence || fenced_ || (paragraph_.empty() && line.starts_with("    "));
    if (code || line.empty() || line.starts_with('#')) {
      Flush();
      out_ += Format("{}\n", Printable(line, kMaxText));
      return;
    }
    const bool row = line.starts_with('|');
    const bool item = line.starts_with("- ");
    if (row || item) Flush();
    indent_ = paragraph_.empty() ? (row ? 4 : item ? 2 : 0) : indent_;
    const std::size_t begin = paragraph_.empty() ? 0 : line.find_first_not_of(' ');
    if (!paragraph_.empty()) paragraph_ += ' ';
    paragraph_ += line.substr(std::min(begin, line.size()));
  }

  void Flush() {
    if (!paragraph_.empty()) out_ += Indented(paragraph_, 0, indent_);
    paragraph_.clear();
  }

  std::string out_;
  std::string paragraph_;
  std::size_t indent_ = 0;  // of its lines after the first
  bool fenced_ = false;
};

std::string Heading(std::string_view text) {
  const Printable heading(text);
  return Format("\n{}\n{:-<{}}\n", heading, "", heading.text().size());
}

// A label and two texts side by side.
std::string Row(std::string_view label, std::string_view left, std::string_view right) {
  const auto lefts = Wrap(left, kColumn);
  const auto rights = Wrap(right, kColumn);
  std::string out;
  for (std::size_t i = 0; i < std::max(lefts.size(), rights.size()); ++i) {
    std::string line =
        Format("    {:<9} {:<{}} {}", i == 0 ? label : "", i < lefts.size() ? lefts[i] : "",
               kColumn, i < rights.size() ? rights[i] : "");
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string ExamplesText(const Review& review) {
  const Proposal& proposal = review.proposal;
  std::string out = Heading("Examples");
  const std::string without = proposal.promoted() ? "feature off" : "current spec";
  out += Row("", without, "with " + std::string(proposal.FeatureName()));
  for (const ExampleResult& result : review.examples) {
    const auto verdict = [](const ExampleSide& side) {
      return side.expected.empty() ? "" : side.ok ? "ok" : "DIFFERS";
    };
    const conformance::Case& example = proposal.examples[result.example];
    out += Format("\n  {} @{} ({})\n", example.id, result.arithmetic, example.spec);
    out += Indented(example.why, 4);
    out += Row("expected", result.before.expected, result.after.expected);
    out += Row("obtained", result.before.obtained, result.after.obtained);
    out += Row("", verdict(result.before), verdict(result.after));
    for (const ExampleSide* side : {&result.before, &result.after}) {
      if (!side->ok) out += Indented(side->differs, 4);
    }
  }
  return out;
}

// What the overlay states, and whether its claims hold.
std::string OverlayText(const Review& review) {
  const Overlay& overlay = *review.proposal.overlay;
  const auto place = [&](const std::string& where) {
    return Printable(PathBelow(review.proposal.folder, where));
  };
  std::string out = Heading("Overlay");
  for (const formula::Change& change : overlay.after.changes()) {
    out += Format("  {:<8} {} ({})\n", change.added ? "adds" : "replaces", change.clause,
                  place(change.where));
  }
  for (const formula::ElementTable& table : overlay.after.tables()) {
    out += Format("  adds     element type {} of code {}\n", table.name, table.code);
  }
  if (review.claims.empty()) return out;
  out += Heading("Claims");
  for (const ClaimResult& result : review.claims) {
    const Claim& claim = overlay.claims[result.claim];
    const bool holds = result.failing == 0;
    out += Format("  {} {} ({}) for {}{} {} values of its inputs\n", holds ? "holds" : "FAILS",
                  Printable(claim.name), claim.clause,
                  holds ? Format("") : Format("{} of ", result.failing),
                  result.exhaustive ? "all" : "a sample of", result.elements);
    if (!holds) {
      out += Indented("the smallest counterexample: " + result.counterexample, 4);
      out += Format("    {}\n", place(result.where));
    }
  }
  return out;
}

std::string Change(const Flip& flip) {
  if (flip.kind != FlipKind::kValue) return flip.before + " -> " + flip.after;
  const conformance::Difference& d = *flip.difference;
  if (!d.mismatch.empty()) return Format("{}: {}", d.output, d.mismatch);
  const auto& first = d.first.front();
  return Format("{}: {} of {} elements, first [{}] {} -> {}", d.output, d.differing, d.elements,
                first.index, first.expected, first.got);
}

std::string FlipsText(const CaseEffect& effect, bool of_overlay) {
  std::string out = Heading("Cases");
  const auto stated = std::ranges::count(effect.flips, true, &Flip::stated);
  if (of_overlay) {
    out += Format("Its clauses can change {} cases; of these {} were computed by the text alone",
                  effect.affected, effect.cases - effect.not_reached);
    out += effect.cases < effect.affected ? ",\na sample: --all takes every one.\n" : ".\n";
  }
  if (effect.not_reached > 0) {
    out += Format("The time was over before {} further ones: --seconds gives more.\n",
                  effect.not_reached);
  }
  if (effect.declined > 0) {
    out += Format("The text takes too many steps for {} of them.\n", effect.declined);
  }
  out += Format("This proposal flips {} of {} cases ({} of {} results).\n", effect.flipped_cases,
                effect.cases - effect.not_reached, effect.flips.size(), effect.results);
  if (!effect.flips.empty()) {
    std::map<std::string, std::int64_t> kinds;
    for (const Flip& flip : effect.flips) ++kinds[std::string(Name(flip.kind))];
    std::string text;
    for (const auto& [kind, count] : kinds) {
      text += Format("{}{} {}", text.empty() ? "" : ", ", count, kind);
    }
    out += Format("Of what kind: {}. {} are written out in their case and would have to change.\n",
                  text, stated);
  }
  for (std::size_t i = 0; i < std::min(effect.flips.size(), kListed); ++i) {
    const Flip& flip = effect.flips[i];
    out += Format("\n  {} @{} ({})\n", flip.id, flip.arithmetic, flip.spec);
    out += Indented(Change(flip), 4);
  }
  if (effect.flips.size() > kListed) {
    out += Format("\n  and {} more; --json and --html have all of them\n",
                  effect.flips.size() - kListed);
  }
  if (!effect.not_built.empty()) {
    out += Format("\n{} cases could not be built, the first is {}\n", effect.not_built.size(),
                  effect.not_built.front());
  }
  return out;
}

std::string BackendsText(const Review& review) {
  std::string out = Heading("Backends");
  for (const BackendEffect& one : review.backends) {
    if (!one.error) continue;
    out += Format("  {:<28} {}\n", one.name, one.error->Text());
  }
  if (review.cases.flips.empty()) return out + "No answer changes, so none stops conforming.\n";
  out += Format("  {:<28} {:>6} {:>11} {:>12} {:>6} {:>10} {:>12}\n", "on the flipped results",
                "asked", "newly fails", "newly passes", "stays", "fails both", "unsupported");
  for (const BackendEffect& one : review.backends) {
    if (one.error) continue;
    out += Format("  {:<28} {:>6} {:>11} {:>12} {:>6} {:>10} {:>12}\n", one.name, one.asked,
                  one.newly_fails.size(), one.newly_passes.size(), one.stays, one.fails_both,
                  one.unsupported);
  }
  for (const BackendEffect& one : review.backends) {
    if (one.newly_fails.empty()) continue;
    const std::string says =
        Format("{} would stop conforming; it would newly fail {} results, the first {}", one.name,
               one.newly_fails.size(), one.newly_fails.front());
    out += "\n" + Indented(says, 2);
  }
  return out;
}

std::string Detail(const ModelEffect& model) {
  std::string text = model.why;
  for (const ModelDifference& d : model.differences) {
    text += Format("{}{}: {} of {} elements, at most {} {}", text.empty() ? "" : "; ", d.output,
                   d.differing, d.elements, d.largest, d.unit);
  }
  return text;
}

std::string ModelsText(const Review& review) {
  if (review.models_folder.empty()) return {};
  std::string out = Heading("Models below " + review.models_folder);
  std::map<ModelOutcome, std::vector<const ModelEffect*>> by_outcome;
  for (const ModelEffect& model : review.models) by_outcome[model.outcome].push_back(&model);
  for (const auto& [outcome, models] : by_outcome) {
    out += Format("  {:>6} {}\n", models.size(), Name(outcome));
  }
  for (const auto& [outcome, models] : by_outcome) {
    if (outcome == ModelOutcome::kUnaffected) continue;
    out += Format("\n  {}\n", Name(outcome));
    for (std::size_t i = 0; i < std::min(models.size(), kListed); ++i) {
      out += Indented(models[i]->path, 4) + Indented(Detail(*models[i]), 6);
    }
    if (models.size() > kListed) out += Format("    and {} more\n", models.size() - kListed);
  }
  return out;
}

}  // namespace

Printable ToText(const Review& review) {
  const Proposal& proposal = review.proposal;
  std::string out = Prose().Fill(proposal.text.markdown);
  out += ExamplesText(review);
  if (proposal.overlay != nullptr) out += OverlayText(review);
  out += FlipsText(review.cases, proposal.overlay != nullptr);
  out += BackendsText(review);
  out += ModelsText(review);
  const auto wrong = std::ranges::count_if(review.examples, [](const ExampleResult& example) {
    return !example.before.ok || !example.after.ok;
  });
  const auto failing = std::ranges::count_if(
      review.claims, [](const ClaimResult& claim) { return claim.failing > 0; });
  out += Format(
      "\nProposal {:04} ({}, {}): {};\n{}{} of {} cases flip; {:.1f} s\n", proposal.number,
      Name(proposal.status), proposal.FeatureName(),
      wrong == 0 ? Format("all {} results of examples hold", review.examples.size())
                 : Format("{} of {} results of examples differ", wrong, review.examples.size()),
      review.claims.empty() ? Format("")
                            : Format("{} of {} claims fail; ", failing, review.claims.size()),
      review.cases.flipped_cases, review.cases.cases, review.seconds);
  return Printable::Written(std::move(out));
}

}  // namespace qtx::spec
