// qtx convert, lower, lift: conversions side by side, each with its ledger.
#include "qtx/convert/convert.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "commands.h"
#include "ledger.h"
#include "output_kind.h"
#include "progress.h"
#include "qtx/format/data_file.h"
#include "qtx/format/inference.h"
#include "qtx/format/print.h"
#include "qtx/format/threads.h"
#include "qtx/reference/interpreter.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using convert::Export;
using convert::LedgerEntry;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

// One file to convert.
struct Job {
  std::string input, output;
  std::vector<LedgerEntry> ledger;
  std::string size;  // of the result, for people
  std::optional<Error> error;
};

// Bytes written by all jobs together.
struct Written {
  std::atomic<std::int64_t> done = 0, total = 0;
  std::mutex saving;  // models may bring external data of one name: the second must see the first's
};

// Applies the options' transformations to the extended form.
Result<void> Change(const ConvertOptions& options, const convert::Options& how,
                    convert::Conversion& conversion) {
  const auto apply = [&conversion](Result<convert::Conversion> changed) -> Result<void> {
    QTX_RETURN_IF_ERROR(changed);
    conversion.model = std::move(changed->model);
    std::ranges::move(changed->ledger, std::back_inserter(conversion.ledger));
    return {};
  };
  if (!options.eight_bits.empty()) {
    const auto to =
        options.eight_bits == "int8" ? format::ElementType::kInt8Q : format::ElementType::kUint8Q;
    QTX_RETURN_IF_ERROR(apply(convert::ToEightBits(conversion.model, to, how)));
  }
  if (options.integer_only)
    QTX_RETURN_IF_ERROR(apply(convert::ToIntegerOnly(conversion.model, how)));
  return {};
}

// Reports nodes that TFLite computes in ways that QTX does not specify.
Result<void> AddUnmodelled(const format::Model& model, std::vector<LedgerEntry>& ledger) {
  QTX_ASSIGN_OR_RETURN(const auto nodes, reference::FindUnmodelled(model, "tflite"));
  for (const reference::Unmodelled& node : nodes) {
    ledger.push_back({node.where, "arithmetic", LedgerEntry::Fate::kChanged, node.says});
  }
  return {};
}

// Every value that `after` declares more of than `before`.
std::vector<LedgerEntry> Gained(const format::Model& before, const format::Model& after) {
  std::map<std::string, const format::ValueInfo*> old;
  const auto lists = [](const format::Model& model) {
    return std::array{&model.graph.inputs, &model.graph.outputs, &model.graph.values};
  };
  for (const auto* list : lists(before)) {
    for (const format::ValueInfo& value : *list) old.emplace(value.name, &value);
  }
  std::vector<LedgerEntry> ledger;
  for (const auto* list : lists(after)) {
    for (const format::ValueInfo& value : *list) {
      const auto found = old.find(value.name);
      if (!value.type || (found != old.end() && found->second->type == value.type)) continue;
      ledger.push_back({value.name, "type", LedgerEntry::Fate::kChanged,
                        format::ToString(*value.type) + " follows"});
    }
  }
  return ledger;
}

Result<convert::Source> OpenOnnx(const std::string& path, const char* option) {
  QTX_ASSIGN_OR_RETURN(convert::Source source, convert::Open(path));
  if (source.onnx) return source;
  return Error{
      ErrorCode::kInvalid, path,
      "found no ONNX model, expected one: " + std::string(option) + " takes no other kind"};
}

// The model as it is, with what an older file of it has besides.
Result<Export> Restore(const std::string& input, const std::string& older) {
  QTX_ASSIGN_OR_RETURN(const convert::Source source, OpenOnnx(input, "--restore"));
  QTX_ASSIGN_OR_RETURN(const convert::Source from, OpenOnnx(older, "--restore"));
  QTX_ASSIGN_OR_RETURN(auto restored, convert::Restore(*from.onnx, *source.onnx));
  auto written = convert::Write(restored.model, *convert::FindKind("qtx"));
  if (!written.has_value())
    return At(input, convert::BlameSource(source, std::move(written).error()));
  written->ledger = std::move(restored.ledger);
  return written;
}

// The model as it is, with the types that follow.
Result<Export> Infer(const std::string& input) {
  QTX_ASSIGN_OR_RETURN(const convert::Source source, OpenOnnx(input, "--infer"));
  auto inferred =
      convert::Write(format::WithInferredTypes(*source.onnx), *convert::FindKind("qtx"));
  if (!inferred.has_value())
    return At(input, convert::BlameSource(source, std::move(inferred).error()));
  inferred->ledger = Gained(*source.onnx, std::get<format::Model>(inferred->content));
  return inferred;
}

Result<Export> Convert(const ConvertOptions& options, const convert::Source& source,
                       format::DataFile& data) {
  const convert::Options how{.allow = options.allow,
                             .all_losses = true,
                             .opset = options.opset,
                             .subgraph = options.subgraph,
                             .unchanged = options.eight_bits.empty() && !options.integer_only,
                             .copies = options.to == "gguf",
                             .repack = options.repack,
                             .weights_only = options.weights_only,
                             .data = &data};
  const convert::Kind* from = convert::FindKind(options.from);
  if (from == nullptr) {
    QTX_ASSIGN_OR_RETURN(from, convert::KindOf(source));
  }
  if ((options.repack || options.weights_only) && from->name != "gguf") {
    return Error{
        ErrorCode::kUsage, options.repack ? "--repack" : "--weights-only",
        "takes a GGUF file, found '" + source.path + "' of kind " + std::string(from->name)};
  }
  QTX_ASSIGN_OR_RETURN(convert::Conversion conversion, convert::Read(source, *from, how));
  const auto changed = Change(options, how, conversion);
  if (!changed.has_value()) return At(source.path, changed.error());
  if (from->name == "tflite" || options.to == "tflite") {
    QTX_RETURN_IF_ERROR(AddUnmodelled(conversion.model, conversion.ledger));
  }
  auto written = convert::Write(conversion.model, *convert::FindKind(options.to), how);
  if (!written.has_value())
    return At(source.path, convert::BlameSource(source, std::move(written).error()));
  std::ranges::move(written->ledger, std::back_inserter(conversion.ledger));
  written->ledger = std::move(conversion.ledger);
  return written;
}

Result<Export> Perform(const ConvertOptions& options, const std::string& input,
                       format::DataFile& data) {
  if (options.infer) return Infer(input);
  if (!options.restore.empty()) return Restore(input, options.restore);
  QTX_ASSIGN_OR_RETURN(const convert::Source source, convert::Open(input, options.with));
  QTX_ASSIGN_OR_RETURN(Export result, Convert(options, source, data));
  const auto refused = convert::RefuseLosses(result.ledger, options.allow);
  if (!refused.has_value()) return At(input, refused.error());
  return result;
}

// Several files go into a folder, under their own names; none that is there is replaced.
Result<void> SaveFiles(const std::vector<convert::OutputFile>& files, const std::string& output,
                       const std::string& path, const format::WriteProgress& progress) {
  const fs::path folder = IsFolder(output) ? fs::path(output) : fs::path(path).parent_path();
  if (!IsFolder(output)) {
    return Error{ErrorCode::kUsage, "--output",
                 fmt::format("found '{}', expected a folder for {} files", output, files.size())};
  }
  std::error_code code;
  for (const convert::OutputFile& file : files) {
    if (!fs::exists(folder / file.name, code)) continue;
    return Error{ErrorCode::kIo, (folder / file.name).string(), "exists; write to another folder"};
  }
  for (const convert::OutputFile& file : files) {
    QTX_RETURN_IF_ERROR(format::WriteNewFile((folder / file.name).string(), file.pieces, progress));
  }
  return {};
}

Result<void> Save(const Export& result, const ConvertOptions& options, const std::string& path,
                  format::DataFile& data, Written& written) {
  std::int64_t before = 0, planned = 0;
  const format::WriteProgress progress = [&](std::int64_t done, std::int64_t total) {
    written.done += done - before;
    written.total += total - planned;
    before = done;
    planned = total;
  };
  const std::scoped_lock lock(written.saving);
  // Made only when there is something to write, and not while another job may remove it.
  const bool folder = options.output.ends_with('/');
  QTX_ASSIGN_OR_RETURN(const auto made, format::OutputFolder::Make(folder ? options.output : ""));
  if (const auto* model = std::get_if<format::Model>(&result.content))
    return data.Save(*model, progress);
  if (const auto* files = std::get_if<std::vector<convert::OutputFile>>(&result.content))
    return SaveFiles(*files, options.output, path, progress);
  if (const auto* pieces = std::get_if<std::vector<format::Piece>>(&result.content))
    return format::WriteFileAtomically(path, *pieces, progress);
  const format::Piece whole = std::get<std::string>(result.content);
  return format::WriteFileAtomically(path, std::span(&whole, 1), progress);
}

std::string Bytes(std::size_t size) { return fmt::format("{} bytes", size); }

std::size_t SizeOf(const std::vector<format::Piece>& pieces) {
  std::size_t size = 0;
  for (const format::Piece& piece : pieces) {
    const auto* range = std::get_if<format::FileRange>(&piece);
    size += range != nullptr ? static_cast<std::size_t>(range->size)
                             : std::get<std::string>(piece).size();
  }
  return size;
}

std::string SizeOf(const Export& result) {
  if (const auto* model = std::get_if<format::Model>(&result.content))
    return fmt::format("{} nodes", model->graph.nodes.size());
  if (const auto* bytes = std::get_if<std::string>(&result.content)) return Bytes(bytes->size());
  if (const auto* files = std::get_if<std::vector<convert::OutputFile>>(&result.content))
    return fmt::format("{} files", files->size());
  return Bytes(SizeOf(std::get<std::vector<format::Piece>>(result.content)));
}

void ConvertOne(const ConvertOptions& options, Job& job, Written& written) {
  // Beside what is written, in a folder that is made for it.
  format::DataFile data(job.output, options.output.ends_with('/') ? options.output : "");
  auto result = Perform(options, job.input, data);
  if (!result.has_value()) {
    job.error = result.error();
    return;
  }
  if (auto saved = Save(*result, options, job.output, data, written); !saved.has_value()) {
    job.error = saved.error();
    return;
  }
  job.size = SizeOf(*result);
  job.ledger = std::move(result->ledger);
}

std::string ProgressText(const Written& written, std::chrono::steady_clock::time_point start) {
  const double done = static_cast<double>(written.done) / 1e9;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (written.total == 0) return fmt::format("reading, {:.0f} s", seconds);
  const double total = static_cast<double>(written.total) / 1e9;
  const int filled = static_cast<int>(20 * std::min(1.0, done / std::max(total, 1e-9)));
  const double rate = done / std::max(seconds, 1e-3);
  return fmt::format("[{:=<{}}{: <{}}] {:.1f} of {:.1f} GB, {:.1f} GB/s, {} left", "", filled, "",
                     20 - filled, done, total, rate,
                     rate > 0 ? Duration((total - done) / rate) : "?");
}

void RunAll(const ConvertOptions& options, std::vector<Job>& jobs) {
  Written written;
  const auto start = std::chrono::steady_clock::now();
  const ProgressLine line([&] { return ProgressText(written, start); }, options.quiet, 1s);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      try {
        ConvertOne(options, jobs[i], written);
      } catch (const std::bad_alloc&) {
        jobs[i].error = OutOfMemory(jobs[i].input);
      }
    }
  };
  format::InThreads(std::min<std::int64_t>(std::thread::hardware_concurrency(), std::ssize(jobs)),
                    work);
}

// With several inputs, files go into the folder `output` under their own names.
Result<std::vector<Job>> Plan(const ConvertOptions& options) {
  std::vector<Job> jobs;
  const bool folder = IsFolder(options.output);
  if (options.inputs.size() > 1 && !folder) {
    return Error{ErrorCode::kUsage, "--output",
                 "found '" + options.output + "', expected a folder for several inputs"};
  }
  std::map<std::string, std::string> taken;
  for (const std::string& input : options.inputs) {
    Job job{.input = input, .output = options.output};
    if (folder) {
      const std::string stem = input == "-" ? "stdin" : fs::path(input).stem().string();
      const std::string_view extension = convert::FindKind(options.to)->extension;
      job.output = (fs::path(options.output) / stem).string() + std::string(extension);
    }
    const auto [other, unused] = taken.emplace(job.output, input);
    if (!unused) {
      return Error{ErrorCode::kUsage, "--output",
                   "'" + other->second + "' and '" + input + "' would both be written to '" +
                       job.output + "'"};
    }
    std::vector<OptionFile> with;
    for (const std::string& file : options.with) with.push_back({"--with", file});
    if (!options.restore.empty()) with.push_back({"--restore", options.restore});
    QTX_RETURN_IF_ERROR(CheckDistinct({{"--output", job.output}}, with));
    with.push_back({"a model", input});
    QTX_RETURN_IF_ERROR(CheckOutputs({{"--json", options.json}}, with));
    QTX_RETURN_IF_ERROR(CheckDistinct({{"--output", job.output}, {"--json", options.json}}));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// {"ledger": [...]} of one file, {"files": [{"input", "output", "ledger", "error"?}, ...]} of
// several.
std::string ToJson(const std::vector<Job>& jobs) {
  Json json("convert");
  json.BeginObject();
  if (jobs.size() == 1) {
    WriteLedger(jobs[0].ledger, json);
  } else {
    json.Array("files", jobs, [&json](const Job& job) {
      json.BeginObject();
      json.Field("input", job.input);
      json.Field("output", job.output);
      WriteLedger(job.ledger, json);
      if (job.error) json.Field("error", job.error->Text());
      json.EndObject();
    });
  }
  json.EndObject();
  return json.Text();
}

}  // namespace

int Convert(const ConvertOptions& given) {
  const bool as_is = given.infer || !given.restore.empty();  // ONNX, whatever its name
  const auto kind = KindToWrite(given.output, as_is ? "qtx" : given.to);
  if (!kind.has_value()) return Fail(kind.error());
  ConvertOptions options = given;
  options.to = (*kind)->name;
  auto jobs = Plan(options);
  if (!jobs.has_value()) return Fail(jobs.error());
  RunAll(options, *jobs);
  int status = kDone;
  for (const Job& job : *jobs) {
    if (job.error) {
      status = std::max(status, Fail(*job.error));
    } else if (options.SaysText()) {
      PrintLedger(job.ledger, options.ledger, job.input, job.output, job.size);
    }
  }
  const bool all_failed =
      std::ranges::all_of(*jobs, [](const Job& job) { return job.error.has_value(); });
  return all_failed ? status : Finish(options, status, [&jobs] { return ToJson(*jobs); });
}

}  // namespace qtx::cli
