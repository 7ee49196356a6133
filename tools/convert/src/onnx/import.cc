// FromOnnx: each dialect rewritten to Q/DQ pairs in turn, then the pairs folded into types.
#include "qdq/fold.h"
#include "qtx/convert/convert.h"

namespace qtx::convert {

Result<Conversion> FromOnnx(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  Conversion conversion;
  QTX_ASSIGN_OR_RETURN(conversion.model, FoldPairs(model, ledger));
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace qtx::convert
