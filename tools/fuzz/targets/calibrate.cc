// Samples of a calibration, images and how they become tensors, and the journal.
#include <array>

#include "coverage.h"
#include "data/image.h"
#include "data/preprocessing.h"
#include "data/readers.h"
#include "journal.h"
#include "qtx/calibrate/gram.h"
#include "qtx/calibrate/npz.h"
#include "qtx/format/model.h"
#include "target.h"

namespace qtx::fuzz {
namespace {

using calibrate::Reader;

constexpr std::int64_t kSamples = 4;  // of a file that are read

const calibrate::Target& FloatsOf4() {
  static const calibrate::Target target = [] {
    calibrate::Target made;
    made.inputs = {
        {.name = "x",
         .elem_type = format::ElementType::kFloat,
         .shape = format::Shape{{.value = 1, .symbol = ""}, {.value = 4, .symbol = ""}}}};
    return made;
  }();
  return target;
}

void ReadSamples(const Reader& reader, const std::string& path) {
  const auto count = reader.Count(path);
  if (!Answered(count)) return;
  for (std::int64_t i = 0; i < std::min(*count, kSamples); ++i) {
    const auto sample = reader.Read(path, i);
    if (!sample.has_value()) CheckError(sample.error().error);
  }
}

template <std::unique_ptr<Reader> (*kMake)(const calibrate::Target&)>
void Samples(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  static const auto reader = kMake(FloatsOf4());
  ReadSamples(*reader, folder.Write("samples", bytes));
}

void Npz(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  static const auto reader = calibrate::NpzReader(FloatsOf4());
  const std::string path = folder.Write("samples.npz", bytes);
  ReadSamples(*reader, path);
  Answered(calibrate::ReadNpzArray(path, "x"));
}

const calibrate::Preprocessing& SmallSquare() {
  static const calibrate::Preprocessing square = [] {
    calibrate::Preprocessing made;
    made.resize = {.width = 2, .height = 2};
    return made;
  }();
  return square;
}

template <Result<calibrate::Image> (*kDecode)(std::string_view)>
void Image(std::string_view, const std::string& bytes) {
  const auto image = kDecode(bytes);
  if (!Answered(image)) return;
  if (std::ssize(image->pixels) != 3 * image->width * image->height) Stop("pixels are missing");
  Answered(calibrate::ToTensor(*image, SmallSquare()));
}

void Preprocessing(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  static const calibrate::Image image{
      .width = 2, .height = 2, .pixels = std::vector<std::uint8_t>(12, 7)};
  const auto preprocessing = calibrate::ReadPreprocessing(folder.Write("preprocess.yaml", bytes));
  if (!Answered(preprocessing)) return;
  // What asks for large tensors gets them, but not here.
  constexpr std::int64_t kSmall = 64;
  const auto is_small = [](const auto& size) {
    return !size || (size->width <= kSmall && size->height <= kSmall);
  };
  if (is_small(preprocessing->resize) && is_small(preprocessing->crop) &&
      preprocessing->shorter_side <= kSmall) {
    Answered(calibrate::ToTensor(image, *preprocessing));
  }
}

// Of the run that it says it is of: otherwise nearly all would be of another.
void Journal(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  const auto model = format::Model::Parse(bytes);
  if (!model.has_value()) return;
  const auto run = calibrate::CoverageOf(*model);
  if (!Answered(run) || run->parts.size() != 1) return;
  const std::string path = folder.Write("calibration.journal", bytes);
  const auto state = calibrate::ReadJournal(path, *run, 1);
  if (Answered(state) && *state) Answered(calibrate::WriteJournal(path, *run, **state));
}

void Gram(std::string_view, const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (model.has_value()) Answered(calibrate::GramsOf(*model));
}

constexpr std::array kTargets = {
    Target{"sample_npy", &Samples<calibrate::NpyReader>},
    Target{"sample_tensor", &Samples<calibrate::TensorReader>, Form::kProtobuf},
    Target{"raw", &Samples<calibrate::RawReader>},
    Target{"npz", &Npz},
    Target{"png", &Image<calibrate::DecodePng>},
    Target{"jpeg", &Image<calibrate::DecodeJpeg>},
    Target{"preprocessing", &Preprocessing},
    Target{"calibration_journal", &Journal, Form::kProtobuf},
    Target{"gram", &Gram, Form::kProtobuf},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace qtx::fuzz
