// The change of a proposal to the proto: its ```diff fences read as a schema, by protobuf's own
// parser.
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

/// The fields of the section "Change to the proto" as they would stand, context included; a line
/// `...` stands for what is left out. Errors: kInvalid at the line for what is no schema, for a
/// number that no field may have, and for a number or name twice in a message; kTooLarge past 1000
/// fields.  Source of the numbers: protobuf's language guide, "Assigning Field Numbers".
Result<std::vector<ProtoField>> ReadProtoChange(const Document& proposal);

/// Holds each added field to the messages of the text, whose chapters list fields as rows `| number
/// | name |`, and to the other proposals beside this one: a number has one name there, and a name
/// one number. Errors: kInvalid at the line; as ReadProtoChange, of another proposal too.
Result<void> CheckProtoChange(const Document& proposal);

}  // namespace qtx::spec
