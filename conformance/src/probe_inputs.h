// Inputs that a server of the protocol must refuse, or take for others.
#pragma once

#include <cstdint>
#include <optional>

#include "conversation.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// Runs the prepared model `handle` of the subject with inputs that break S12 to S14, each input
/// in each way that it can, with and without repetitions; and with reals for a quantized one.
void AskOtherInputs(Conversation& conversation, std::uint64_t handle, const ProbeSubject& subject);

/// The tensor's parameters along another axis, or of blocks along other axes, where the dims have
/// places for as many; nullopt without such.
std::optional<format::Quantization> MovedParameters(const format::Tensor& tensor);

}  // namespace qtx::conformance
