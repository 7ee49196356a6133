// Which target a program is; the rest is compiled once for all.
#include <string_view>

namespace qtx::fuzz {
extern const std::string_view kName;
const std::string_view kName = QTX_FUZZ_TARGET;
}  // namespace qtx::fuzz
