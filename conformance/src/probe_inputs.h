// Inputs that a server of the protocol must refuse, or take for others.
#pragma once

#include <cstdint>

#include "conversation.h"

namespace qtx::conformance {

/// Runs the prepared model `handle` of the subject with inputs that break S12 to S14, each input
/// in each way that it can, with and without repetitions; and with reals for a quantized one.
void AskOtherInputs(Conversation& conversation, std::uint64_t handle, const ProbeSubject& subject);

}  // namespace qtx::conformance
