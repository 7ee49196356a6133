// A small textbook backend that commits one known fault: what the suite is tested with. The fault
// `none` is no fault.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "qtx/backend/backend.h"

namespace qtx::backend::faulty {

struct FaultInfo {
  std::string_view name;            // "pairs_saturate"
  std::string_view says;            // what it does, as a diagnosis would say it
  std::string_view source;          // where it was seen: owner/repo#number, or a document
  std::string_view arithmetic;      // the one it departs from
  std::string_view diagnosis = {};  // the name a right diagnosis gives it; empty: `name`
  bool crashes = false;             // ends its process, so it must have one of its own
};

/// Every fault, without `none`.
std::span<const FaultInfo> Faults();

/// The backend `faulty:name`: arithmetic of the fault; `none` computes "exact" and "float32".
/// Errors: kInvalid for a name that is not a fault's.
Result<std::unique_ptr<Backend>> MakeFaulty(std::string_view name);

}  // namespace qtx::backend::faulty
