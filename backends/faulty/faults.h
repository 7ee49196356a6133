// The enumerator of each entry of Faults().
#pragma once

#include <cstddef>

#include "fault.h"

namespace qtx::backend::faulty {

Fault FaultAt(std::size_t i);

}  // namespace qtx::backend::faulty
