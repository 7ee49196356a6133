#include "separate.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "confirm.h"

namespace qtx::conformance {
namespace {

using Questions = std::vector<const Question*>;

std::optional<Separation> SeparateByPair(std::span<const Question* const> wrongs,
                                         std::span<const Question* const> rights) {
  // Conditions that hold for all wrong answers, with the right answers for which they hold too.
  std::vector<std::pair<const Condition*, Questions>> common;
  for (const Condition& condition : Conditions()) {
    const auto holds = [&](const Question* question) { return condition.holds(*question); };
    if (!std::ranges::all_of(wrongs, holds)) continue;
    common.emplace_back(&condition, Questions{});
    std::ranges::copy_if(rights, std::back_inserter(common.back().second), holds);
  }
  for (std::size_t i = 0; i < common.size(); ++i) {
    for (std::size_t j = i + 1; j < common.size(); ++j) {
      const Condition& first = *common[i].first;
      const Condition& second = *common[j].first;
      const auto holds = [&](const Question* question) { return second.holds(*question); };
      if (std::ranges::any_of(common[i].second, holds)) continue;
      return Separation{std::string(first.name) + " + " + std::string(second.name),
                        std::string(first.where) + " and " + std::string(second.where),
                        {&first, &second}};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Separation> Separate(std::span<const Question* const> wrongs,
                                   std::span<const Question* const> rights) {
  const auto is_network = [](const Question* question) {
    return question->model.graph.nodes.size() != 1;
  };
  if (rights.empty() || std::ranges::any_of(wrongs, is_network) ||
      std::ranges::any_of(rights, is_network)) {
    return std::nullopt;
  }
  for (const Condition& condition : Conditions()) {
    const auto holds = [&](const Question* question) { return condition.holds(*question); };
    if (std::ranges::all_of(wrongs, holds) && std::ranges::none_of(rights, holds)) {
      return Separation{std::string(condition.name), std::string(condition.where), {&condition}};
    }
  }
  return SeparateByPair(wrongs, rights);
}

Support SupportOf(const Separation& separation, std::span<const Trial> trials) {
  Support support = Support::kNone;
  for (const Trial& trial : trials) {
    const Question question = QuestionOf(trial.test);
    const bool holds = std::ranges::all_of(
        separation.conditions, [&](const Condition* one) { return one->holds(question); });
    if (holds) continue;
    if (trial.fails) return Support::kRefuted;
    support = Support::kConfirmed;
  }
  return support;
}

}  // namespace qtx::conformance
