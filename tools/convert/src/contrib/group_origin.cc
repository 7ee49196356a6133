#include "contrib/group_origin.h"

#include <algorithm>
#include <utility>

#include "qoperator/lift.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

// Attributes in the origin of a group.
constexpr const char* kFormerInputs = "qtx.inputs";
constexpr const char* kFormerOutputs = "qtx.outputs";

Attribute NamesAttribute(const char* name, std::vector<std::string> names) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = format::AttributeType::kStrings;
  attribute.strings = std::move(names);
  return attribute;
}

}  // namespace

void SetGroupOrigin(const Node& former, const std::string& group, std::vector<Node>& nodes) {
  format::Origin origin{
      group, kOnnxFramework, former.domain, former.op_type, former.name, former.attributes, ""};
  origin.attributes.push_back(NamesAttribute(kFormerInputs, former.inputs));
  origin.attributes.push_back(NamesAttribute(kFormerOutputs, former.outputs));
  for (Node& node : nodes) node.origin = origin;  // origin.C2: all have one
  Node& first = nodes.front();
  first.doc_string = former.doc_string;
  first.metadata = former.metadata;
  first.unknown_fields = former.unknown_fields;
}

std::optional<Node> FormerNode(const Node& first) {
  if (!first.origin || first.origin->framework != kOnnxFramework || first.origin->group.empty())
    return std::nullopt;
  Node former;
  former.name = first.origin->name;
  former.op_type = first.origin->op_type;
  former.domain = first.origin->domain;
  former.doc_string = first.doc_string;
  former.metadata = first.metadata;
  former.unknown_fields = first.unknown_fields;
  bool said = false;
  for (const Attribute& attribute : first.origin->attributes) {
    if (attribute.name == kFormerInputs) {
      former.inputs = attribute.strings;
    } else if (attribute.name == kFormerOutputs) {
      former.outputs = attribute.strings;
      said = true;
    } else {
      former.attributes.push_back(attribute);
    }
  }
  return said && !former.inputs.empty() ? std::optional(std::move(former)) : std::nullopt;
}

}  // namespace qtx::convert
