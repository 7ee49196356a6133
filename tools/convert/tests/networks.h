// The third-party networks in conformance/cases/models, for tests.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "qtx/format/limits.h"
#include "qtx/format/model.h"

namespace qtx::convert {

inline std::filesystem::path NetworkFolder() {
  return std::filesystem::path(QTX_SOURCE_DIR) / "conformance/cases/models";
}

/// Folders that hold a source.tflite, by name.
inline std::vector<std::string> Networks() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(NetworkFolder())) {
    if (std::filesystem::exists(entry.path() / "source.tflite"))
      names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline Result<std::string> ReadNetwork(const std::string& name) {
  return format::ReadFile(NetworkFolder() / name / "source.tflite", format::kMaxModelBytes);
}

/// A test's name allows letters, digits and underscores only.
inline std::string TestName(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace qtx::convert
