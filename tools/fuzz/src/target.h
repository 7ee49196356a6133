// What a fuzz target is: something of QTX that reads bytes of unknown origin.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "qtx/format/result.h"

namespace qtx::fuzz {

/// What inputs are made of; they are changed piece by piece, beside libFuzzer's own changes.
enum class Form { kBytes, kProtobuf, kFrames, kFlatbuffer };

struct Target {
  std::string_view name;  // that of its row of readers.py, where it has one
  void (*run)(std::string_view name, const std::string& bytes);
  Form form = Form::kBytes;
};

/// The rows of one area: each file of targets/ has them, and is linked alone.
std::span<const Target> Targets();

/// A property that does not hold: libFuzzer keeps the input.
[[noreturn]] void Stop(const std::string& what);

/// Stops for an error that says nothing, and for one that is our own fault.
void CheckError(const Error& error);

/// Whether there is a value; an error is checked.
template <typename T>
bool Answered(const Result<T>& result) {
  if (!result.has_value()) CheckError(result.error());
  return result.has_value();
}

/// A folder in memory for readers that take a path; gone with this object.
class InputFolder {
 public:
  InputFolder();
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;
  ~InputFolder();

  /// The path of the file `name` in the folder, with these bytes now.
  std::string Write(const std::string& name, std::string_view bytes) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The small models of corpus/base, serialised: net.onnx and measured.onnx.
extern const std::string_view kNet, kMeasured;

}  // namespace qtx::fuzz
