#include "matrix.h"

#include <set>
#include <utility>

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

// One choice of a value for each key.
class Combination {
 public:
  Combination(const Yaml& matrix, std::vector<std::size_t> choice, std::string file,
              std::int64_t* budget)
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

  static std::string Flow(const Yaml& node) {
    if (!node.is_list() && !node.is_map()) return node.text;
    std::string text = node.is_list() ? "[" : "{";
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (i > 0) text += ",";
      if (node.is_map()) text += node.keys[i] + ":";
      text += Flow(node.items[i]);
    }
    return text + (node.is_list() ? "]" : "}");
  }

  Result<std::size_t> KeyOf(const Yaml& node, std::string_view name) {
    for (std::size_t i = 0; i < matrix_.keys.size(); ++i) {
      if (matrix_.keys[i] != name) continue;
      used_.insert(i);
      return i;
    }
    return Refuse(place_, node, "${" + std::string(name) + "} is not a key of the matrix");
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
      QTX_ASSIGN_OR_RETURN(const std::size_t key,
                           KeyOf(node, rest.substr(begin + 2, end - begin - 2)));
      const Yaml& value = Value(key);
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
  std::vector<std::size_t> choice_;
  Place place_;
  std::int64_t* budget_;
  std::set<std::size_t> used_;
};

// The number of combinations.  REQUIRES: a well-formed matrix.
Result<std::int64_t> CheckMatrix(const Yaml& matrix, const Place& place, std::int64_t nodes) {
  if (!matrix.is_map() || matrix.items.empty()) {
    return Refuse(place, matrix, "expected a map of lists, e.g. {type: [int8q, uint8q]}");
  }
  std::int64_t combinations = 1;
  for (std::size_t i = 0; i < matrix.items.size(); ++i) {
    const Yaml& values = matrix.items[i];
    if (!values.is_list() || values.items.empty()) {
      return Refuse(place.Child(matrix.keys[i]), values, "expected a list of at least one value");
    }
    combinations *= std::ssize(values.items);  // both factors are far below 2^31
    if (combinations > kMaxExpansion || combinations * nodes > kMaxExpandedNodes) {
      Error error = Refuse(place, matrix,
                           "expands to more than " + std::to_string(kMaxExpansion) + " cases or " +
                               std::to_string(kMaxExpandedNodes) + " YAML nodes");
      error.code = ErrorCode::kTooLarge;
      return error;
    }
  }
  return combinations;
}

// The combination with mixed-radix number `index`; the last key is the lowest digit.
std::vector<std::size_t> ChoiceOf(const Yaml& matrix, std::int64_t index) {
  std::vector<std::size_t> choice(matrix.items.size());
  auto rest = static_cast<std::size_t>(index);
  for (std::size_t i = matrix.items.size(); i-- > 0;) {
    const std::size_t size = matrix.items[i].items.size();
    choice[i] = rest % size;
    rest /= size;
  }
  return choice;
}

void Erase(Yaml& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i] != key) continue;
    map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(i));
    map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

}  // namespace

Result<std::vector<Yaml>> ExpandMatrix(const Yaml& document, const std::string& file) {
  const Yaml* found = document.Find("matrix");
  if (found == nullptr) return std::vector<Yaml>{document};
  const Yaml matrix = *found;
  const Place place{file, "matrix"};
  Yaml body = document;
  Erase(body, "matrix");
  QTX_ASSIGN_OR_RETURN(const std::int64_t combinations,
                       CheckMatrix(matrix, place, CountNodes(document)));

  std::vector<Yaml> expanded;
  std::int64_t budget = kSubstitutionBudget;
  std::set<std::size_t> used;
  for (std::int64_t index = 0; index < combinations; ++index) {
    Combination combination(matrix, ChoiceOf(matrix, index), file, &budget);
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
