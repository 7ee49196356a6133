// The encoding of a case's initializer, as YAML.
#pragma once

#include <string>

#include "qtx/format/quantization.h"
#include "yaml_reader.h"

namespace qtx::conformance {

/// The map `encoding` of a typed value: the fields of the message, names of types and roles in
/// lower case. A role that is a number is one that no reader knows.  Source:
/// spec/conformance_cases.md.
Result<format::Encoding> ReadEncoding(const Yaml& node, const Place& place);

/// Inverse, in flow style.
std::string EncodingText(const format::Encoding& encoding);

}  // namespace qtx::conformance
