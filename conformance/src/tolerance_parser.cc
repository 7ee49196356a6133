#include "tolerance_parser.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "value_parser.h"

namespace qtx::conformance {
namespace {

Result<Alternative> ParseAlternative(const Yaml& node, const Place& place, const Case& c) {
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"output", "data", "because"}));
  Alternative alternative;
  if (const Yaml* output = node.Find("output")) {
    QTX_ASSIGN_OR_RETURN(alternative.output, ReadString(*output, place.Child("output")));
  } else if (c.outputs.size() == 1) {
    alternative.output = c.outputs[0].name;
  }
  const auto expected = std::ranges::find(c.outputs, alternative.output, &CaseValue::name);
  if (expected == c.outputs.end() || expected->type.elem_type == format::ElementType::kUndefined) {
    return Refuse(place, node, "'output' must name an output that has a type");
  }
  const Yaml* because = node.Find("because");
  const Yaml* data = node.Find("data");
  if (because == nullptr || data == nullptr) {
    return Refuse(place, node, "expected the keys data and because");
  }
  QTX_ASSIGN_OR_RETURN(alternative.because, ReadString(*because, place.Child("because")));
  QTX_ASSIGN_OR_RETURN(alternative.data, ParseData(*data, place.Child("data"), expected->type));
  return alternative;
}

Result<double> ReadBound(const Yaml& node, const Place& place) {
  QTX_ASSIGN_OR_RETURN(const double bound, ReadFloat<double>(node, place));
  if (bound >= 0 && bound <= 1) return bound;
  return Refuse(place, node, "found " + node.text + ", expected 0 to 1");
}

// A tolerance that no clause derives comes from elsewhere, and `because` must name the source.
Result<void> ParseCloseness(const Yaml& node, const Place& place, Case& c) {
  const Yaml* relative = node.Find("relative");
  const Yaml* absolute = node.Find("absolute");
  const Yaml* because = node.Find("because");
  if (relative == nullptr || absolute == nullptr || because == nullptr) {
    return Refuse(place, node,
                  "expected exact, {ulp: N} or {relative: R, absolute: A, because: TEXT}");
  }
  c.close.emplace();
  QTX_ASSIGN_OR_RETURN(c.close->relative, ReadBound(*relative, place.Child("relative")));
  QTX_ASSIGN_OR_RETURN(c.close->absolute, ReadBound(*absolute, place.Child("absolute")));
  QTX_ASSIGN_OR_RETURN(c.close->because, ReadString(*because, place.Child("because")));
  if (c.close->because.empty()) return Refuse(place.Child("because"), *because, "expected text");
  return {};
}

}  // namespace

Result<void> ParseAlternatives(const Yaml& node, const Place& place, Case& c) {
  if (!node.is_list()) return Refuse(place, node, "expected a list of {data, because}");
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(c.alternatives.emplace_back(),
                         ParseAlternative(node.items[i], place.Child(std::to_string(i)), c));
  }
  return {};
}

Result<void> ParseTolerance(const Yaml& node, const Place& place, Case& c) {
  if (node.is_scalar() && node.text == "exact") return {};
  QTX_RETURN_IF_ERROR(ExpectMap(node, place, {"ulp", "relative", "absolute", "because"}));
  const Yaml* ulp = node.Find("ulp");
  if (ulp == nullptr) return ParseCloseness(node, place, c);
  if (node.items.size() > 1)
    return Refuse(place, node, "found ulp with other keys, expected ulp alone");
  QTX_ASSIGN_OR_RETURN(c.ulp, ReadInt(*ulp, place.Child("ulp")));
  if (*c.ulp < 0) return Refuse(place.Child("ulp"), *ulp, "expected at least 0");
  return {};
}

}  // namespace qtx::conformance
