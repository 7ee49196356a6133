// Writes the folder of a reproducer atomically.
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "case_writer.h"
#include "qtx/conformance/shrink.h"
#include "qtx/format/file.h"
#include "qtx/format/npy.h"
#include "qtx/format/text.h"

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;
using format::Tensor;

constexpr std::string_view kTitle =
    "# QTX reproducer\n";  // first line of README.md in every reproducer
constexpr std::int64_t kMaxReadmeBytes = std::int64_t{1} << 20;
constexpr std::array<std::string_view, 8> kEntries = {
    "README.md", "again", "case.yaml", "expected", "got", "inputs", "model.onnx", "reproduce.sh"};

Error Io(const fs::path& path, const std::error_code& error) {
  return {ErrorCode::kIo, path.string(), error.message()};
}

std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// .npy would widen types that NumPy lacks; .pb keeps them.
bool NeedsProtobuf(const Tensor& tensor) {
  return format::IsSmallFloat(tensor.elem_type) ||
         tensor.elem_type == format::ElementType::kBfloat16;
}

Result<void> WriteTensors(const fs::path& folder, const std::vector<Evidence::Value>& values) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Io(folder, error);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [name, tensor] = values[i];
    const std::string path = (folder / format::FileName(name, i)).string();
    QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ToNpy(tensor));
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(path + ".npy", bytes));
    if (!NeedsProtobuf(tensor)) continue;
    QTX_RETURN_IF_ERROR(
        format::WriteFileAtomically(path + ".pb", format::ToTensorData(name, tensor).wire));
  }
  return {};
}

std::string ValidateCommand(const Shrunk& shrunk, const std::string& backend,
                            const std::string& folder) {
  return " validate --suite " + folder + " --backend " + ShellWord(backend) + " --arithmetic " +
         ShellWord(shrunk.arithmetic);
}

std::string RunCommand(const Shrunk& shrunk, const std::string& backend) {
  std::string command = "qtx run model.onnx";
  const std::vector<Evidence::Value>& inputs = shrunk.evidence.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& [name, tensor] = inputs[i];
    command += " --input " + ShellWord(name + "=inputs/" + format::FileName(name, i) +
                                       (NeedsProtobuf(tensor) ? ".pb" : ".npy"));
  }
  return command + " --output-dir again --backend " + ShellWord(backend) + " --arithmetic " +
         ShellWord(shrunk.arithmetic);
}

std::string Readme(const Shrunk& shrunk, const std::string& backend) {
  return std::string(kTitle) + "\n" + shrunk.op + " on `" + backend + "` in `" + shrunk.arithmetic +
         "`: " + shrunk.how + ". " + shrunk.reduced.why + ".\n\n    " + shrunk.detail +
         "\n\nIn this folder, the case (exit status 1 while it still fails):\n\n    " + "qtx" +
         ValidateCommand(shrunk, backend, ".") + "\n\nor `sh reproduce.sh` from anywhere; " +
         "the model alone:\n\n    " + RunCommand(shrunk, backend) +
         "\n\n`expected/` is the reference's answer, `got/` that of the backend; `case.yaml` and\n"
         "`model.onnx` say the same thing.\n";
}

Result<void> WriteScript(const fs::path& path, const Shrunk& shrunk, const std::string& backend) {
  const std::string text =
      "#!/bin/sh\n# Exit status 1 while it still fails, 0 once it passes. QTX names the program.\n"
      "exec \"${QTX:-qtx}\"" +
      ValidateCommand(shrunk, backend, "\"$(dirname \"$0\")\"") + "\n";
  QTX_RETURN_IF_ERROR(format::WriteFileAtomically(path.string(), text));
  std::error_code error;
  const auto everyone = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  fs::permissions(path, everyone, fs::perm_options::add, error);
  if (error) return Io(path, error);
  return {};
}

Result<void> WriteAll(const Shrunk& shrunk, const std::string& backend, const fs::path& folder) {
  QTX_RETURN_IF_ERROR(WriteTensors(folder / "inputs", shrunk.evidence.inputs));
  QTX_RETURN_IF_ERROR(WriteTensors(folder / "expected", shrunk.evidence.expected));
  QTX_RETURN_IF_ERROR(WriteTensors(folder / "got", shrunk.evidence.got));
  QTX_RETURN_IF_ERROR(shrunk.model.Save((folder / "model.onnx").string()));
  QTX_ASSIGN_OR_RETURN(const std::string yaml, ToYaml(shrunk.reduced));
  QTX_RETURN_IF_ERROR(format::WriteFileAtomically((folder / "case.yaml").string(), yaml));
  QTX_RETURN_IF_ERROR(WriteScript(folder / "reproduce.sh", shrunk, backend));
  return format::WriteFileAtomically((folder / "README.md").string(),
                                     format::PrintableLines(Readme(shrunk, backend)));
}

// Removes the old folder only once the new one is complete.
Result<void> Replace(const fs::path& written, const fs::path& folder) {
  std::error_code error;
  const fs::path old = folder.string() + ".qtx-old";
  if (fs::exists(folder, error)) {
    fs::remove_all(old, error);
    fs::rename(folder, old, error);
    if (error) return Io(folder, error);
  }
  fs::rename(written, folder, error);
  if (error) return Io(folder, error);
  fs::remove_all(old, error);
  return {};
}

// "out/" and "out" are the same folder.
fs::path WithoutTrailingSlash(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Result<void> CheckReplaceable(const std::string& folder) {
  std::error_code error;
  const auto status = fs::symlink_status(folder, error);
  if (status.type() == fs::file_type::not_found) return {};
  const Error refusal{ErrorCode::kIo, folder,
                      "holds something that is not a reproducer; expected a folder that is new, "
                      "empty or was written by qtx shrink"};
  if (status.type() != fs::file_type::directory) return refusal;
  bool empty = true;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    empty = false;
    if (std::ranges::find(kEntries, entry->path().filename().string()) == kEntries.end()) {
      return refusal;
    }
  }
  if (error) return Io(folder, error);
  if (empty) return {};
  const auto readme = format::ReadFile(folder + "/README.md", kMaxReadmeBytes);
  if (!readme || !readme->starts_with(kTitle)) return refusal;
  return {};
}

Result<void> WriteReproducer(const Shrunk& shrunk, const std::string& backend,
                             const std::string& folder) {
  QTX_RETURN_IF_ERROR(CheckReplaceable(folder));
  const fs::path target = WithoutTrailingSlash(folder);
  const fs::path written = target.string() + ".qtx-new";
  const auto parent = format::OutputFolder::Make(target.parent_path().string());
  if (!parent.has_value()) return Error{ErrorCode::kIo, target.string(), parent.error().message};
  QTX_ASSIGN_OR_RETURN(const auto lock, format::FileLock::Take(target.string()));
  std::error_code error;
  fs::remove_all(written, error);  // of a run that was killed
  fs::create_directory(written, error);
  if (error) return Io(written, error);
  auto result = WriteAll(shrunk, backend, written);
  if (result) result = Replace(written, target);
  if (!result) fs::remove_all(written, error);
  return result;
}

}  // namespace qtx::conformance
