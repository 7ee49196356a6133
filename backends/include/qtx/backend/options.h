// Options of a backend, as its name carries them: "threads=2,kernels=avx2". They come from the
// command line, so whatever is wrong with them gets one error that says what is expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::backend {

inline constexpr std::int64_t kMaxThreads = 256;

class Options {
 public:
  /// `text` is key=value,key=value, or empty; `keys` are those the backend knows.
  /// Errors: kUsage for a part that is not key=value, an unknown key (listing the known ones), a
  /// key given twice.
  static Result<Options> Parse(std::string_view text, std::initializer_list<std::string_view> keys);

  /// The value of `key`, `fallback` when it is not given.
  std::string Text(std::string_view key, std::string_view fallback = "") const;
  /// Errors: kUsage for what is not a decimal integer in [min, max].
  Result<std::int64_t> Integer(std::string_view key, std::int64_t fallback, std::int64_t min,
                               std::int64_t max) const;
  /// `threads`, 1 when it is not given.  Errors: kUsage outside 1 .. kMaxThreads.
  Result<int> Threads() const;

  /// What a backend answers to a value it does not know; `expected` says which ones it does.
  static Error Refuse(std::string_view key, std::string_view found, std::string_view expected);

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace qtx::backend
