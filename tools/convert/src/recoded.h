// Initializers that two models hold in different bytes: packed records in one, ordinary tensors
// with factors of their own in the other.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "qtx/convert/diff.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// The names of values whose types have different encodings in the two models.
std::set<std::string> DifferentlyEncoded(const format::Model& a, const format::Model& b);

/// The initializers that hold factors of these values in `model`.
std::set<std::string> FactorsOf(const format::Model& model, const std::set<std::string>& values);

/// `q` without where its codes and factors are kept.
format::Quantization WithoutPlaces(format::Quantization q);

/// The first difference of the codes, or else of the parameters, of an initializer.
/// Errors: those of LoadInitializer, with "a" or "b" in `where`.
Result<std::optional<Difference>> CompareRecoded(const format::ModelView& a,
                                                 const format::ModelView& b,
                                                 const std::string& name);

}  // namespace qtx::convert
