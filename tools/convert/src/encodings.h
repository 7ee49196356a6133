// Initializers of records, for forms that have none.
#pragma once

#include <map>
#include <string>

#include "ledger.h"
#include "qtx/format/encoding.h"

namespace qtx::convert {

/// Encodings by the name of their value.
using Encodings = std::map<std::string, format::Encoding>;

/// The flat `model` with the codes of each encoded initializer in its ordinary storage, and the
/// factors that its records have in initializers `v/scale_levels/0` and so on. `taken` gets the
/// encodings of values whose records PutEncodings finds again; the ledger says of which it does
/// not. Large tensors go into `data`, if any. Errors: those of LoadInitializer, naming the value,
/// and of DataFile::Add.
Result<format::Model> WithoutEncodings(const format::Model& model, Ledger& ledger, Encodings* taken,
                                       format::DataFile* data);

/// The same of a model with bodies, for forms that do not come back.
Result<format::Model> Decoded(const format::Model& model, Ledger& ledger, format::DataFile* data);

/// Writes the records of the initializers that `encodings` names from codes and factors. The ledger
/// says which values stay as they are, since their encoding cannot hold them. Large tensors go into
/// `data`, if any.  Errors: those of DataFile::Add.
Result<void> PutEncodings(const Encodings& encodings, format::Model& model, Ledger& ledger,
                          format::DataFile* data);

/// Takes the encodings out of the annotations of a flat model.
Encodings TakeAnnotated(format::Model& model);
/// Puts them into the annotations.
void AnnotateEncodings(const Encodings& encodings, format::Model& model);

}  // namespace qtx::convert
