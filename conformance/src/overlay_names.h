// Names that an overlay adds, in the YAML of its cases.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qtx/conformance/proposal_examples.h"
#include "qtx/format/result.h"
#include "yaml.h"

namespace qtx::conformance {

/// What a document had of these names.
struct AddedNames {
  std::map<std::string, std::string, std::less<>> types;  // of values
  std::vector<std::string> arithmetics;
};

/// Replaces added types by their carriers, and takes added arithmetics out. Without a list
/// `arithmetics` left, the key goes.
AddedNames TakeAddedNames(Yaml& document, const OverlayNames& names);

}  // namespace qtx::conformance
