// A tar of an NNEF model that gzip has compressed, .tgz.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::convert {

/// What gzip made smaller, of one member, where it begins as a tar; nullopt where these are other
/// bytes.  Errors: kInvalid where the file is damaged; kTooLarge past 2^30 bytes.
Result<std::optional<std::string>> TarOfGzip(std::string_view bytes);

}  // namespace qtx::convert
