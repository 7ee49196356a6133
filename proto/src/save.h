// Model::Save, with external data that is made with the model.
#pragma once

#include <string>

#include "qtx/format/model.h"
#include "qtx/format/new_file.h"

namespace qtx::format {

/// External data of the model at `location`, beside it.
struct MadeData {
  NewFile* file = nullptr;  // nullptr: none
  std::string location;
};

/// As Model::Save; the made data gets its name just before the model does, once both are written.
/// REQUIRES: with made data, `path` is a regular file or none.
Result<void> SaveWith(const Model& model, const std::string& path, const MadeData& made,
                      const WriteProgress& progress);

}  // namespace qtx::format
