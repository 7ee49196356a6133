#include "covering_array.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace qtx::conformance::covering_array_test {
namespace {

std::vector<Choice> Cover(const std::vector<std::size_t>& sizes, std::size_t strength,
                          const std::vector<Exclusion>& exclusions = {}) {
  const auto choices = CoveringArray(sizes, strength, exclusions);
  EXPECT_TRUE(choices.has_value());
  return choices ? *choices : std::vector<Choice>();
}

// All choices that are not excluded, by counting through them.
std::vector<Choice> Permitted(const std::vector<std::size_t>& sizes,
                              const std::vector<Exclusion>& exclusions) {
  std::vector<Choice> all;
  Choice choice(sizes.size());
  while (true) {
    bool excluded = false;
    for (const Exclusion& exclusion : exclusions) {
      bool applies = true;
      for (const auto& [key, meant] : exclusion) applies = applies && meant[choice[key]];
      excluded = excluded || applies;
    }
    if (!excluded) all.push_back(choice);
    std::size_t key = 0;
    while (key < sizes.size() && ++choice[key] == sizes[key]) choice[key++] = 0;
    if (key == sizes.size()) return all;
  }
}

// Keys with their values.
using Together = std::vector<std::pair<std::size_t, std::size_t>>;

std::set<Together> TuplesOf(const std::vector<Choice>& choices, std::size_t strength) {
  std::set<Together> tuples;
  for (const Choice& choice : choices) {
    for (std::size_t a = 0; a < choice.size(); ++a) {
      for (std::size_t b = a + 1; b < choice.size(); ++b) {
        if (strength == 2) tuples.insert({{a, choice[a]}, {b, choice[b]}});
        for (std::size_t c = b + 1; strength == 3 && c < choice.size(); ++c) {
          tuples.insert({{a, choice[a]}, {b, choice[b]}, {c, choice[c]}});
        }
      }
    }
  }
  return tuples;
}

TEST(CoveringArray, HoldsEveryPairAndEveryTriple) {
  const std::vector<std::size_t> sizes = {5, 1, 3, 2, 4, 2};
  const std::vector<Choice> all = Permitted(sizes, {});
  ASSERT_EQ(all.size(), 240U);
  for (const std::size_t strength : {2U, 3U}) {
    EXPECT_EQ(TuplesOf(Cover(sizes, strength), strength), TuplesOf(all, strength));
  }
}

// Key 0 = 0 requires key 1 = 1, which requires key 2 = 0: so 0 of key 0 and 1 of key 2, which no
// single exclusion names, are never together.
TEST(CoveringArray, HoldsJustThePairsThatSomePermittedChoiceHas) {
  const std::vector<std::size_t> sizes = {3, 2, 2, 4, 3};
  const std::vector<Exclusion> exclusions = {{{0, {true, false, false}}, {1, {true, false}}},
                                             {{1, {false, true}}, {2, {false, true}}},
                                             {{3, {true, true, false, false}}, {4, {1, 0, 0}}}};
  const std::vector<Choice> choices = Cover(sizes, 2, exclusions);
  EXPECT_EQ(TuplesOf(choices, 2), TuplesOf(Permitted(sizes, exclusions), 2));
  for (const Choice& choice : choices) EXPECT_FALSE(IsExcluded(choice, exclusions));
}

// AETG (1997) found 11, 17 and 35 choices for these; no array for the first has less than 9, for
// the last less than 16.
TEST(CoveringArray, IsNearTheSmallestKnown) {
  EXPECT_LE(Cover({3, 3, 3, 3}, 2).size(), 11U);
  EXPECT_LE(Cover(std::vector<std::size_t>(13, 3), 2).size(), 21U);
  std::vector<std::size_t> mixed(61, 2);
  mixed.resize(61 + 15, 4);
  mixed.resize(61 + 15 + 17, 3);
  EXPECT_LE(Cover(mixed, 2).size(), 42U);
}

TEST(CoveringArray, IsTheSameEachTime) {
  const std::vector<std::size_t> sizes = {7, 5, 3, 3, 2};
  EXPECT_EQ(Cover(sizes, 2), Cover(sizes, 2));
}

TEST(CoveringArray, HasNoChoiceWhereAllAreExcluded) {
  EXPECT_TRUE(Cover({2, 2}, 2, {{{0, {true, true}}}}).empty());
}

// No two of 24 keys may have the same of 22 values, which no search through them shows soon.
TEST(CoveringArray, RefusesExclusionsThatTakeTooLong) {
  std::vector<Exclusion> exclusions;
  for (std::size_t a = 0; a < 24; ++a) {
    for (std::size_t b = a + 1; b < 24; ++b) {
      for (std::size_t v = 0; v < 22; ++v) {
        std::vector<bool> value(22);
        value[v] = true;
        exclusions.push_back({{a, value}, {b, value}});
      }
    }
  }
  const auto choices = CoveringArray(std::vector<std::size_t>(24, 22), 2, exclusions);
  ASSERT_FALSE(choices.has_value());
  EXPECT_EQ(choices.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace qtx::conformance::covering_array_test
