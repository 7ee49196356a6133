// Conversions of models whose nodes have bodies.
#pragma once

#include <utility>

#include "qtx/convert/convert.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {

/// What `convert` makes of the flat form of `model`, nested again. Ledger and errors name a value
/// of a body by its path.
template <typename Convert>
Result<Conversion> OnFlatForm(const format::Model& model, const Convert& convert) {
  const format::FlatModel flat(model);
  Result<Conversion> made = convert(flat.model());
  if (!made.has_value()) return flat.Readable(std::move(made).error());
  QTX_ASSIGN_OR_RETURN(made->model, flat.Nest(std::move(made->model)));
  for (LedgerEntry& entry : made->ledger) {
    entry.value = flat.Readable(entry.value);
    entry.why = flat.Readable(entry.why);
  }
  return made;
}

}  // namespace qtx::convert
