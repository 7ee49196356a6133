// Changes flatbuffers in place, without a schema: what is found by walking from the root.
#pragma once

#include <optional>
#include <random>
#include <string>

#include "wire_mutator.h"

namespace qtx::fuzz {

/// One to four changes: a scalar becomes a boundary value, a field absent or that of another
/// table, an offset points to what another offset points to, a vector loses or gains elements, its
/// bytes are changed. The size stays: offsets point forward only, so that an element more would
/// have to move all that follows. nullopt for bytes that have no root table.
std::optional<std::string> MutateFlatbuffer(const std::string& bytes, std::mt19937& draw,
                                            const MutateLeaf& leaf);

}  // namespace qtx::fuzz
