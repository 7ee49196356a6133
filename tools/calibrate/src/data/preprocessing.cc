// The parser takes yaml-cpp's events one at a time: aliases are errors, and unexpected structures
// are not stored.
#include "data/preprocessing.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <cmath>
#include <map>
#include <sstream>

#include "qtx/format/file.h"

namespace qtx::calibrate {
namespace {

constexpr std::int64_t kMaxProgramBytes = 1 << 16;
constexpr std::int64_t kMaxSide = 1 << 14;  // pixels

std::optional<double> Real(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

// "0.5" or "1/255".
std::optional<double> Fraction(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return Real(text);
  const auto above = Real(std::string_view(text).substr(0, slash));
  const auto below = Real(std::string_view(text).substr(slash + 1));
  if (!above || !below || *below == 0) return std::nullopt;
  return *above / *below;
}

std::optional<std::int64_t> Side(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxSide) {
    return std::nullopt;
  }
  return value;
}

// One map of scalars and lists of scalars.
class PreprocessingReader : public YAML::EventHandler {
 public:
  std::optional<Error> error;
  Preprocessing result;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (state_ == State::kDone) Fail(mark, "found a second document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    // An empty file changes nothing.
    if (state_ == State::kTop) {
      state_ = State::kDone;
    } else {
      Fail(mark, "found nothing");
    }
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Fail(mark, "found an alias"); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    if (anchor != 0) return Fail(mark, "found an anchor");
    if (state_ == State::kList) {
      list_.push_back(value);
      if (list_.size() > 3) Fail(mark, "found more than 3 numbers");
    } else if (state_ != State::kMap) {
      Fail(mark, "found a scalar");
    } else if (key_.empty()) {
      key_ = value;
      if (!lines_.emplace(value, mark.line).second) Fail(mark, "found a repeated key");
    } else {
      list_ = {value};
      Close(mark);
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    if (state_ != State::kMap || key_.empty()) return Fail(mark, "found a list");
    state_ = State::kList;
    list_.clear();
    start_ = mark;
  }
  void OnSequenceEnd() override {
    if (state_ != State::kList) return;
    state_ = State::kMap;
    Close(start_);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    if (state_ != State::kTop) return Fail(mark, "found a map");
    state_ = State::kMap;
  }
  void OnMapEnd() override {
    if (state_ == State::kMap) state_ = State::kDone;
  }

 private:
  enum class State { kTop, kMap, kList, kDone };

  void Fail(const YAML::Mark& mark, const std::string& found) {
    if (error) return;
    error = Error{ErrorCode::kInvalid, std::to_string(mark.line + 1),
                  found + (key_.empty() ? "" : " for '" + key_ + "'") + "; expected " + Expected()};
  }
  std::string Expected() const {
    if (key_ == "channels") return "RGB, BGR or GRAY";
    if (key_ == "layout") return "NCHW or NHWC";
    if (key_ == "interpolation") return "bilinear or nearest";
    if (key_ == "resize" || key_ == "crop") return "[width, height] in pixels";
    if (key_ == "shorter_side") return "a number of pixels";
    if (key_ == "scale") return "a number or a fraction";
    if (key_ == "mean") return "1 or 3 numbers";
    if (key_ == "std") return "1 or 3 numbers, none of them 0";
    return "channels, layout, interpolation, resize, shorter_side, crop, scale, mean or std";
  }
  void Close(const YAML::Mark& mark) {
    if (!error && !Take()) {
      Fail(mark, "found " + (list_.size() == 1 ? "'" + list_[0] + "'"
                                               : std::to_string(list_.size()) + " entries"));
    }
    key_.clear();
  }
  template <typename T>
  bool Choose(std::initializer_list<std::pair<const char*, T>> names, T& to) {
    for (const auto& [name, value] : names) {
      if (list_.size() != 1 || list_[0] != name) continue;
      to = value;
      return true;
    }
    return false;
  }
  bool TakeSize(std::optional<Preprocessing::Size>& to) {
    if (list_.size() != 2) return false;
    const auto width = Side(list_[0]);
    const auto height = Side(list_[1]);
    if (!width || !height) return false;
    to = {*width, *height};
    return true;
  }
  bool TakeReals(std::vector<double>& to, bool zero) {
    if (list_.size() != 1 && list_.size() != 3) return false;
    for (const std::string& text : list_) {
      const auto value = Fraction(text);
      if (!value || (!zero && *value == 0)) return false;
      to.push_back(*value);
    }
    return true;
  }
  bool Take() {
    using P = Preprocessing;
    if (key_ == "channels") {
      return Choose<P::Channels>(
          {{"RGB", P::Channels::kRgb}, {"BGR", P::Channels::kBgr}, {"GRAY", P::Channels::kGray}},
          result.channels);
    }
    if (key_ == "layout") {
      return Choose<P::Layout>({{"NCHW", P::Layout::kNchw}, {"NHWC", P::Layout::kNhwc}},
                               result.layout);
    }
    if (key_ == "interpolation") {
      return Choose<P::Interpolation>(
          {{"bilinear", P::Interpolation::kBilinear}, {"nearest", P::Interpolation::kNearest}},
          result.interpolation);
    }
    if (key_ == "resize") return TakeSize(result.resize);
    if (key_ == "crop") return TakeSize(result.crop);
    if (key_ == "mean") return TakeReals(result.mean, true);
    if (key_ == "std") return TakeReals(result.std, false);
    if (list_.size() != 1) return false;
    if (key_ == "shorter_side") {
      const auto side = Side(list_[0]);
      result.shorter_side = side.value_or(0);
      return side.has_value();
    }
    if (key_ != "scale") return false;
    const auto scale = Fraction(list_[0]);
    result.scale = scale.value_or(1);
    return scale.has_value();
  }

  State state_ = State::kTop;
  std::string key_;
  std::vector<std::string> list_;
  std::map<std::string, int> lines_;
  YAML::Mark start_;
};

double Of(const std::vector<double>& values, std::size_t channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values[values.size() == 1 ? 0 : channel];
}

}  // namespace

Result<Preprocessing> ReadPreprocessing(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const std::string text, format::ReadFile(path, kMaxProgramBytes));
  PreprocessingReader reader;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (!reader.error && parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& error) {
    return Error{ErrorCode::kInvalid, path + ":" + std::to_string(error.mark.line + 1), error.msg};
  }
  if (reader.error) {
    reader.error->where = path + ":" + reader.error->where;
    return *reader.error;
  }
  const Preprocessing& result = reader.result;
  const auto as_channels = [&](const std::vector<double>& values) {
    return values.size() <= 1 || values.size() == result.ChannelCount();
  };
  if (!as_channels(result.mean) || !as_channels(result.std)) {
    return Error{ErrorCode::kInvalid, path, "expected one mean and std for GRAY"};
  }
  if (result.resize && result.shorter_side != 0) {
    return Error{ErrorCode::kInvalid, path, "expected resize or shorter_side, not both"};
  }
  return result;
}

float Scaled(double value, std::size_t channel, const Preprocessing& preprocessing) {
  const double centred = value * preprocessing.scale - Of(preprocessing.mean, channel, 0);
  return static_cast<float>(centred / Of(preprocessing.std, channel, 1));
}

Result<format::Tensor> ScaleArray(const format::Tensor& array, const Preprocessing& preprocessing) {
  const std::size_t rank = array.dims.size();
  const bool by_channel = preprocessing.mean.size() > 1 || preprocessing.std.size() > 1;
  const bool last = preprocessing.layout == Preprocessing::Layout::kNhwc;
  std::size_t inner = 1;
  std::size_t channels = 1;
  if (by_channel) {
    const std::size_t axis = last ? rank - 1 : rank - 3;
    if (rank < 3 || array.dims[axis] != 3) {
      return Error{ErrorCode::kInvalid, "",
                   "found shape " + format::ToString(array.dims) + ", expected 3 channels in " +
                       (last ? "NHWC" : "NCHW")};
    }
    channels = 3;
    for (std::size_t i = axis + 1; i < rank; ++i) inner *= static_cast<std::size_t>(array.dims[i]);
  }
  QTX_ASSIGN_OR_RETURN(format::Tensor result,
                       format::MakeTensor(format::ElementType::kFloat, array.dims));
  const std::vector<std::int64_t> values = format::UnpackIntegers(array);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.As<float>()[i] =
        Scaled(static_cast<double>(values[i]), i / inner % channels, preprocessing);
  }
  return result;
}

}  // namespace qtx::calibrate
