#include "covering_array.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "generator.h"

namespace qtx::conformance {
namespace {

constexpr std::size_t kOpen = static_cast<std::size_t>(-1);  // a key without a value yet
constexpr std::size_t kMostTuples = std::size_t{1} << 18;
constexpr std::int64_t kMostChecks = std::int64_t{1} << 22;
constexpr int kCandidates = 16;  // for each choice

// Values of `strength` keys that must be together in a choice.
struct Tuple {
  std::vector<std::pair<std::size_t, std::size_t>> values;  // key, value
  bool missing = true;
};

bool Holds(const Choice& choice, const Tuple& tuple) {
  return std::ranges::all_of(tuple.values,
                             [&](const auto& pair) { return choice[pair.first] == pair.second; });
}

class RowSearch {
 public:
  RowSearch(const std::vector<std::size_t>& sizes, std::size_t strength,
            const std::vector<Exclusion>& exclusions)
      : sizes_(sizes), strength_(strength), exclusions_(exclusions), constrained_(sizes.size()) {
    for (const Exclusion& exclusion : exclusions) {
      for (const auto& [key, meant] : exclusion) constrained_[key] = true;
    }
  }

  Result<std::vector<Choice>> Run() {
    Choice choice(sizes_.size(), kOpen);
    CollectTuples(choice, 0, 0);
    if (tuples_.size() >= kMostTuples) return TooLarge("combinations of values");
    IndexTuples();
    std::vector<Choice> choices;
    for (const Tuple& tuple : tuples_) {
      if (!tuple.missing) continue;
      choices.push_back(Best(tuple));
      if (checks_ < 0) break;
      Cover(choices.back());
    }
    if (checks_ < 0) return TooLarge("checks of an exclusion");
    return choices;
  }

 private:
  static Error TooLarge(const std::string& what) {
    return Error{ErrorCode::kTooLarge, "", "the covering array takes too many " + what};
  }

  // Appends the tuples with `choice`'s `count` values and others of keys from `next` on.
  void CollectTuples(Choice& choice, std::size_t next, std::size_t count) {
    if (tuples_.size() >= kMostTuples || checks_ < 0) return;
    if (count == strength_) {
      if (!CanComplete(choice)) return;
      Tuple& tuple = tuples_.emplace_back();
      for (std::size_t key = 0; key < choice.size(); ++key) {
        if (choice[key] != kOpen) tuple.values.emplace_back(key, choice[key]);
      }
      return;
    }
    for (std::size_t key = next; key + strength_ - count <= sizes_.size(); ++key) {
      for (choice[key] = 0; choice[key] < sizes_[key]; ++choice[key]) {
        CollectTuples(choice, key + 1, count + 1);
      }
      choice[key] = kOpen;
    }
  }

  void IndexTuples() {
    for (const std::size_t size : sizes_) tuples_of_.emplace_back(size);
    for (std::size_t i = 0; i < tuples_.size(); ++i) {
      for (const auto& [key, value] : tuples_[i].values) tuples_of_[key][value].push_back(i);
    }
  }

  // Marks the tuples that the choice holds, and removes them from the index.
  void Cover(const Choice& choice) {
    for (std::size_t key = 0; key < choice.size(); ++key) {
      std::erase_if(tuples_of_[key][choice[key]], [&](std::size_t i) {
        if (Holds(choice, tuples_[i])) tuples_[i].missing = false;
        return !tuples_[i].missing;
      });
    }
  }

  // True if the open keys from `key` on can get values such that no exclusion applies.
  bool CanComplete(Choice& choice, std::size_t key = 0) {
    checks_ -= std::ssize(exclusions_);
    if (checks_ < 0 || IsExcluded(choice, exclusions_)) return false;
    while (key < choice.size() && (choice[key] != kOpen || !constrained_[key])) ++key;
    if (key == choice.size()) return true;
    bool can = false;
    for (std::size_t value = 0; value < sizes_[key] && !can; ++value) {
      choice[key] = value;
      can = CanComplete(choice, key + 1);
    }
    choice[key] = kOpen;
    return can;
  }

  // The candidate with the most missing tuples; each has `tuple`.
  Choice Best(const Tuple& tuple) {
    Choice best;
    std::int64_t most = -1;
    for (int i = 0; i < kCandidates && checks_ >= 0; ++i) {
      auto [candidate, gain] = Candidate(tuple);
      if (gain <= most) continue;
      most = gain;
      best = std::move(candidate);
    }
    return best;
  }

  // Gives the keys, in random order, the value that adds the most missing tuples.
  std::pair<Choice, std::int64_t> Candidate(const Tuple& tuple) {
    Choice choice(sizes_.size(), kOpen);
    std::vector<std::size_t> keys;
    for (const auto& [key, value] : tuple.values) choice[key] = value;
    for (std::size_t key = 0; key < sizes_.size(); ++key) {
      if (choice[key] == kOpen) keys.push_back(key);
    }
    std::int64_t gain = 1;
    for (std::size_t left = keys.size(); left > 0; --left) {
      std::swap(keys[left - 1], keys[random_.Below(left)]);
      gain += Extend(choice, keys[left - 1]);
      if (checks_ < 0) break;
    }
    return {std::move(choice), gain};
  }

  // Gives the key the best value and returns what it adds. Of equally good values the first after a
  // random one is taken: otherwise the first values would be in most choices.
  std::int64_t Extend(Choice& choice, std::size_t key) {
    std::int64_t most = -1;
    std::size_t best = kOpen;
    const std::size_t start = random_.Below(sizes_[key]);
    for (std::size_t i = 0; i < sizes_[key]; ++i) {
      choice[key] = (start + i) % sizes_[key];
      const std::int64_t gain =
          std::ranges::count_if(tuples_of_[key][choice[key]],
                                [&](std::size_t tuple) { return Holds(choice, tuples_[tuple]); });
      if (gain <= most || (constrained_[key] && !CanComplete(choice))) continue;
      most = gain;
      best = choice[key];
    }
    choice[key] = best;
    return most;
  }

  const std::vector<std::size_t>& sizes_;
  std::size_t strength_;
  const std::vector<Exclusion>& exclusions_;
  std::vector<bool> constrained_;  // the keys that an exclusion names
  std::vector<Tuple> tuples_;
  std::vector<std::vector<std::vector<std::size_t>>> tuples_of_;  // missing ones, by key and value
  std::int64_t checks_ = kMostChecks;
  Random random_{0};
};

}  // namespace

bool IsExcluded(const Choice& choice, const std::vector<Exclusion>& exclusions) {
  return std::ranges::any_of(exclusions, [&](const Exclusion& exclusion) {
    return std::ranges::all_of(exclusion, [&](const auto& condition) {
      const std::size_t value = choice[condition.first];
      return value < condition.second.size() && condition.second[value];
    });
  });
}

Result<std::vector<Choice>> CoveringArray(const std::vector<std::size_t>& sizes,
                                          std::size_t strength,
                                          const std::vector<Exclusion>& exclusions) {
  return RowSearch(sizes, strength, exclusions).Run();
}

}  // namespace qtx::conformance
