// One work, computed as often as asked, by the backend that this program is built for. The
// instructions of one computation are the difference between two runs, divided by the difference of
// their repetitions: preparation, inputs and the program's start cancel out.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "builder.h"
#include "qtx/backend/backend.h"
#include "qtx/bench/shapes.h"
#include "qtx/bench/workload.h"

namespace qtx::backend {
Result<std::unique_ptr<Backend>> QTX_MAKE(std::string_view options);
}

namespace {

using qtx::Error;
using qtx::ErrorCode;
using qtx::Result;
using qtx::bench::Builder;
using qtx::bench::ConvShape;
using qtx::bench::Spreading;
using qtx::bench::Task;
using qtx::bench::Types;

struct NamedConv {
  std::string_view name;
  ConvShape shape;
};
constexpr NamedConv kConvs[] = {
    {"conv/3x3_64_64_14", {64, 64, 14, 3, 1, false, 1}},
    {"conv/dw3x3_64_64_14", {64, 64, 14, 3, 1, true, 1}},
};

Result<Task> MakeTask(std::string_view work, const Types& types) {
  for (const auto& [name, shape] : kConvs) {
    if (name != work) continue;
    Builder builder(name, types, Spreading::kBell);
    const auto x = builder.Input({1, shape.channels, shape.size, shape.size}, types.activations);
    return builder.Finish(builder.Conv(x, shape, 2, {-0.9, 6}));
  }
  for (const auto& shape : qtx::bench::ProductShapes()) {
    if (shape.name != work || shape.computed) continue;
    Builder builder(shape.name, types, Spreading::kEven);
    const auto x = builder.Input({shape.rows, shape.inner}, types.activations);
    return builder.Finish(builder.MatMul(x, shape.columns));
  }
  return Error{ErrorCode::kInvalid, std::string(work),
               "no such work; expected conv/3x3_64_64_14, conv/dw3x3_64_64_14 or gemm/MxKxN of "
               "qtx bench --list"};
}

Result<const Types*> FindTypes(std::string_view name) {
  for (const Types& types : qtx::bench::QuantizedTypes()) {
    if (types.name == name) return &types;
  }
  return Error{ErrorCode::kInvalid, std::string(name), "expected u8u8, u8s8, s8s8, u8s8c or s8s8c"};
}

Result<int> ToRepetitions(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= 1 && value <= qtx::backend::kMaxRepetitions) {
    return value;
  }
  return Error{ErrorCode::kInvalid, std::string(text), "expected a number of repetitions"};
}

/// Computes and returns how many multiply-adds once is.
Result<std::int64_t> Repeat(char** arguments) {
  QTX_ASSIGN_OR_RETURN(const auto backend, qtx::backend::QTX_MAKE(arguments[0]));
  QTX_ASSIGN_OR_RETURN(const Types* types, FindTypes(arguments[2]));
  QTX_ASSIGN_OR_RETURN(const int repetitions, ToRepetitions(arguments[3]));
  QTX_ASSIGN_OR_RETURN(const Task task, MakeTask(arguments[1], *types));
  QTX_ASSIGN_OR_RETURN(const auto description, backend->Describe());
  QTX_ASSIGN_OR_RETURN(const auto prepared,
                       backend->Prepare(task.model, description.arithmetics.front()));
  QTX_RETURN_IF_ERROR(prepared->Measure(task.inputs, repetitions));
  std::fprintf(stderr, "%s\n", description.device.c_str());
  return qtx::bench::CountMultiplyAdds(task.model);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s OPTIONS WORK TYPES REPETITIONS\n", argv[0]);
    return 2;
  }
  const Result<std::int64_t> multiply_adds = Repeat(argv + 1);
  if (!multiply_adds.has_value()) {
    const Error& error = multiply_adds.error();
    std::fprintf(stderr, "%s: %s\n", error.where.c_str(), error.message.c_str());
    return error.code == ErrorCode::kInvalid ? 2 : 1;
  }
  std::printf("%lld\n", static_cast<long long>(*multiply_adds));
  return 0;
}
