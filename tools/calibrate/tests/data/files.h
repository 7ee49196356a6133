// Folders, models and files for tests of readers.
#pragma once

#include <gtest/gtest.h>
#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "qtx/calibrate/samples.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"

namespace qtx::calibrate {

/// An empty folder of the running test.
inline std::filesystem::path TestFolder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / test->test_suite_name() / test->name();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

inline std::string WriteBytes(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

inline format::Tensor Floats(format::Dims dims, const std::vector<float>& values) {
  format::Tensor tensor = *format::MakeTensor(format::ElementType::kFloat, std::move(dims));
  EXPECT_EQ(tensor.As<float>().size(), values.size());
  std::ranges::copy(values, tensor.As<float>().begin());
  return tensor;
}

inline std::vector<float> ValuesOf(const format::Tensor& tensor) {
  const auto values = tensor.As<float>();
  return {values.begin(), values.end()};
}

/// A model whose inputs have these names and shapes (-1: no size); it is never run.
inline format::Model ModelOf(const std::map<std::string, format::Dims>& inputs) {
  format::Model model;
  for (const auto& [name, dims] : inputs) {
    format::ValueInfo input{.name = name, .type = format::TensorType()};
    input.type->elem_type = format::ElementType::kFloat;
    input.type->shape = format::ToShape(dims);
    for (format::Dimension& dimension : *input.type->shape) {
      if (*dimension.value < 0) dimension = {.value = {}, .symbol = "N"};
    }
    model.graph.inputs.push_back(std::move(input));
  }
  return model;
}

/// An archive of named files.
inline std::string WriteZip(const std::filesystem::path& path,
                            const std::map<std::string, std::string>& files, bool deflate) {
  std::filesystem::remove(path);
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  for (const auto& [name, bytes] : files) {
    zip_source_t* const source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const auto at = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    EXPECT_GE(at, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(at),
                             deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return path.string();
}

inline std::string ContentsOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "shape: a.npy: …" of what is wrong with a sample; the reason alone may be asked for.
inline std::string Complaint(const Sample& sample) {
  if (sample.has_value()) return "none";
  return std::string(Name(sample.error().reason)) + ": " + sample.error().error.where + ": " +
         sample.error().error.message;
}

}  // namespace qtx::calibrate
