// A proposal's change to the proto: its ```diff fences, parsed by protobuf's own parser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qtx/spec/document.h"

namespace qtx::spec {

struct ProtoField {
  std::string message;  // "TypeProto.Tensor"
  std::string name;
  std::int64_t number = 0;
  int line = 0;  // of the document
  bool added = false;
};

/// The fields of the section "Change to the proto" after the change, including context; a line
/// `...` is an omission. Errors: kInvalid at the line for a malformed schema, an illegal field
/// number, and a repeated number or name in a message; kTooLarge past 1000 fields.  Source of the
/// numbers: protobuf's language guide, "Assigning Field Numbers".
Result<std::vector<ProtoField>> ReadProtoChange(const Document& proposal);

/// Checks each added field against the spec's messages, whose chapters list fields as rows `|
/// number | name |`, and against the other proposals: numbers and names must correspond one to one.
/// Errors: kInvalid at the line; as ReadProtoChange, of another proposal too.
Result<void> CheckProtoChange(const Document& proposal);

}  // namespace qtx::spec
