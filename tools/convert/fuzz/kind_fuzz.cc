// A fuzz target for each kind that can be read (QTX_FUZZ_KIND): whatever the bytes are, reading
// ends in an error or in a model; one that keeps the rules is written as every kind, and comes back
// from QDQ as it was, a GGUF file byte for byte. QTX_FUZZ_WITH names files that belong to the
// input.
#include <cstdlib>
#include <iostream>
#include <string>

#include "qtx/convert/convert.h"
#include "qtx/convert/diff.h"
#include "qtx/format/check.h"

namespace qtx::convert {
namespace {

// A property that does not hold: libFuzzer keeps the input.
[[noreturn]] void Stop(const std::string& what) {
  std::cerr << what << '\n';
  std::abort();
}

Options AllowAll() {
  Options options;
  for (const Loss& loss : Losses()) options.allow.emplace_back(loss.name);
  options.repack = true;  // bytes in memory are no file to point into
  return options;
}

void CheckComesBack(const format::Model& model) {
  const auto lowered = ToQdq(model);
  if (!lowered.has_value()) return;
  const auto bytes = lowered->model.Serialize();
  if (!bytes.has_value()) return;
  auto read = format::Model::Parse(*bytes);
  if (!read.has_value()) Stop("lowered: " + read.error().message);
  const auto lifted = FromOnnx(*read);
  if (!lifted.has_value()) Stop("lifted: " + lifted.error().where + ": " + lifted.error().message);
  const auto differences = Diff(model, lifted->model);
  if (!differences.has_value() || differences->empty()) return;
  const Difference& first = differences->front();
  Stop("came back otherwise: " + first.place + " " + first.field + ": " + first.a + " | " +
       first.b);
}

void Run(std::string bytes) {
  static const Options options = AllowAll();
  static const Kind* kind = FindKind(QTX_FUZZ_KIND);
  Source source = FromBytes(bytes, "fuzz");
  if (const char* with = std::getenv("QTX_FUZZ_WITH")) source.with = {with};
  const auto conversion = Read(source, *kind, options);
  if (!conversion.has_value()) {
    if (conversion.error().message.empty()) Stop("an error that says nothing");
    return;
  }
  for (const Kind& writer : Kinds()) {
    if (writer.write == nullptr) continue;
    const auto written = Write(conversion->model, writer, options);
    if (!written.has_value() && written.error().message.empty()) Stop("an error that says nothing");
    if (!written.has_value() && written.error().code == ErrorCode::kInternal)
      Stop("a model written that breaks a rule");
    if (kind->name == "gguf" && &writer == kind &&
        (!written.has_value() || *BytesOf(*written) != bytes)) {
      Stop("a GGUF file that came back otherwise");
    }
  }
  CheckComesBack(conversion->model);
}

}  // namespace
}  // namespace qtx::convert

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  qtx::convert::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
