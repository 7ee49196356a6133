// MPFR keeps constants for each thread and leaves it to its users to free them.
#pragma once

#include <mpfr.h>

namespace qtx::reference {

/// Frees this thread's constants when the thread ends.
inline void OwnMpfrCache() {
  struct Cache {
    ~Cache() { mpfr_free_cache(); }
  };
  static thread_local const Cache kCache;
  static_cast<void>(kCache);
}

}  // namespace qtx::reference
