// The stdin/stdout side of the protocol, for a backend's own executable.
#pragma once

#include "qtx/backend/backend.h"

namespace qtx::backend {

/// Answers length-delimited requests read from `in_fd` on `out_fd` until end of file.
/// Returns the process's exit status: 0 at end of file, 3 after a malformed frame.
/// Source: spec/backend_protocol.md.
int Serve(Backend& backend, int in_fd = 0, int out_fd = 1);

}  // namespace qtx::backend
