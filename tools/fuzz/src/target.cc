#include "target.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace qtx::fuzz {
namespace fs = std::filesystem;

void Stop(const std::string& what) {
  std::cerr << "found: " << what << '\n';
  std::abort();
}

void CheckError(const Error& error) {
  if (error.message.empty()) Stop("an error that says nothing");
  if (error.code == ErrorCode::kInternal) Stop("a fault of our own: " + error.Text());
}

InputFolder::InputFolder() {
  const fs::path memory = "/dev/shm";
  std::error_code none;
  path_ = (fs::is_directory(memory, none) ? memory : fs::temp_directory_path()) / "qtx_fuzz_XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    std::cerr << path_ << ": cannot be made\n";
    std::exit(1);
  }
}

InputFolder::~InputFolder() {
  std::error_code none;
  fs::remove_all(path_, none);
}

std::string InputFolder::Write(const std::string& name, std::string_view bytes) const {
  const fs::path path = fs::path(path_) / name;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    std::cerr << path << ": cannot be written\n";
    std::exit(1);
  }
  return path.string();
}

}  // namespace qtx::fuzz
