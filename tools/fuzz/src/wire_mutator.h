// Changes protobuf messages field by field, without a schema: lengths stay right, so that a change
// deep inside reaches the reader.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>

namespace qtx::fuzz {

/// Changes bytes without a form, to at most `max_size` of them: LLVMFuzzerMutate.
using MutateLeaf = std::function<std::string(std::string bytes, std::size_t max_size)>;

/// One to four changes: fields are deleted, doubled, moved, swapped, given another number or
/// another's contents; numbers become boundary values; texts and packed numbers are changed as
/// such. With `framed` the bytes are frames of the backend protocol, a message each.
/// nullopt for bytes that are no fields.
std::optional<std::string> MutateWire(const std::string& bytes, bool framed, std::mt19937& draw,
                                      const MutateLeaf& leaf);

/// `a` with a field of `b`, where it has one of the same number, or anywhere. nullopt as above.
std::optional<std::string> CrossWire(const std::string& a, const std::string& b, bool framed,
                                     std::mt19937& draw);

}  // namespace qtx::fuzz
