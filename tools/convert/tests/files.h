// Models and what belongs to them, as files of a test's own folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "qtx/convert/convert.h"

namespace qtx::convert {

/// An empty folder of the running test.
inline std::filesystem::path TestFolder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / test->test_suite_name() / test->name();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline void WriteBytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Opens `path` and reads it as the kind it is taken for, or as `kind`.
inline Result<Conversion> ReadFileAs(const std::filesystem::path& path, const char* kind = nullptr,
                                     const Options& options = {},
                                     std::vector<std::string> with = {}) {
  QTX_ASSIGN_OR_RETURN(const Source source, Open(path.string(), std::move(with)));
  if (kind != nullptr) return Read(source, *FindKind(kind), options);
  QTX_ASSIGN_OR_RETURN(const Kind* found, KindOf(source));
  return Read(source, *found, options);
}

/// `bytes` written to `path`, and read as a file of `kind`.
inline Result<Conversion> ReadBytesAs(const std::filesystem::path& path, const std::string& bytes,
                                      const char* kind, std::vector<std::string> with = {}) {
  WriteBytes(path, bytes);
  return ReadFileAs(path, kind, {}, std::move(with));
}

/// A reader of hostile files says what is wrong, or gives a model that Read has checked.
inline void ExpectRefusedOrSound(const Result<Conversion>& conversion) {
  EXPECT_TRUE(conversion.has_value() || !conversion.error().message.empty());
}

inline std::string TextOf(const Error& error) { return error.where + ": " + error.message; }
template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result.has_value() ? "no error" : TextOf(result.error());
}

}  // namespace qtx::convert
