#include "matrix.h"

#include <algorithm>
#include <set>
#include <utility>

#include "covering_array.h"
#include "qtx/conformance/case.h"
#include "yaml_reader.h"

namespace qtx::conformance {
namespace {

std::int64_t CountNodes(const Yaml& node) {
  std::int64_t count = 1;
  for (const Yaml& item : node.items) count += CountNodes(item);
  return count;
}

// Limits on nodes and bytes that substitution may add to a document: a long list may replace many
// scalars.
constexpr std::int64_t kSubstitutionBudget = 2 * kMaxYamlNodes;
// Nodes of all cases together, about 200 MB.
constexpr std::int64_t kMaxExpandedNodes = 2 * kMaxYamlNodes;

std::string Flow(const Yaml& node) {
  if (!node.is_list() && !node.is_map()) return node.text;
  std::string text = node.is_list() ? "[" : "{";
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) text += ",";
    if (node.is_map()) text += node.keys[i] + ":";
    text += Flow(node.items[i]);
  }
  return text + (node.is_list() ? "]" : "}");
}

// "key" or "key.entry".
struct Name {
  std::string_view key;
  std::string_view entry;  // empty: the whole value
};

Name Split(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

// The number of keys if `key` is not one.
std::size_t IndexOf(const Yaml& map, std::string_view key) {
  return static_cast<std::size_t>(std::ranges::find(map.keys, key) - map.keys.begin());
}

// nullptr if `value` lacks the entry.
const Yaml* EntryOf(const Yaml& value, const Name& name) {
  return name.entry.empty() ? &value : value.Find(name.entry);
}

// One choice of a value for each key.
class Combination {
 public:
  Combination(const Yaml& matrix, Choice choice, std::string file, std::int64_t* budget)
      : matrix_(matrix), choice_(std::move(choice)), place_{std::move(file), ""}, budget_(budget) {}

  // Replaces ${key} in `node` and below.
  Result<void> Substitute(Yaml& node) {
    if (node.is_scalar() && node.text.find("${") != std::string::npos) {
      return SubstituteScalar(node);
    }
    for (Yaml& item : node.items) QTX_RETURN_IF_ERROR(Substitute(item));
    return {};
  }

  // "[type=int8q,K=3]"; values are written as in flow style, without blanks.
  std::string Suffix() const {
    std::string suffix;
    for (std::size_t i = 0; i < matrix_.keys.size(); ++i) {
      suffix += (i == 0 ? "[" : ",") + matrix_.keys[i] + "=" + Flow(Value(i));
    }
    return suffix + "]";
  }

  const std::set<std::size_t>& used() const { return used_; }

 private:
  const Yaml& Value(std::size_t key) const { return matrix_.items[key].items[choice_[key]]; }

  // The value of "key", or the entry of a map that "key.entry" names.
  Result<const Yaml*> ValueOf(const Yaml& node, std::string_view name) {
    const Name parts = Split(name);
    const std::size_t key = IndexOf(matrix_, parts.key);
    const Yaml* value = key == matrix_.keys.size() ? nullptr : EntryOf(Value(key), parts);
    if (value == nullptr) {
      return Refuse(place_, node, "${" + std::string(name) + "} is not a key of the matrix");
    }
    used_.insert(key);
    return value;
  }

  Result<void> Spend(const Yaml& node, std::int64_t cost) {
    *budget_ -= cost;
    if (*budget_ >= 0) return {};
    Error error = Refuse(place_, node, "the matrix expands to too much text");
    error.code = ErrorCode::kTooLarge;
    return error;
  }

  Result<void> SubstituteScalar(Yaml& node) {
    std::string text;
    std::string_view rest = node.text;
    for (std::size_t begin = rest.find("${"); begin != std::string_view::npos;
         begin = rest.find("${")) {
      const std::size_t end = rest.find('}', begin);
      if (end == std::string_view::npos) return Refuse(place_, node, "found '${' without '}'");
      QTX_ASSIGN_OR_RETURN(const Yaml* const found,
                           ValueOf(node, rest.substr(begin + 2, end - begin - 2)));
      const Yaml& value = *found;
      QTX_RETURN_IF_ERROR(Spend(node, CountNodes(value) + std::ssize(value.text)));
      if (begin == 0 && end + 1 == node.text.size() && text.empty()) {
        const int line = node.line;
        node = Yaml(value);
        node.line = line;
        return {};
      }
      if (!value.is_scalar()) {
        return Refuse(place_, node, "a list or map must replace the whole scalar");
      }
      text.append(rest.substr(0, begin)).append(value.text);
      rest.remove_prefix(end + 1);
    }
    node.text = text.append(rest);
    return {};
  }

  const Yaml& matrix_;
  Choice choice_;
  Place place_;
  std::int64_t* budget_;
  std::set<std::size_t> used_;
};

Error TooLarge(const Place& place, const Yaml& matrix) {
  Error error = Refuse(place, matrix,
                       "expands to more than " + std::to_string(kMaxExpansion) + " cases or " +
                           std::to_string(kMaxExpandedNodes) + " YAML nodes");
  error.code = ErrorCode::kTooLarge;
  return error;
}

Result<void> CheckMatrix(const Yaml& matrix, const Place& place) {
  if (!matrix.is_map() || matrix.items.empty()) {
    return Refuse(place, matrix, "expected a map of lists, e.g. {type: [int8q, uint8q]}");
  }
  for (std::size_t i = 0; i < matrix.items.size(); ++i) {
    const Yaml& values = matrix.items[i];
    if (!values.is_list() || values.items.empty()) {
      return Refuse(place.Child(matrix.keys[i]), values, "expected a list of at least one value");
    }
  }
  return {};
}

// One entry of `exclude`: {key: [value, ...], key.entry: [value, ...]}.
Result<Exclusion> ReadExclusion(const Yaml& matrix, const Yaml& node, const Place& place) {
  if (!node.is_map() || node.items.empty()) {
    return Refuse(place, node, "expected a map of lists, e.g. {type: [int8q], K: [1, 3]}");
  }
  Exclusion exclusion;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const Place child = place.Child(node.keys[i]);
    const Name name = Split(node.keys[i]);
    const std::size_t key = IndexOf(matrix, name.key);
    if (key == matrix.keys.size()) return Refuse(child, node, "not a key of the matrix");
    std::vector<bool> meant(matrix.items[key].items.size());
    for (const Yaml& excluded : node.items[i].items) {
      bool found = false;
      for (std::size_t v = 0; v < meant.size(); ++v) {
        const Yaml* value = EntryOf(matrix.items[key].items[v], name);
        if (value == nullptr || Flow(*value) != Flow(excluded)) continue;
        meant[v] = true;
        found = true;
      }
      if (!found) return Refuse(child, excluded, Flow(excluded) + " is not a value of the key");
    }
    exclusion.emplace_back(key, std::move(meant));
  }
  return exclusion;
}

Result<std::vector<Exclusion>> ReadExclusions(const Yaml& document, const Yaml& matrix,
                                              const Place& place) {
  const Yaml* list = document.Find("exclude");
  if (list == nullptr) return std::vector<Exclusion>();
  if (!list->is_list()) return Refuse(place, *list, "expected a list of maps");
  std::vector<Exclusion> exclusions;
  for (const Yaml& node : list->items) {
    QTX_ASSIGN_OR_RETURN(exclusions.emplace_back(), ReadExclusion(matrix, node, place));
  }
  return exclusions;
}

// Each choice that is not excluded; the last key varies fastest.
std::vector<Choice> AllChoices(const std::vector<std::size_t>& sizes,
                               const std::vector<Exclusion>& exclusions) {
  std::vector<Choice> choices;
  Choice choice(sizes.size());
  while (true) {
    if (!IsExcluded(choice, exclusions)) choices.push_back(choice);
    std::size_t key = sizes.size();
    while (key > 0 && ++choice[key - 1] == sizes[key - 1]) choice[--key] = 0;
    if (key == 0) return choices;
  }
}

// The choices that the document stands for.  REQUIRES: a well-formed matrix of a document of
// `nodes` nodes.
Result<std::vector<Choice>> ChoicesOf(const Yaml& document, const Yaml& matrix,
                                      const std::string& file, std::int64_t nodes) {
  const Place place{file, "matrix"};
  QTX_ASSIGN_OR_RETURN(const auto exclusions,
                       ReadExclusions(document, matrix, Place{file, "exclude"}));
  std::vector<std::size_t> sizes;
  for (const Yaml& values : matrix.items) sizes.push_back(values.items.size());
  const std::int64_t most = std::min(kMaxExpansion, kMaxExpandedNodes / nodes);
  if (const Yaml* node = document.Find("strength")) {
    const Place below{file, "strength"};
    QTX_ASSIGN_OR_RETURN(const std::int64_t strength, ReadInt(*node, below));
    if (strength < 2 || strength > 3 || strength > std::ssize(sizes)) {
      return Refuse(below, *node, "expected 2 or 3, and at least as many keys");
    }
    auto choices = CoveringArray(sizes, static_cast<std::size_t>(strength), exclusions);
    if (!choices) return At(file + ":" + std::to_string(node->line), choices.error());
    if (std::ssize(*choices) > most) return TooLarge(place, matrix);
    return choices;
  }
  std::int64_t combinations = 1;
  for (const std::size_t size : sizes) {
    combinations *= static_cast<std::int64_t>(size);  // both factors are far below 2^31
    if (combinations > most) return TooLarge(place, matrix);
  }
  return AllChoices(sizes, exclusions);
}

void Erase(Yaml& map, std::string_view key) {
  const std::size_t i = IndexOf(map, key);
  if (i == map.keys.size()) return;
  map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(i));
  map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace

Result<std::vector<Yaml>> ExpandMatrix(const Yaml& document, const std::string& file) {
  const Yaml* found = document.Find("matrix");
  if (found == nullptr) return std::vector<Yaml>{document};
  const Yaml matrix = *found;
  const Place place{file, "matrix"};
  Yaml body = document;
  for (const std::string_view key : {"matrix", "strength", "exclude"}) Erase(body, key);
  QTX_RETURN_IF_ERROR(CheckMatrix(matrix, place));
  QTX_ASSIGN_OR_RETURN(std::vector<Choice> choices,
                       ChoicesOf(document, matrix, file, CountNodes(document)));
  if (choices.empty()) return Refuse(place, matrix, "every combination is excluded");

  std::vector<Yaml> expanded;
  std::int64_t budget = kSubstitutionBudget;
  std::set<std::size_t> used;
  for (Choice& choice : choices) {
    Combination combination(matrix, std::move(choice), file, &budget);
    Yaml& one = expanded.emplace_back(body);
    QTX_RETURN_IF_ERROR(combination.Substitute(one));
    used.insert(combination.used().begin(), combination.used().end());
    for (std::size_t i = 0; i < one.keys.size(); ++i) {
      if (one.keys[i] == "id") one.items[i].text += combination.Suffix();
    }
  }
  for (std::size_t i = 0; i < matrix.keys.size(); ++i) {
    if (!used.contains(i)) {
      return Refuse(place.Child(matrix.keys[i]), matrix.items[i],
                    "nothing in the document uses ${" + matrix.keys[i] + "}");
    }
  }
  return expanded;
}

}  // namespace qtx::conformance
