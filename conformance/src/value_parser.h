// Typed values of a case: `a: {type: int8q, scale: [0.5], data: [1, 2]}`.
#pragma once

#include "qtx/conformance/case.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "yaml.h"
#include "yaml_reader.h"

namespace qtx::conformance {

/// One entry of inputs, initializers or an expectation. Does not check the format's rules on
/// parameters, which cases may break on purpose. Errors: kInvalid for unknown keys, a value out of
/// its element type's range, a count that disagrees with the shape; kTooLarge past
/// kMaxCaseElements.
Result<CaseValue> ParseValue(const std::string& name, const Yaml& node, const Place& place);

/// `data` as a tensor of `type`: stored integers, or the values of a float type, row-major.
/// `dims` nullopt is [number of values].
Result<format::Tensor> ParseData(const Yaml& node, const Place& place,
                                 const format::TensorType& type);

/// `axis: 1`, `alpha: 0.5`, `auto_pad: SAME_UPPER`, `pads: [0, 1]`, or a tensor as a typed value
/// with data. An attribute `to` may name an element type (`to: int8q`).
Result<format::Attribute> ParseAttribute(const std::string& name, const Yaml& node,
                                         const Place& place);

}  // namespace qtx::conformance
