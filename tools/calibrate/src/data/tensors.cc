// ONNX's TensorProto files: single ones, and the folders of ONNX test data.
#include <algorithm>
#include <filesystem>

#include "data/readers.h"
#include "qtx/format/file.h"
#include "qtx/format/limits.h"

namespace qtx::calibrate {
namespace {

// The one sample of an array, as the input's type.
Sample ReadOne(const std::string& path, const Input& input, const Preprocessing* preprocessing) {
  const auto bytes = format::ReadFile(path, format::kMaxTensorBytes);
  if (!bytes.has_value()) return BadFile({bytes.error().code, "", bytes.error().message});
  const auto data = format::ParseTensorData(*bytes);
  if (!data.has_value()) return BadFile(data.error());
  auto tensor = format::Decode(*data);
  if (!tensor.has_value()) return BadFile(tensor.error());
  const auto fit = FitDims(tensor->dims, input);
  if (!fit.has_value()) return Bad(Reason::kShape, fit.error());
  if (fit->count > 1 && input.shape && (*input.shape)[0].value) {
    return Bad(Reason::kShape, {ErrorCode::kInvalid, "",
                                "found shape " + format::ToString(tensor->dims) + ", expected " +
                                    format::ToString(*input.shape)});
  }
  if (fit->count <= 1) tensor->dims = fit->dims;
  return OneInput(*std::move(tensor), input, preprocessing);
}

class Single : public Reader {
 public:
  explicit Single(const Target& target) : target_(target) {}
  Result<std::int64_t> Count(const std::string&) const override { return 1; }
  Sample Read(const std::string& path, std::int64_t) const override {
    return ReadOne(path, target_.inputs[0], target_.preprocess());
  }

 private:
  const Target& target_;
};

// input_N.pb for the N-th input.
class TestData : public Reader {
 public:
  explicit TestData(const Target& target) : target_(target) {}
  Result<std::int64_t> Count(const std::string&) const override { return 1; }
  Sample Read(const std::string& path, std::int64_t) const override {
    std::vector<format::Tensor> inputs;
    for (std::size_t i = 0; i < target_.inputs.size(); ++i) {
      const std::string file = "input_" + std::to_string(i) + ".pb";
      auto one = ReadOne((std::filesystem::path(path) / file).string(), target_.inputs[i],
                         target_.preprocess());
      if (!one.has_value()) return Bad(one.error().reason, At(file, one.error().error));
      inputs.push_back(std::move(one->front()));
    }
    return inputs;
  }

 private:
  const Target& target_;
};

}  // namespace

std::unique_ptr<Reader> TensorReader(const Target& target) {
  return std::make_unique<Single>(target);
}
std::unique_ptr<Reader> TestDataReader(const Target& target) {
  return std::make_unique<TestData>(target);
}

}  // namespace qtx::calibrate
