// MPFR keeps constants and integers for each thread and leaves it to its users to free them. For
// those who link MPFR.
#pragma once

#include <mpfr.h>

namespace qtx::format {

/// Frees what MPFR keeps for this thread when the thread ends.
inline void OwnMpfrCache() {
  struct Cache {
    ~Cache() { mpfr_free_cache(); }
  };
  static thread_local const Cache kCache;
  static_cast<void>(kCache);
}

}  // namespace qtx::format
