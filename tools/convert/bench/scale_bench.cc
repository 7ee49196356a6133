// Conversions of models of gigabytes beside `cp` of the same files, turn by turn: seconds, the
// ratio, and the largest resident memory. Usage: convert_bench FOLDER [GIGABYTES [ROUNDS]].
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 8192;  // weights of 64 MiB a layer
constexpr std::int64_t kLayer = kSide * kSide;

struct Measured {
  double seconds = 0;
  double mib = 0;  // resident, at most
};

Measured RunProcess(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (status != 0) {
    std::fprintf(stderr, "%s failed\n", arguments[0].c_str());
    std::exit(1);
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return {taken.count(), static_cast<double>(usage.ru_maxrss) / 1024};
}

format::ValueInfo Value(const std::string& name, format::Dims dims) {
  format::ValueInfo info;
  info.name = name;
  info.type = format::TensorType{.elem_type = format::ElementType::kInt8Q,
                                 .shape = format::ToShape(dims),
                                 .quantization = format::Quantization{.scale = {0.5F}}};
  return info;
}

// TensorProto of INT8 whose elements are in `file`.  Source: onnx.proto, field numbers.
format::TensorData External(const std::string& name, const std::string& file, std::int64_t offset) {
  const auto text = [](char tag, const std::string& value) {
    return std::string{tag, static_cast<char>(value.size())} + value;
  };
  const auto entry = [&](const std::string& key, const std::string& value) {
    return text('\x6A', text('\x0A', key) + text('\x12', value));
  };
  const std::string side = "\x08\x80\x40";  // dims: 8192
  return *format::ParseTensorData(side + side + "\x10\x03" + text('\x42', name) +
                                  entry("location", file) +
                                  entry("offset", std::to_string(offset)) +
                                  entry("length", std::to_string(kLayer)) + "\x70\x01");
}

// `layers` MatMuls in a row, their weights in m.onnx itself or in m.data beside it.
void MakeModel(const fs::path& folder, std::int64_t layers, bool external) {
  fs::create_directories(folder);
  format::Model model;
  model.ir_version = 10;
  model.opset_imports = {{"", 21}, {std::string(format::kDomain), format::kVersion}};
  model.graph.name = "layers";
  model.graph.inputs = {Value("x0", {1, kSide})};
  format::Tensor block = *format::MakeTensor(format::ElementType::kInt8, {kSide, kSide});
  for (std::size_t i = 0; i < block.bytes.size(); ++i)
    block.bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  std::ofstream data;
  if (external) data.open(folder / "m.data", std::ios::binary);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string w = "w" + std::to_string(i);
    format::Node node;
    node.name = "layer" + std::to_string(i);
    node.op_type = "MatMul";
    node.inputs = {"x" + std::to_string(i), w};
    node.outputs = {"x" + std::to_string(i + 1)};
    model.graph.nodes.push_back(node);
    model.graph.values.push_back(Value(w, {kSide, kSide}));
    (i + 1 == layers ? model.graph.outputs : model.graph.values)
        .push_back(Value(node.outputs[0], {1, kSide}));
    if (external) {
      data.write(reinterpret_cast<const char*>(block.bytes.data()),
                 static_cast<std::streamsize>(kLayer));
      model.graph.initializers.push_back(External(w, "m.data", i * kLayer));
    } else {
      model.graph.initializers.push_back(format::ToTensorData(w, block));
    }
  }
  data.close();
  if (!model.Save(folder / "m.onnx").has_value()) std::exit(1);
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void Race(const std::string& what, const fs::path& folder, int rounds) {
  std::vector<double> copy, lower, lift, memory;
  const fs::path out = folder / "out", back = folder / "back";
  const auto fresh = [](const fs::path& to) {
    fs::remove_all(to);
    fs::create_directories(to);
    sync();
  };
  for (int round = 0; round < rounds; ++round) {
    fresh(out);
    std::vector<std::string> cp = {"cp", folder / "m.onnx", out};
    if (fs::exists(folder / "m.data")) cp.insert(cp.begin() + 1, folder / "m.data");
    copy.push_back(RunProcess(cp).seconds);
    fresh(out);
    const Measured lowered =
        RunProcess({QTX_PROGRAM, "lower", folder / "m.onnx", "-o", out / "m.onnx"});
    fresh(back);
    const Measured lifted =
        RunProcess({QTX_PROGRAM, "lift", out / "m.onnx", "-o", back / "m.onnx"});
    lower.push_back(lowered.seconds);
    lift.push_back(lifted.seconds);
    memory.push_back(std::max(lowered.mib, lifted.mib));
  }
  std::printf(
      "%-9s cp %.2f s   lower %.2f s (%.0f %% of cp's speed)   lift %.2f s (%.0f %%)   "
      "at most %.0f MiB resident\n",
      what.c_str(), Median(copy), Median(lower), 100 * Median(copy) / Median(lower), Median(lift),
      100 * Median(copy) / Median(lift), *std::ranges::max_element(memory));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace qtx::convert

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: convert_bench FOLDER [GIGABYTES [ROUNDS]]\n");
    return 2;
  }
  const std::filesystem::path folder = std::filesystem::path(argv[1]) / "convert_bench";
  const std::int64_t layers = (argc > 2 ? std::atoll(argv[2]) : 4) * 16;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  qtx::convert::MakeModel(folder, layers, true);
  qtx::convert::Race("beside", folder, rounds);
  qtx::convert::MakeModel(folder, std::min<std::int64_t>(layers, 30), false);
  qtx::convert::Race("inside", folder, rounds);
  return 0;
}
