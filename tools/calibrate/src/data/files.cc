// Finds the files that are samples, their order and their readers.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "data/readers.h"
#include "fingerprint.h"
#include "run.h"

namespace qtx::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxSamples = std::int64_t{1} << 32;

struct Form {
  std::vector<std::string_view> extensions;
  std::unique_ptr<Reader> (*make)(const Target&);
  bool single_input = true;
};
const std::vector<Form>& Forms() {
  static const std::vector<Form> kForms = {
      {{".npy"}, &NpyReader},
      {{".npz"}, &NpzReader, false},
      {{".pb"}, &TensorReader},
      {{".bin", ".raw"}, &RawReader},
      {{".png", ".jpg", ".jpeg"}, &ImageReader},
      {{}, &TestDataReader, false},  // a folder
  };
  return kForms;
}

std::optional<std::size_t> FormOf(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (std::size_t i = 0; i < Forms().size(); ++i) {
    if (std::ranges::find(Forms()[i].extensions, extension) != Forms()[i].extensions.end()) {
      return i;
    }
  }
  return std::nullopt;
}

// Size of a file, or of the inputs in a folder of test data; 0 if unknown.
std::int64_t SizeOf(const fs::path& path) {
  std::error_code error;
  std::int64_t size = 0;
  if (!fs::is_directory(path, error)) {
    const auto bytes = fs::file_size(path, error);
    return error ? 0 : static_cast<std::int64_t>(bytes);
  }
  for (int i = 0;; ++i) {
    const auto bytes = fs::file_size(path / ("input_" + std::to_string(i) + ".pb"), error);
    if (error) return size;
    size += static_cast<std::int64_t>(bytes);
  }
}

struct File {
  std::string name;  // without the folder that was given
  std::string path;
  std::size_t form = 0;
  std::int64_t size = 0;   // in bytes
  std::int64_t first = 0;  // of its samples, among all
  std::int64_t count = 1;
};

class Files : public Samples {
 public:
  Target target;
  std::vector<File> files;
  std::vector<std::unique_ptr<Reader>> readers;  // by form; nullptr: no such file
  std::int64_t total = 0;

  std::int64_t size() const override { return total; }
  std::string Name(std::int64_t index) const override {
    const File& file = Find(index);
    return file.count == 1 ? file.name : file.name + "#" + std::to_string(index - file.first);
  }
  Sample Read(std::int64_t index) const override {
    const File& file = Find(index);
    return readers[file.form]->Read(file.path, index - file.first);
  }
  std::string Digest() const override {
    Fingerprint fingerprint;
    for (const File& file : files) {
      fingerprint.Add(file.name);
      fingerprint.Add(file.size);
      fingerprint.Add(file.count);
    }
    return fingerprint.Text();
  }

 private:
  const File& Find(std::int64_t index) const {
    return *(std::ranges::upper_bound(files, index, {}, &File::first) - 1);
  }
};

// A number above zero, or '?'.
std::optional<format::Dimension> ParseDimension(std::string_view text) {
  if (text == "?") return format::Dimension();
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return format::Dimension{.value = value, .symbol = ""};
}

// "1,3,?,224"
std::optional<format::Shape> ParseDims(std::string_view text) {
  format::Shape shape;
  while (shape.size() < format::kMaxRank) {
    const std::size_t comma = text.find(',');
    const auto dimension = ParseDimension(text.substr(0, comma));
    if (!dimension) return std::nullopt;
    shape.push_back(*dimension);
    if (comma == std::string_view::npos) return shape;
    text.remove_prefix(comma + 1);
  }
  return std::nullopt;
}

Result<void> ApplyShape(const std::string& option, std::vector<Input>& inputs) {
  const std::size_t equals = option.rfind('=');
  const std::string name = equals == std::string::npos ? "" : option.substr(0, equals);
  const auto shape = ParseDims(equals == std::string::npos ? option : option.substr(equals + 1));
  const auto input = std::ranges::find_if(inputs, [&](const Input& candidate) {
    return candidate.name == name || (name.empty() && inputs.size() == 1);
  });
  if (!shape || input == inputs.end()) {
    return Error{ErrorCode::kUsage, "--shape " + option,
                 inputs.size() == 1 ? "expected DIMS such as 1,3,?,224"
                                    : "expected NAME=DIMS with the name of an input"};
  }
  input->shape = shape;
  input->split = (*shape)[0].value.has_value();
  return {};
}

Result<Target> MakeTarget(const format::Model& model, const DataOptions& options) {
  Target target;
  for (const format::ValueInfo* input : RequiredInputs(model)) {
    if (!input->type) {
      return Error{ErrorCode::kUnsupported, "input '" + input->name + "'", "is not a tensor"};
    }
    target.inputs.push_back({.name = input->name,
                             .elem_type = format::StorageOf(input->type->elem_type),
                             .shape = input->type->shape});
    // Reals are quantized by the input's own parameters.
    if (format::IsQuantized(input->type->elem_type)) {
      target.inputs.back().elem_type = format::ElementType::kFloat;
    }
  }
  if (target.inputs.empty()) {
    return Error{ErrorCode::kUnsupported, "model", "the model has no input for the data"};
  }
  for (const std::string& shape : options.shapes) {
    QTX_RETURN_IF_ERROR(ApplyShape(shape, target.inputs));
  }
  if (!options.preprocess.empty()) {
    QTX_ASSIGN_OR_RETURN(target.preprocessing, ReadPreprocessing(options.preprocess));
  }
  return target;
}

bool IsTestData(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "input_0.pb", error);
}

// All samples below `folder`; does not follow links to folders.
Result<void> Walk(const fs::path& folder, std::vector<fs::path>& found) {
  if (IsTestData(folder)) {
    found.push_back(folder);
    return {};
  }
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const bool is_folder = at->is_directory(error) && !at->is_symlink(error);
    error.clear();
    if (is_folder && IsTestData(at->path())) {
      found.push_back(at->path());
      at.disable_recursion_pending();
    } else if (!is_folder && FormOf(at->path())) {
      found.push_back(at->path());
    }
  }
  if (error) return Error{ErrorCode::kUnreadable, folder.string(), error.message()};
  return {};
}

// The samples in the given paths. If one folder is given, names are relative to it, so that moved
// data keep their names.
Result<std::vector<File>> List(std::span<const std::string> paths) {
  std::vector<File> files;
  for (const std::string& given : paths) {
    std::error_code error;
    const auto status = fs::status(given, error);
    if (!fs::exists(status)) {
      return Error{ErrorCode::kUnreadable, given,
                   error ? error.message() : "no such file or folder"};
    }
    const bool folder = fs::is_directory(status);
    std::vector<fs::path> found;
    if (folder) {
      QTX_RETURN_IF_ERROR(Walk(given, found));
    } else if (!FormOf(given)) {
      return Error{ErrorCode::kInvalid, given,
                   "expected a folder, .npy, .npz, .pb, .bin, .raw, .png or .jpeg"};
    } else {
      found.push_back(given);
    }
    for (const fs::path& path : found) {
      if (!fs::is_regular_file(path, error) && !fs::is_directory(path, error)) {
        return Error{ErrorCode::kUnreadable, path.string(),
                     "found a pipe or device, expected a regular file: samples are read more than "
                     "once, in any order"};
      }
      std::string name = path.lexically_normal().generic_string();
      if (folder && paths.size() == 1) name = path.lexically_relative(given).generic_string();
      const auto form = FormOf(path);
      files.push_back({.name = std::move(name),
                       .path = path.string(),
                       .form = form.value_or(Forms().size() - 1),
                       .size = SizeOf(path)});
    }
  }
  std::ranges::sort(files, {}, &File::name);
  const auto twice = std::ranges::adjacent_find(files, {}, &File::name);
  if (twice != files.end()) {
    return Error{ErrorCode::kInvalid, twice->path, "is given twice"};
  }
  return files;
}

Result<void> CheckForms(const Files& all) {
  for (const File& file : all.files) {
    if (Forms()[file.form].single_input && all.target.inputs.size() != 1) {
      return Error{ErrorCode::kInvalid, file.path,
                   "the model has " + std::to_string(all.target.inputs.size()) +
                       " inputs, expected .npz files or folders of ONNX test data"};
    }
    if (Forms()[file.form].make == &ImageReader && !all.target.preprocessing) {
      return Error{ErrorCode::kUsage, "--preprocess",
                   "missing: " + file.name + " is an image, which needs layout and scale"};
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Samples>> OpenFiles(const format::Model& model,
                                           std::span<const std::string> paths,
                                           const DataOptions& options) {
  auto all = std::make_unique<Files>();
  QTX_ASSIGN_OR_RETURN(all->target, MakeTarget(model, options));
  QTX_ASSIGN_OR_RETURN(all->files, List(paths));
  QTX_RETURN_IF_ERROR(CheckForms(*all));
  all->readers.resize(Forms().size());
  for (File& file : all->files) {
    std::unique_ptr<Reader>& reader = all->readers[file.form];
    if (reader == nullptr) reader = Forms()[file.form].make(all->target);
    // An unreadable file counts as one unreadable sample.
    file.count = reader->Count(file.path).value_or(1);
    file.first = all->total;
    all->total += file.count;
    if (all->total > kMaxSamples) {
      return Error{ErrorCode::kTooLarge, file.path, "found more than 2^32 samples"};
    }
  }
  if (all->total == 0) {
    return Error{ErrorCode::kInvalid, paths.empty() ? "data" : paths[0],
                 "found no sample, expected .npy, .npz, .pb, .bin, .raw, .png or .jpeg files"};
  }
  return std::unique_ptr<Samples>(std::move(all));
}

}  // namespace qtx::calibrate
