#include "qtx/quantize/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ledger.h"
#include "qtx/format/element_type.h"
#include "qtx/format/tensor_type.h"

namespace qtx::quantize {
namespace {

using format::ElementType;

struct Unit {
  std::string_view name;
  double bytes;  // 0: decibels
};
constexpr std::array<Unit, 5> kUnits = {
    {{"dB", 0}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}};

std::string Decimal(double value) {
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%.2f", value);
  return {text.data(), static_cast<std::size_t>(size)};
}

// A node whose type is searched: the names that rules know it by, and the order of its turn.
struct Candidate {
  std::string node, value;
  double cost = 0;
};

double WorstOutput(const QuantizationReport& report) {
  double worst = std::numeric_limits<double>::infinity();
  for (const ValueReport& output : report.outputs) {
    if (output.errors.count > 0) worst = std::min(worst, output.errors.sqnr_db);
  }
  return worst;
}

// What a value's noise is of its signal.
double ShareOf(const format::ErrorMeasures& errors) {
  return errors.noise == 0 ? 0 : errors.noise / std::max(errors.signal, 0x1p-1022);
}

// Nodes by the share of noise that each adds to the largest of its inputs, most first.
std::vector<Candidate> ByAddedNoise(const Quantized& quantized, const QuantizationReport& report) {
  std::map<std::string, const LayerReport*> layers;
  for (const LayerReport& layer : report.layers) layers.emplace(layer.output.name, &layer);
  std::vector<Candidate> candidates;
  for (const format::Node& node : quantized.model.graph.nodes) {
    const auto layer = node.outputs.empty() ? layers.end() : layers.find(node.outputs[0]);
    if (layer == layers.end()) continue;
    double before = 0;
    for (const std::string& input : node.inputs) {
      const auto producer = layers.find(input);
      if (producer != layers.end())
        before = std::max(before, ShareOf(producer->second->output.errors));
    }
    candidates.push_back(
        {node.name, layer->second->output.real, ShareOf(layer->second->output.errors) - before});
  }
  std::ranges::stable_sort(candidates, std::ranges::greater{}, &Candidate::cost);
  return candidates;
}

// Nodes with weights by what these lose in fewer bits, least first.
std::vector<Candidate> ByLostWeights(const QuantizationReport& report) {
  std::vector<Candidate> candidates;
  for (const LayerReport& layer : report.layers) {
    if (layer.weights)
      candidates.push_back({layer.node, layer.output.real, ShareOf(layer.weights->errors)});
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::cost);
  return candidates;
}

class Search {
 public:
  Search(const Target& target, const format::Model& model, const Options& options,
         const Judge& judge)
      : target_(target), model_(model), options_(options), judge_(judge) {}

  Result<Found> Run() { return target_.bytes ? ForSize() : ForError(); }

 private:
  struct Trial {
    Quantized quantized;
    QuantizationReport report;
    std::int64_t bytes = 0;
    bool meets = false;
  };
  using Change = void (*)(const Settings& general, Rule& rule);

  Result<Trial> Try(const std::vector<Rule>& rules);
  std::vector<Rule> RulesFor(const std::vector<Candidate>& candidates, std::size_t count,
                             Change change) const;
  Result<Trial> Fewest(const std::vector<Candidate>& candidates, Change change, Trial all,
                       std::size_t& count);
  Result<Found> ForError();
  Result<Found> ForSize();
  Found Finish(Trial trial, const std::vector<Candidate>& candidates, std::size_t count,
               const std::string& type) const;

  const Target& target_;
  const format::Model& model_;
  const Options& options_;
  const Judge& judge_;
  std::set<std::string> names_;  // nodes of the folded float model, which rules match
  std::size_t tried_ = 0;
};

Result<Search::Trial> Search::Try(const std::vector<Rule>& rules) {
  Options options = options_;
  options.rules.insert(options.rules.end(), rules.begin(), rules.end());
  ++tried_;
  Trial trial;
  QTX_ASSIGN_OR_RETURN(trial.quantized, Quantize(model_, options));
  QTX_ASSIGN_OR_RETURN(const std::string bytes, trial.quantized.model.Serialize());
  trial.bytes = std::ssize(bytes);
  if (target_.bytes) {
    QTX_ASSIGN_OR_RETURN(trial.report, Comparison(trial.quantized).Finish());
    trial.meets = trial.bytes <= *target_.bytes;
  } else {
    QTX_ASSIGN_OR_RETURN(trial.report, judge_(trial.quantized));
    trial.meets = WorstOutput(trial.report) >= *target_.sqnr_db;
  }
  for (const format::Node& node : trial.quantized.real.graph.nodes) {
    names_.insert(node.name);
    names_.insert(node.outputs.begin(), node.outputs.end());
  }
  return trial;
}

// Of the first `count` candidates. A node and what went into it (Conv and Relu) have names of both.
std::vector<Rule> Search::RulesFor(const std::vector<Candidate>& candidates, std::size_t count,
                                   Change change) const {
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::string& name : {candidates[i].node, candidates[i].value}) {
      if (name.empty() || !names_.contains(name)) continue;
      Rule rule;
      rule.name = name;
      rule.place = "--target";
      change(options_.settings, rule);
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

// `all` is the trial of all candidates, which meets the target. By bisection, as if one more never
// hurt: what comes of it has been tried.
Result<Search::Trial> Search::Fewest(const std::vector<Candidate>& candidates, Change change,
                                     Trial all, std::size_t& count) {
  std::size_t low = 0;  // too few
  count = candidates.size();
  Trial best = std::move(all);
  while (low + 1 < count) {
    const std::size_t middle = low + (count - low) / 2;
    QTX_ASSIGN_OR_RETURN(Trial trial, Try(RulesFor(candidates, middle, change)));
    if (trial.meets) {
      best = std::move(trial);
      count = middle;
    } else {
      low = middle;
    }
  }
  return best;
}

Found Search::Finish(Trial trial, const std::vector<Candidate>& candidates, std::size_t count,
                     const std::string& type) const {
  Ledger ledger;
  for (std::size_t i = 0; i < count; ++i)
    ledger.Changed(candidates[i].value, "type", type + ", for --target");
  Found found{.quantized = std::move(trial.quantized),
              .report = std::move(trial.report),
              .bytes = trial.bytes,
              .tried = tried_};
  auto entries = ledger.Take();
  found.quantized.ledger.insert(found.quantized.ledger.end(), entries.begin(), entries.end());
  return found;
}

void MakeWide(const Settings& general, Rule& rule) {
  if (general.activations.quantized) {
    rule.activations = general.activations;
    const bool is_signed = format::StorageRange(general.activations.type.storage).min < 0;
    rule.activations->type.storage = is_signed ? ElementType::kInt16 : ElementType::kUint16;
  }
  if (!general.weights.quantized || format::BitWidth(general.weights.type.storage) >= 8) return;
  rule.weights = WeightChoice{};
}

void MakeFloat(const Settings&, Rule& rule) { rule.keep_float = true; }

void MakeNarrow(const Settings& general, Rule& rule) {
  rule.weights = general.weights;
  rule.weights->type.storage = ElementType::kInt4;
  rule.weights->type.scheme = format::Scheme::kSymmetric;
  rule.weights->granularity = Granularity::kBlocks;
  rule.weights->block = 32;
}

Result<Found> Search::ForError() {
  QTX_ASSIGN_OR_RETURN(Trial base, Try({}));
  const auto candidates = ByAddedNoise(base.quantized, base.report);
  if (base.meets) return Finish(std::move(base), {}, 0, "");
  std::size_t count = 0;
  for (const auto& [change, type] : {std::pair<Change, const char*>(&MakeWide, "16 bits"),
                                     std::pair<Change, const char*>(&MakeFloat, "FLOAT")}) {
    QTX_ASSIGN_OR_RETURN(Trial all, Try(RulesFor(candidates, candidates.size(), change)));
    if (!all.meets) {
      base = std::move(all);
      continue;
    }
    QTX_ASSIGN_OR_RETURN(Trial least, Fewest(candidates, change, std::move(all), count));
    Found found = Finish(std::move(least), candidates, count, type);
    (change == &MakeWide ? found.wide : found.real) = count;
    return found;
  }
  return Error{
      ErrorCode::kInvalid, "--target",
      "the outputs have " + Decimal(WorstOutput(base.report)) + " dB with all nodes FLOAT"};
}

Result<Found> Search::ForSize() {
  QTX_ASSIGN_OR_RETURN(Trial base, Try({}));
  if (base.meets) return Finish(std::move(base), {}, 0, "");
  auto candidates = ByLostWeights(base.report);
  QTX_ASSIGN_OR_RETURN(Trial all, Try(RulesFor(candidates, candidates.size(), &MakeNarrow)));
  if (!all.meets) {
    return Error{ErrorCode::kInvalid, "--target",
                 "the model has " + std::to_string(all.bytes) +
                     " bytes with all weights in INT4, expected at most " +
                     std::to_string(*target_.bytes)};
  }
  candidates = ByLostWeights(all.report);
  std::size_t count = 0;
  QTX_ASSIGN_OR_RETURN(Trial least, Fewest(candidates, &MakeNarrow, std::move(all), count));
  Found found = Finish(std::move(least), candidates, count, "weights of INT4");
  found.narrow = count;
  return found;
}

}  // namespace

Result<Target> ParseTarget(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = format::ParseFloat(text.substr(0, text.size() - unit.name.size()));
    if (!number.has_value() || !std::isfinite(*number) || *number <= 0) break;
    Target target;
    if (unit.bytes == 0) {
      target.sqnr_db = *number;
      return target;
    }
    if (*number * unit.bytes > 1e15) break;
    target.bytes = static_cast<std::int64_t>(*number * unit.bytes);
    return target;
  }
  return Error{ErrorCode::kInvalid, "",
               "found '" + std::string(text) + "', expected an error as 30dB or a size as 1.5MB"};
}

Result<Found> QuantizeTo(const Target& target, const format::Model& model, const Options& options,
                         const Judge& judge) {
  return Search(target, model, options, judge).Run();
}

}  // namespace qtx::quantize
