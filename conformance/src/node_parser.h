// Nodes of a case: their operators, the values they read and write, and the bodies of control flow.
// Source: spec/conformance_cases.md.
#pragma once

#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"
#include "yaml.h"
#include "yaml_reader.h"

namespace qtx::conformance {

/// `{type, domain, opset, origin, attributes}`. Errors: kInvalid, as of ParseCases.
Result<Operator> ParseOperator(const Yaml& node, const Place& place);

/// A list of `{op, inputs, outputs}`, all of one opset.
Result<std::vector<CaseNode>> ParseNodeList(const Yaml& node, const Place& place);

/// A map from name to typed value.
Result<std::vector<CaseValue>> ParseValues(const Yaml& node, const Place& place);

/// A map from name to typed value without data.
Result<std::vector<CaseValue>> ParseTypes(const Yaml& node, const Place& place);

}  // namespace qtx::conformance
