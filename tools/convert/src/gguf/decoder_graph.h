// The graph that the metadata of a GGUF file stand for.
#pragma once

#include <vector>

#include "gguf/split.h"
#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert::gguf {

/// Adds to `model`, which has the files' tensors as initializers, the graph of their architecture.
/// Where there is none the ledger says why: an architecture, key of the metadata or tensor that is
/// unknown, a tensor that is missing, or one that has no real values.
void AddDecoderGraph(const std::vector<Part>& parts, format::Model* model, Ledger* ledger);

}  // namespace qtx::convert::gguf
