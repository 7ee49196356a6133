// libFuzzer's entry points, for the target that name.cc names.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "flatbuffer_mutator.h"
#include "target.h"
#include "wire_mutator.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace qtx::fuzz {

extern const std::string_view kName;

namespace {

const Target& Row() {
  static const Target& row = []() -> const Target& {
    const auto rows = Targets();
    const auto found = std::ranges::find(rows, kName, &Target::name);
    if (found != rows.end()) return *found;
    std::cerr << "found no target " << kName << '\n';
    std::exit(1);
  }();
  return row;
}

std::string MutateBytes(std::string bytes, std::size_t max_size) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(max_size, size));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

// `made`, where it has a form and fits.
std::size_t Put(const std::optional<std::string>& made, std::uint8_t* data, std::size_t max_size) {
  if (!made || made->empty() || made->size() > max_size) return 0;
  std::ranges::copy(*made, data);
  return made->size();
}

std::string TextOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace
}  // namespace qtx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto& row = qtx::fuzz::Row();
  row.run(row.name, qtx::fuzz::TextOf(data, size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  using qtx::fuzz::Form;
  const Form form = qtx::fuzz::Row().form;
  // A tenth is left to libFuzzer, which also breaks the form.
  if (form != Form::kBytes && seed % 10 != 0) {
    std::mt19937 draw(seed);
    const std::string bytes = qtx::fuzz::TextOf(data, size);
    const auto made =
        form == Form::kFlatbuffer
            ? qtx::fuzz::MutateFlatbuffer(bytes, draw, &qtx::fuzz::MutateBytes)
            : qtx::fuzz::MutateWire(bytes, form == Form::kFrames, draw, &qtx::fuzz::MutateBytes);
    if (const std::size_t put = qtx::fuzz::Put(made, data, max_size)) return put;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

// NOLINTNEXTLINE(readability-function-size): libFuzzer's interface
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size,
                                                 const std::uint8_t* b, std::size_t b_size,
                                                 std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
  using qtx::fuzz::Form;
  const Form form = qtx::fuzz::Row().form;
  if (form != Form::kProtobuf && form != Form::kFrames) return 0;
  std::mt19937 draw(seed);
  return qtx::fuzz::Put(
      qtx::fuzz::CrossWire(qtx::fuzz::TextOf(a, a_size), qtx::fuzz::TextOf(b, b_size),
                           form == Form::kFrames, draw),
      out, max_size);
}
