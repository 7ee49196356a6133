#include "report_files.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <utility>

#include "commands.h"
#include "qtx/format/model.h"
#include "qtx/format/print.h"

namespace qtx::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJsonOption = "--json";

bool IsFile(const OptionFile& file) { return !file.path.empty() && file.path != "-"; }

// A device or a pipe is never the same file: it keeps nothing that could be lost.
bool IsSameFile(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error))
    return fs::is_regular_file(a, error) && fs::equivalent(a, b, error);
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

// True if both exist and `file` is `folder` or below it.
bool IsBelow(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  if (!fs::is_directory(folder, error) || !fs::exists(file, error)) return false;
  const fs::path above = fs::canonical(folder, error), below = fs::canonical(file, error);
  return std::ranges::mismatch(above, below).in1 == above.end();
}

// True for an existing file below `folder` that has the extension of a case or a sample.
bool IsInputBelow(const fs::path& folder, const fs::path& file) {
  constexpr std::array<std::string_view, 11> kExtensions = {
      ".bin", ".jpeg", ".jpg", ".md", ".npy", ".npz", ".onnx", ".pb", ".png", ".raw", ".yaml"};
  std::error_code error;
  return IsBelow(folder, file) && fs::is_regular_file(file, error) &&
         std::ranges::find(kExtensions, file.extension().string()) != kExtensions.end();
}

Error Clash(const OptionFile& output, const OptionFile& other,
            const std::string& relation = "a file of ") {
  return {ErrorCode::kUsage, std::string(output.option),
          "found '" + output.path + "', " + relation + std::string(other.option) + " '" +
              other.path + "', expected another"};
}

Error StdoutTwice(const std::vector<OptionFile>& outputs) {
  const auto first = std::ranges::find(outputs, "-", &OptionFile::path);
  const auto second = std::find_if(first + 1, outputs.end(),
                                   [](const OptionFile& file) { return file.path == "-"; });
  return {ErrorCode::kUsage, std::string(second->option),
          "found '-', stdout, which " + std::string(first->option) + " has, expected a file"};
}

Result<void> CheckApart(const OptionFile& output, const OptionFile& input) {
  if (!IsFile(input)) return {};
  if (IsSameFile(output.path, input.path) || IsInputBelow(input.path, output.path))
    return Clash(output, input);
  if (IsBelow(output.path, input.path)) return Clash(output, input, "the folder of ");
  return {};
}

// True for a file that begins as no JSON document: `check --json a.onnx b.onnx` names a model.
bool IsOtherThanJson(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  const int first = std::ifstream(path, std::ios::binary).get();
  return first != std::char_traits<char>::eof() && first != '{';
}

constexpr std::string_view kGzip = "\x1f\x8b";  // how such a file begins: RFC 1952, 2.3.1

// The text of a gzip file of one member.
Result<std::string> Gunzip(std::string_view compressed, const std::string& path) {
  constexpr int kGzipAlone = 16 + MAX_WBITS;
  constexpr std::size_t kStep = std::size_t{1} << 20;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipAlone) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  // zlib reads `next_in` alone, but for a C without const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string text;
  for (int status = Z_OK; status == Z_OK;) {
    if (text.size() > static_cast<std::size_t>(conformance::kMaxReportBytes)) {
      return Error{
          ErrorCode::kTooLarge, path,
          format::Format("expected at most {} bytes of JSON", conformance::kMaxReportBytes).text()};
    }
    const std::size_t size = text.size();
    text.resize(size + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + size);
    stream.avail_out = static_cast<uInt>(kStep);
    status = inflate(&stream, Z_NO_FLUSH);
    text.resize(text.size() - stream.avail_out);
    if (status != Z_OK && (status != Z_STREAM_END || stream.avail_in != 0)) {
      return Error{ErrorCode::kInvalid, path,
                   "found a damaged gzip file, expected one of one member"};
    }
  }
  return text;
}

}  // namespace

Result<std::string> ReadReportText(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(std::string text, format::ReadFile(path, conformance::kMaxReportBytes));
  if (text.starts_with(kGzip)) return Gunzip(text, path);
  return text;
}

Result<std::vector<conformance::Report>> ReadReports(const std::vector<std::string>& paths) {
  std::vector<conformance::Report> reports;
  for (const std::string& path : paths) {
    QTX_ASSIGN_OR_RETURN(const std::string text, ReadReportText(path));
    QTX_ASSIGN_OR_RETURN(conformance::Report report, conformance::ParseReport(text, path));
    reports.push_back(std::move(report));
  }
  return reports;
}

std::vector<OptionFile> TensorFiles(const std::vector<std::string>& arguments) {
  std::vector<OptionFile> files;
  for (const std::string& argument : arguments) {
    files.push_back({"--input", argument});
    files.push_back({"--input", argument.substr(argument.find('=') + 1)});
  }
  return files;
}

Result<void> CheckDistinct(const std::vector<OptionFile>& outputs,
                           const std::vector<OptionFile>& inputs) {
  if (std::ranges::count(outputs, "-", &OptionFile::path) > 1) return StdoutTwice(outputs);
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (!IsFile(*output)) continue;
    for (auto other = outputs.begin(); other != output; ++other) {
      if (IsFile(*other) && IsSameFile(output->path, other->path)) return Clash(*output, *other);
    }
    for (const OptionFile& input : inputs) QTX_RETURN_IF_ERROR(CheckApart(*output, input));
  }
  return {};
}

Result<void> CheckOutputs(const std::vector<OptionFile>& outputs,
                          const std::vector<OptionFile>& inputs) {
  QTX_RETURN_IF_ERROR(CheckDistinct(outputs, inputs));
  for (const OptionFile& output : outputs) {
    if (!IsFile(output)) continue;
    const auto parent = fs::path(output.path).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (access(folder.c_str(), W_OK | X_OK) != 0)
      return Error{ErrorCode::kIo, output.path, std::strerror(errno)};
    if (output.option == kJsonOption && IsOtherThanJson(output.path)) {
      return Error{ErrorCode::kUsage, std::string(output.option),
                   "found '" + output.path +
                       "', which is there and is no JSON document, expected another file, or - "
                       "for stdout"};
    }
  }
  return {};
}

int Finish(const Reporting& options, int status, const std::function<std::string()>& document) {
  if (options.json.empty()) return status;
  if (options.json == "-") {
    format::PrintJson(document());
    return status;
  }
  const auto written = format::WriteFileAtomically(options.json, document());
  return written.has_value() ? status : Fail(written.error());
}

int WriteReports(const conformance::Report& report, const Reporting& options,
                 const std::string& junit, const std::string& html) {
  if (options.SaysText()) format::Print("{}", conformance::ToText(report));
  if (!junit.empty()) {
    const auto written = format::WriteFileAtomically(junit, conformance::ToJunit(report));
    if (!written.has_value()) return Fail(written.error());
  }
  if (!html.empty()) {
    const auto written = format::WriteFileAtomically(html, conformance::ToHtml(report));
    if (!written.has_value()) return Fail(written.error());
    if (options.SaysText()) format::Print("HTML report: {}\n", html);
  }
  return Finish(options, conformance::Conforms(report) ? kDone : kFailed,
                [&report] { return conformance::ToJson(report); });
}

}  // namespace qtx::cli
