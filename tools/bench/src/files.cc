// Workloads from model files.
#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "builder.h"
#include "qtx/bench/workload.h"
#include "qtx/convert/convert.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"

namespace qtx::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 4096;

Result<format::Model> LoadOnnx(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(format::Model model, format::Model::Load(path));
  if (auto checked = format::CheckFirst(model); !checked.has_value()) {
    return At(path, std::move(checked).error());
  }
  return model;
}

Result<format::Model> LoadModel(const std::string& path) {
  if (path.ends_with(".onnx")) return LoadOnnx(path);
  QTX_ASSIGN_OR_RETURN(const std::string bytes, format::ReadFile(path, format::kMaxModelBytes));
  auto conversion = convert::FromTflite(bytes);
  if (!conversion.has_value()) return At(path, conversion.error());
  return std::move(conversion->model);
}

// Random inputs: any stored integer; reals in [-1, 1); zeros for other types.
Result<format::Tensor> MakeInput(const format::Model& model, const format::ValueInfo& info,
                                 Random& random) {
  const auto dims = info.type && info.type->shape ? format::FixedDims(*info.type->shape)
                                                  : std::optional<format::Dims>();
  if (!dims) {
    return Error{ErrorCode::kUnsupported, "input '" + info.name + "'", "its shape is not fixed"};
  }
  std::optional<format::Quantization> q;
  if (info.type->quantization) {
    QTX_ASSIGN_OR_RETURN(q, format::Resolve(model, *info.type));
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor,
                       format::MakeTensor(info.type->elem_type, *dims, std::move(q)));
  if (tensor.elem_type == format::ElementType::kFloat) {
    for (float& value : tensor.As<float>()) value = static_cast<float>(2 * random.Unit() - 1);
  } else if (tensor.quantization && format::IsIntegerStorage(tensor.elem_type)) {
    const format::IntegerRange range = format::StoredRange(tensor.elem_type, *tensor.quantization);
    std::vector<std::int64_t> stored(static_cast<std::size_t>(format::ElementCount(tensor)));
    for (std::int64_t& value : stored) value = random.Between(range.min, range.max);
    format::PackIntegers(stored, tensor);
  }
  return tensor;
}

Result<Task> MakeTask(const std::string& path, bool twin) {
  Task task;
  QTX_ASSIGN_OR_RETURN(task.model, LoadModel(path));
  if (twin) {
    QTX_ASSIGN_OR_RETURN(task.model, FloatTwin(task.model));
  }
  Random random(path.substr(path.rfind('/') + 1));
  for (const format::ValueInfo& info : task.model.graph.inputs) {
    if (task.model.graph.FindInitializer(info.name) != nullptr) continue;
    QTX_ASSIGN_OR_RETURN(format::Tensor input, MakeInput(task.model, info, random));
    task.inputs.push_back(std::move(input));
  }
  return task;
}

// "net/resnet8" of both resnet8.tflite and resnet8/model.onnx.
std::string NameOf(const fs::path& file) {
  const std::string stem = file.stem().string();
  const bool plain = stem == "model" || stem == "source";
  return "net/" + (plain ? file.parent_path().filename().string() : stem);
}

Result<std::vector<fs::path>> ModelFiles(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const std::string extension = entries->path().extension().string();
    if (extension == ".onnx" || extension == ".tflite") files.push_back(entries->path());
    if (files.size() > kMaxFiles) {
      return Error{ErrorCode::kTooLarge, folder, "more than 4096 models"};
    }
  }
  if (error) return Error{ErrorCode::kUnreadable, folder, error.message()};
  std::ranges::sort(files);  // a model.onnx before the source.tflite that it was made from
  return files;
}

}  // namespace

Result<std::vector<Workload>> NetworkWorkloads(const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const std::vector<fs::path> files, ModelFiles(folder));
  std::vector<Workload> workloads;
  std::set<std::string> names;
  for (const fs::path& file : files) {
    Workload work;
    work.name = NameOf(file);
    if (!names.insert(work.name).second) continue;
    work.shape = file.filename().string();
    work.types = "file";
    work.make = [path = file.string()] { return MakeTask(path, false); };
    workloads.push_back(work);
    work.types = kFloatTypes;
    work.make = [path = file.string()] { return MakeTask(path, true); };
    workloads.push_back(std::move(work));
  }
  return workloads;
}

}  // namespace qtx::bench
