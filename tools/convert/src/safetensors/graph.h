// The graph that the files of a model make.
#pragma once

#include <string>
#include <string_view>

#include "ledger.h"
#include "qtx/format/data_file.h"
#include "qtx/format/model.h"
#include "safetensors/container.h"

namespace qtx::convert::safetensors {

// Keys of metadata_props: the texts of the files as they are.
inline constexpr std::string_view kHeaderKey = "qtx.safetensors.header.";  // and the file's name
inline constexpr std::string_view kIndexKey = "qtx.safetensors.index.";    // likewise
inline constexpr std::string_view kConfigKey = "qtx.safetensors.config";
/// Of a value: the tensor of the files whose bytes its initializer has, if that has another name.
inline constexpr std::string_view kTensorKey = "qtx.safetensors.tensor";

/// The model of `files`. An initializer whose bytes lie in a file points there, by the name of its
/// shard; large tensors that are made go to `data`, if any. A weight whose rows lie in another
/// order is an output, gathered from its initializer. The version of the format that it imports is
/// left to the caller.  Errors: those of the config, of reading and of DataFile::Add.
Result<format::Model> MakeModel(const Container& files, Ledger& ledger, format::DataFile* data);

}  // namespace qtx::convert::safetensors
