// The command line: every option is declared here and nowhere else.
#include <gmp.h>
#include <google/protobuf/stubs/logging.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "command_tree.h"
#include "commands.h"
#include "confine.h"
#include "data_folders.h"
#include "feature_option.h"
#include "provenance.h"
#include "qtx/backend/protocol.h"
#include "qtx/conformance/runner.h"
#include "qtx/convert/convert.h"
#include "qtx/format/attributes.h"
#include "qtx/format/file.h"
#include "qtx/format/print.h"
#include "standard_streams.h"
#include "version.h"

namespace qtx::cli {
namespace {

using convert::Kind;

// Like CLI::Range, but refuses NaN.
CLI::Validator Between(double low, double high) {
  CLI::Validator validator = CLI::Range(low, high);
  return validator & CLI::Validator(
                         [](std::string& text) {
                           return text.find_first_of("nN") == std::string::npos
                                      ? std::string()
                                      : "Value " + text + " is not a number";
                         },
                         "");
}

void AddQuiet(CLI::App* command, bool& quiet) {
  command->add_flag("-q,--quiet", quiet,
                    "No text on stdout and no progress: errors and warnings alone");
}

void AddReporting(CLI::App* command, const std::string& what, Reporting& options) {
  command->add_option("--json", options.json, "The " + what + " as JSON to this file; - is stdout")
      ->type_name("FILE|-");
  AddQuiet(command, options.quiet);
}

template <typename Options>
void AddLedger(CLI::App* command, Options& options) {
  command->add_flag("--ledger", options.ledger, "Print every entry of the ledger, not a summary");
  AddReporting(command, "ledger", options);
}

CLI::Option* AddFeature(CLI::App* command, std::vector<std::string>& features) {
  return command
      ->add_option("--feature", features,
                   "A proposal's feature, on beside the current spec "
                   "(repeatable)")
      ->check(CLI::IsMember(FeatureNames()))
      ->allow_extra_args(false);
}

void AddCheck(CLI::App& app, CheckOptions& options) {
  auto* command = app.add_subcommand("check", "Apply every rule of the spec to models");
  command->add_option("files", options.files, "Models of any kind")->required();
  AddFeature(command, options.features);
  AddReporting(command, "findings", options);
}

void AddInspect(CLI::App& app, InspectOptions& options) {
  auto* command = app.add_subcommand("inspect", "Show values, types, parameters, statistics");
  command->add_option("file", options.file, "A model of any kind")->required();
  command->add_option("--html", options.html, "Write a page with histograms, ranges and channels");
  command->add_flag("--findings", options.findings, "Report what looks wrong");
  AddReporting(command, "result", options);
}

// Names of the kinds that have `member`, a reader or a writer.
template <typename Member>
std::vector<std::string> KindNames(Member member) {
  std::vector<std::string> names;
  for (const Kind& kind : convert::Kinds()) {
    if (kind.*member != nullptr) names.emplace_back(kind.name);
  }
  return names;
}

std::vector<std::string> LossNames() {
  std::vector<std::string> names;
  for (const convert::Loss& loss : convert::Losses()) names.emplace_back(loss.name);
  return names;
}

void AddAllow(CLI::App* command, ConvertOptions& options) {
  command->add_option("--allow", options.allow, "A loss to accept (repeatable)")
      ->check(CLI::IsMember(LossNames()))
      ->allow_extra_args(false);
}

void AddOpset(CLI::App* command, const std::string& says, ConvertOptions& options) {
  command->add_option("--opset", options.opset, says)
      ->check(CLI::Range(convert::kOldestOpset, format::NewestOpset()));
}

void AddConvert(CLI::App* command, ConvertOptions& options) {
  command->add_option("--from", options.from, "Kind of the input (default: detected)")
      ->check(CLI::IsMember(KindNames(&Kind::read)));
  command
      ->add_option("--to", options.to,
                   "Kind of the output (default: the one whose extension --output has, else qtx)")
      ->check(CLI::IsMember(KindNames(&Kind::write)));
  command
      ->add_option("--with", options.with,
                   "A further file that belongs to the input: weights, a profile's model")
      ->allow_extra_args(false);
  AddAllow(command, options);
  command
      ->add_option("--eight-bits", options.eight_bits,
                   "Type to which all quantized values of 8 bits are converted")
      ->check(CLI::IsMember({"int8", "uint8"}));
  command->add_flag(
      "--integer-only", options.integer_only,
      "For targets without floating point: add multipliers and shifts, make biases int32");
  command->add_flag("--repack", options.repack,
                    "Of a GGUF file: ordinary tensors, with factors as initializers, instead of "
                    "ones that point into the file");
  command->add_flag("--weights-only", options.weights_only,
                    "Of a GGUF file: no graph, also where its architecture is known");
  command->add_option(
      "--subgraph", options.subgraph,
      "Subgraph of a TFLite file, by name, signature or index (default: the first); function of a "
      "StableHLO program, by name or index (default: main, or the only public one)");
  AddOpset(command, "ai.onnx opset of ONNX output (default: its own, or the smallest that fits)",
           options);
  auto* infer = command->add_flag("--infer", options.infer,
                                  "An ONNX model of any kind as it is, with the types and shapes "
                                  "of its values that follow");
  auto* restore = command->add_option("--restore", options.restore,
                                      "An older file of the model: an ONNX model as it is, with "
                                      "the annotations and statistics that a tool dropped since");
  restore->excludes(infer);
  for (const char* other : {"--from", "--to", "--with", "--allow", "--eight-bits", "--integer-only",
                            "--repack", "--weights-only", "--subgraph", "--opset"}) {
    infer->excludes(command->get_option(other));
    restore->excludes(command->get_option(other));
  }
}

void AddLower(CLI::App* command, ConvertOptions& options) {
  options.from = "qtx";
  options.to = "qdq";
  AddOpset(command, "ai.onnx opset (default: the smallest that fits)", options);
  command->add_option("--to", options.to, "Form of the stock ONNX")
      ->check(CLI::IsMember({"qdq", "qoperator"}))
      ->capture_default_str();
  AddAllow(command, options);
}

void AddConversions(CLI::App& app, ConvertOptions& convert, ConvertOptions& lower,
                    ConvertOptions& lift) {
  auto add = [&app](const char* name, const char* help, ConvertOptions& options) {
    auto* command = app.add_subcommand(name, help);
    command->add_option("inputs", options.inputs, "The models to convert; - is stdin")->required();
    command
        ->add_option("-o,--output", options.output,
                     "Output file; a folder for several inputs; - is stdout")
        ->required();
    AddLedger(command, options);
    return command;
  };
  AddConvert(add("convert", "Convert a model to the extended form, or out of it", convert),
             convert);
  AddLower(add("lower", "Convert the extended form to stock ONNX", lower), lower);
  auto* lift_command = add("lift", "Convert stock ONNX to the extended form", lift);
  AddOpset(lift_command, "ai.onnx opset (default: the one it came from)", lift);
  lift.from = "qdq";  // reads every dialect, and models without quantization
  lift.to = "qtx";
}

void AddDiff(CLI::App& app, DiffOptions& options) {
  auto* command = app.add_subcommand("diff", "List the differences between two models");
  command->add_option("a", options.a, "A model of any kind")->required();
  command->add_option("b", options.b, "Another")->required();
  AddReporting(command, "result", options);
}

void AddFrameLimit(CLI::App* command, std::int64_t& mib) {
  command
      ->add_option("--frame-limit", mib,
                   "MiB of the longest answer of a backend in a process of its own")
      ->check(CLI::Range(std::int64_t{1}, backend::kMaxFrameBytes >> 20))
      ->capture_default_str();
}

void AddTimeout(CLI::App* command, double& seconds, const std::string& task = "request") {
  command
      ->add_option("--timeout", seconds,
                   "Seconds a backend in a process of its own has for one " + task + ", e.g. 0.5")
      ->check(Between(0.001, 86400.0))
      ->capture_default_str();
}

void AddSandbox(CLI::App* command, const std::string& says, std::string& level) {
  command->add_option("--sandbox", level, says)
      ->check(CLI::IsMember({"off", "on", "strict"}))
      ->capture_default_str();
}

void AddProcessLimits(CLI::App* command, ProcessLimits& limits) {
  AddSandbox(command,
             "What the process of a backend is kept from: on: writing elsewhere than in a folder "
             "of its own, TMPDIR; strict: also sockets, and reading what is neither the system's "
             "nor in a folder of its command",
             limits.sandbox);
  command
      ->add_option("--readable", limits.readable,
                   "A file or folder that --sandbox strict lets it read, too (repeatable)")
      ->check(CLI::ExistingPath)
      ->allow_extra_args(false);
}

void AddInputs(CLI::App* command, std::vector<std::string>& inputs) {
  command->add_option(
      "--input", inputs,
      "NAME=FILE (.npy, .npz or .pb); a single input needs no NAME, nor does an .npz with "
      "an array for each");
}

void AddRun(CLI::App& app, RunOptions& options) {
  auto* command = app.add_subcommand("run", "Run a model on a backend");
  command->add_option("model", options.model, "A model of any kind")->required();
  AddInputs(command, options.inputs);
  command
      ->add_option("--output-dir", options.output_dir,
                   "Folder in which NAME.npy is written for each output")
      ->capture_default_str();
  command->add_option("--arithmetic", options.arithmetic, "Named arithmetic")
      ->capture_default_str();
  command->add_option("--profile", options.profile,
                      "Deployment profile: the arithmetic that a system gives each node (reference "
                      "only), such as litert-xnnpack; spec/profiles.md lists them");
  command->add_option("--node-arithmetic", options.node_arithmetics,
                      "NODE=NAME: another arithmetic for one node (reference only; repeatable)");
  command->add_option("--backend", options.backend, "Built-in name or 'cmd:PROGRAM ARGS'")
      ->capture_default_str();
  AddTimeout(command, options.timeout_seconds);
  AddFrameLimit(command, options.frame_limit_mib);
  AddFeature(command, options.features);
  command->add_flag(
      "--counters", options.counters,
      "Print on stderr how many results were rounded, and how many by the exact fallback");
  command->add_flag("--node-times", options.node_times,
                    "Print what each node takes and by which path, on stdout (x86, arm)");
  AddProcessLimits(command, options);
  AddReporting(command, "outputs, unmodelled nodes and counters", options);
}

void AddCompare(CLI::App& app, CompareOptions& options) {
  auto* command = app.add_subcommand(
      "compare", "Say how far backends are from exact, layer by layer of a model");
  command->add_option("model", options.model, "A model of any kind")->required();
  AddInputs(command, options.inputs);
  command
      ->add_option("--backend", options.backends,
                   "Built-in name or 'cmd:PROGRAM ARGS' (repeatable)")
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option(
          "--arithmetic", options.arithmetics,
          "Named arithmetic that each backend is asked for (repeatable; default: its first)")
      ->allow_extra_args(false);
  command->add_flag("--all", options.all, "Print values without a difference, too");
  AddTimeout(command, options.timeout_seconds);
  AddFrameLimit(command, options.frame_limit_mib);
  AddProcessLimits(command, options);
  AddReporting(command, "distances", options);
}

void AddQuantize(CLI::App& app, QuantizeOptions& options) {
  auto* command = app.add_subcommand(
      "quantize", "Quantize a float model by its statistics (which qtx calibrate writes)");
  command->footer(
      "TYPE is int2, uint2, int4, uint4, int8, uint8, int16 or uint16, of weights also float4e2m1, "
      "float8e4m3fn or float8e5m2, or mxfp4, mxfp8e4m3, mxfp8e5m2 or nvfp4; SCHEME is asymmetric, "
      "symmetric, asymmetric_pow2, symmetric_pow2 or symmetric_uint8.\n"
      "METHOD is minmax, percentile=P, std=K, entropy, mse or lp=P; of several with commas between "
      "them, the first that a value's statistics allow.\n"
      "Rules, operators and formulas: tools/quantize/README.md");
  command->add_option("model", options.model, "A float model of any kind; - is stdin")->required();
  command->add_option("--from", options.from, "Its kind (default: detected)")
      ->check(CLI::IsMember(KindNames(&Kind::read)));
  command
      ->add_option("--with", options.with, "A further file that belongs to it: a profile's model")
      ->allow_extra_args(false);
  command->add_option("-o,--output", options.output, "The quantized model; - is stdout")
      ->required();
  command
      ->add_option("--activations", options.activations,
                   "TYPE[:SCHEME][:narrow], or float for weights alone")
      ->capture_default_str();
  command
      ->add_option("--weights", options.weights,
                   "TYPE[:SCHEME][:per-tensor|:per-axis|:block=N][:full], or float")
      ->capture_default_str();
  command->add_option("--range", options.range, "METHOD for activations")->capture_default_str();
  command->add_option("--weight-range", options.weight_range, "METHOD for weights")
      ->capture_default_str();
  command->add_option("--rules", options.rules,
                      "YAML: other types and methods for nodes by name or op_type");
  command->add_option("--io", options.io, "Types of the graph's inputs and outputs")
      ->check(CLI::IsMember({"float", "quantized"}))
      ->capture_default_str();
  command->add_flag("--equalize", options.equalize,
                    "Equalize the ranges of weights across layers, by powers of two");
  command->add_flag("--bias-correction", options.correct_bias,
                    "Correct biases for the mean error of quantized weights");
  command->add_option("--gram", options.gram, "Sums X^T X, which qtx calibrate --gram has written");
  command
      ->add_option(
          "--method", options.method,
          "How weights are rounded: to the nearest; one after the other, so that the next "
          "make up for the errors before them; or from there until no change of one "
          "weight or scale lowers the error (both need --gram, or --data: then they also make up "
          "for the errors of the layers before)")
      ->check(CLI::IsMember({"nearest", "gptq", "coordinate-descent"}))
      ->capture_default_str();
  command
      ->add_option("--awq", options.awq,
                   "Factors of the input channels of weights, searched by the sums; the inputs are "
                   "divided by them in the constants before them (fold), or also by a Mul where "
                   "there are none (mul); needs --gram or --data")
      ->check(CLI::IsMember({"none", "fold", "mul"}))
      ->capture_default_str();
  command->add_flag("--act-order", options.act_order,
                    "With --method: round the weights of the largest inputs first; scales of "
                    "blocks are those of the weights as they were");
  command->add_option("--target", options.target,
                      "The least SQNR of the outputs on --data, such as 30dB, or the largest file, "
                      "such as 1.5MB: other types for as few nodes as it takes");
  auto* data = command->add_option(
      "--data", options.data,
      "Folders and files of inputs, as for qtx calibrate: for missing statistics, those that the "
      "options above need, and the inputs of --report");
  command->add_option("--shape", options.shapes, "DIMS or NAME=DIMS of raw inputs")->needs(data);
  command
      ->add_option("--preprocess", options.preprocess,
                   "YAML file that describes how images become inputs")
      ->needs(data);
  command
      ->add_option("--report", options.report,
                   "FILE.html or FILE.json: the error of each value against the float model, worst "
                   "first, which a table on stdout shows")
      ->needs(data);
  AddLedger(command, options);
}

void AddValidate(CLI::App& app, ValidateOptions& options) {
  auto* command = app.add_subcommand("validate", "Run the conformance suite against backends");
  command->add_option("--backend", options.backends,
                      "Built-in name or 'cmd:PROGRAM ARGS' (default: every available one)");
  command->add_option("--suite", options.suite, "Folder of cases (default: QTX's own)");
  command->add_option("--filter", options.filters,
                      "Glob on case ids, * any characters and ? one; repeated: any of them");
  command->add_option("--level", options.level, "Only cases of this level");
  command->add_option("--arithmetic", options.arithmetic, "Only this arithmetic");
  command->add_option("--profile", options.profile,
                      "Each operator only in the arithmetic that this deployment profile gives it");
  command->add_option("--shard", options.shard, "I/N: the I-th of N parts (1-based)");
  command->add_option("--jobs", options.jobs, "Parallel jobs (default: cores)")
      ->check(CLI::Range(1, 256));
  AddTimeout(command, options.timeout_seconds, "case");
  command
      ->add_option("--memory-limit", options.memory_limit_mib,
                   "MiB of address space for each backend's process; implies --isolate")
      ->check(CLI::Range(1, 1 << 24));
  AddFrameLimit(command, options.frame_limit_mib);
  command->add_flag("--isolate", options.isolate,
                    "Run built-in backends in processes of their own, too");
  auto* resume =
      command->add_option("--resume", options.resume,
                          "Journal: each result is appended to this file, and what it holds "
                          "already is not run again");
  // A journal's results are those of the current spec.
  AddFeature(command, options.features)->excludes(resume);
  command->add_flag("--coverage", options.coverage,
                    "Run nothing: list the rules and operators without a case");
  AddProcessLimits(command, options);
  AddReporting(command, "report", options);
  command->add_option("--junit", options.junit, "Report as JUnit XML to this file");
  command->add_option("--html", options.html, "Report as one offline HTML page to this file");
  command->add_option("--expected-failures", options.expected_failures,
                      "File of case ids that are known to fail, each with its reason");
  command->add_flag("--strict-expectations", options.strict_expectations,
                    "A line of that file that no case matches counts as a failure");
  command
      ->add_option("--min-coverage", options.min_coverage,
                   "Percent of its cases that each backend must run and not decline (default: any)")
      ->check(CLI::Range(0.0, 100.0));
}

void AddCalibrate(CLI::App& app, CalibrateOptions& options) {
  auto* command =
      app.add_subcommand("calibrate", "Write statistics of every float value into a model");
  command->add_option("model", options.inputs, "A model of any kind; with --merge, its shards")
      ->required();
  command->add_flag("--merge", options.merge, "Merge models that were calibrated in shards");
  command->add_option("-o,--output", options.output, "Output file")->required();
  command->add_option(
      "--data", options.data,
      "Folders and files: .npy, .npz, .pb, .raw, .bin, .png, .jpeg, ONNX test data");
  command->add_option("--shape", options.shapes, "[NAME=]DIMS of an input, such as 1,3,?,224")
      ->allow_extra_args(false);
  command->add_option("--preprocess", options.preprocess,
                      "YAML file that describes how images become an input, and integers reals");
  command
      ->add_option("--per-axis", options.axis,
                   "Statistics for each element of this axis (none given: 1; from the end: -1)")
      ->expected(0, 1)
      ->default_str("1")
      ->each([&options](const std::string&) { options.per_axis = true; });
  command->add_option("--histogram", options.bins, "Maximal number of bins, 2 to 1048576; 0: none")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command->add_option("--shard", options.shard, "I/N: the I-th of N parts (1-based)");
  command
      ->add_option("--threads", options.threads, "Samples processed in parallel (default: cores)")
      ->check(CLI::Range(1, 1024));
  command->add_option("--on-error", options.on_error, "What a bad sample does")
      ->check(CLI::IsMember({"stop", "skip"}))
      ->capture_default_str();
  command->add_option("--resume", options.resume,
                      "Journal: kept up to date, and what it holds is not run again");
  command
      ->add_option("--journal-seconds", options.journal_seconds,
                   "Interval at which the journal is written")
      ->check(Between(0, 86400.0))
      ->capture_default_str();
  command
      ->add_option("--gram", options.gram,
                   "Also write sums X^T X of the inputs of MatMul, Gemm and Conv, for qtx quantize "
                   "--method gptq; the model has statistics already")
      ->excludes("--resume");
  AddReporting(command, "summary", options);
}

void AddServe(CLI::App& app, ServeOptions& options) {
  auto* command = app.add_subcommand("serve", "Answer the backend protocol on stdin and stdout");
  command->add_option("--backend", options.backend, "Built-in name")->required();
  AddFeature(command, options.features);
  command->add_option("--without", options.without, "Turn off a promoted feature (repeatable)")
      ->check(CLI::IsMember(FeatureNames()))
      ->allow_extra_args(false);
}

void AddReport(CLI::App& app, MergeOptions& options) {
  auto* command = app.add_subcommand("report", "Work with reports of earlier runs");
  command->require_subcommand(1);
  auto* merge = command->add_subcommand("merge", "Merge the JSON reports of shards or devices");
  merge->add_option("reports", options.reports, "JSON reports of `qtx validate`")->required();
  AddReporting(merge, "merged report", options);
  merge->add_option("--junit", options.junit, "Merged report as JUnit XML to this file");
  merge->add_option("--html", options.html, "Merged report as one offline HTML page to this file");
}

void AddScoreboard(CLI::App& app, ScoreboardOptions& options) {
  auto* command = app.add_subcommand("scoreboard",
                                     "Write what systems compute, operator by operator, as a site");
  command->add_option("reports", options.reports, "JSON reports of `qtx validate`, or .json.gz")
      ->required();
  command->add_option("-o,--output", options.output, "Folder of the site, written as a whole")
      ->required();
  command->add_option(
      "--deviations", options.deviations,
      "Folder of what people found of the failures: NAME.md, and NAME.py beside it");
  AddQuiet(command, options.quiet);
}

void AddIdentify(CLI::App& app, IdentifyOptions& options) {
  auto* command =
      app.add_subcommand("identify", "Name a backend's arithmetic, operator by operator");
  command->add_option("--backend", options.backend, "Built-in name or 'cmd:PROGRAM ARGS'")
      ->required();
  command->add_option("--suite", options.suite, "Folder of cases (default: QTX's own)");
  AddTimeout(command, options.timeout_seconds);
  AddProcessLimits(command, options);
  AddReporting(command, "result", options);
}

void AddPower(CLI::App& app, PowerOptions& options) {
  auto* command = app.add_subcommand(
      "power", "Mutation testing of the suite: run it against backends with known faults");
  command->add_option("--suite", options.suite, "Folder of cases (default: QTX's own)");
  command
      ->add_option("--filter", options.filter,
                   "Glob on the names of faults, or on the files of mutants")
      ->capture_default_str();
  auto* onnx = command->add_option(
      "--onnx-node-tests", options.onnx_node_tests,
      "ONNX's folder data/node, for comparison (default: Debian's, if installed)");
  auto* mutants = command->add_flag(
      "--mutants", options.mutants,
      "Against faults in each line of the engine and the reference instead (qtx-mutants only)");
  mutants->excludes(onnx);
  command->add_option("--level", options.level, "Only cases of this level")->needs(mutants);
  command->add_option("--part", options.part, "I/N: part I of N of the faults or mutants");
  command
      ->add_flag("--all-that-notice", options.all_that_notice,
                 "List every case that notices a mutant that level core misses")
      ->needs(mutants);
  command->add_option("--jobs", options.jobs, "Parallel jobs (default: cores)");
  AddReporting(command, "report", options);
}

void AddShrink(CLI::App& app, ShrinkOptions& options) {
  auto* command = app.add_subcommand(
      "shrink", "Reduce a failing case or network to a folder that reproduces it");
  command->add_option("--backend", options.backend, "Built-in name or 'cmd:PROGRAM ARGS'")
      ->required();
  command->add_option("--arithmetic", options.arithmetic, "Default: the backend's first");
  auto* id = command->add_option("--case", options.case_id, "The id of a case");
  command->add_option("--suite", options.suite, "Folder of cases (default: QTX's own)");
  command->add_option("--model", options.model, "A model to shrink instead of a case, with --input")
      ->excludes(id);
  command->add_option(
      "--input", options.inputs,
      "NAME=FILE (.npy, .npz or .pb); a single input needs no NAME, nor does an .npz with "
      "an array for each");
  command->add_option("-o,--output", options.output, "The folder to write")->required();
  command->add_option("--max-runs", options.max_runs, "Maximal number of runs of the backend")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  AddTimeout(command, options.timeout_seconds);
  AddProcessLimits(command, options);
  AddReporting(command, "result", options);
}

void AddFuzz(CLI::App& app, FuzzOptions& options) {
  auto* command =
      app.add_subcommand("fuzz", "Compare a backend with the reference on random models");
  command->add_option("--backend", options.backend, "Built-in name or 'cmd:PROGRAM ARGS'")
      ->required();
  command->add_option("--arithmetic", options.arithmetic, "Default: the backend's first");
  auto* minutes = command->add_option("--minutes", options.minutes, "Minutes to run (default: 1)")
                      ->check(Between(0.001, 100000.0));
  auto* cases =
      command->add_option("--cases", options.cases, "Number of models, instead of --minutes")
          ->check(CLI::Range(1, 1000000000))
          ->excludes(minutes);
  command->add_option("--only", options.only, "Only the model of this number (1-based)")
      ->check(CLI::Range(1, 1000000000))
      ->excludes(minutes)
      ->excludes(cases);
  command->add_option("--seed", options.seed, "The same seed gives the same models")
      ->capture_default_str();
  command->add_option("-o,--output", options.output,
                      "Folder for a reproducer of each new failure (default: none is written)");
  command->add_option("--operators", options.operators, "Glob on op_types")->capture_default_str();
  command->add_option("--shard", options.shard, "I/N: the I-th of N parts (1-based) of the models");
  command->add_option("--resume", options.resume,
                      "Journal: keeps what was done and goes on after an interruption");
  AddTimeout(command, options.timeout_seconds);
  AddProcessLimits(command, options);
  AddReporting(command, "result", options);
}

void AddBench(CLI::App& app, BenchOptions& options) {
  auto* command = app.add_subcommand("bench", "Race backends on layers and networks");
  command->add_option("--backend", options.backends,
                      "Built-in name or 'cmd:PROGRAM ARGS', {threads} in it for their number "
                      "(default: every built-in one)");
  command->add_option("--filter", options.filters,
                      "Glob on the names of workloads; repeated: any of them");
  command->add_option("--types", options.types, "Only these, as --list shows them: u8s8,fp32")
      ->delimiter(',');
  command->add_option("--threads", options.threads, "Numbers of threads: 1,2 (default: 1 and all)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command->add_option("--models", options.models, "Folder of more networks, .onnx and .tflite");
  command
      ->add_option("--arithmetic", options.arithmetic,
                   "Of backends that have it; the others compute in their first one")
      ->capture_default_str();
  command->add_option("--profile", options.profile,
                      "Hold backends without `exact` to this deployment profile in the place of "
                      "their first arithmetic; spec/profiles.md lists them");
  command->add_option("--seconds", options.seconds, "Time of a backend in a round")
      ->check(Between(0.0001, 60.0))
      ->capture_default_str();
  command->add_option("--rounds", options.rounds, "Number of rounds")
      ->check(CLI::Range(7, 1000))
      ->capture_default_str();
  command
      ->add_option("--longest", options.longest,
                   "Seconds of one run; a backend that takes longer is not measured")
      ->check(Between(0.001, 86400.0))
      ->capture_default_str();
  AddTimeout(command, options.timeout_seconds);
  command->add_flag("--unchecked", options.unchecked,
                    "Do not compare results with the reference's, which takes its time");
  command->add_flag("--list", options.list, "List the workloads and measure nothing");
  command->add_flag("--node-times", options.node_times,
                    "Race nothing: print what each node takes and by which path (x86, arm)");
  AddProcessLimits(command, options);
  AddReporting(command, "rows", options);
  command->add_option("--svg", options.svg, "Rooflines as SVG to this file");
}

void AddReview(CLI::App& app, ReviewOptions& options) {
  auto* command = app.add_subcommand(
      "review", "Try a proposal: its examples, the cases, backends and models it changes");
  command->add_option("proposal", options.proposal, "NNNN of spec/proposals, or a folder")
      ->required();
  command->add_option("--models", options.models, "Folder of .onnx and .tflite models to compare");
  command->add_option("--backend", options.backends,
                      "Built-in name or 'cmd:PROGRAM ARGS' (default: every available one)");
  command->add_option("--suite", options.suite, "Folder of cases (default: QTX's own)");
  command->add_option("--jobs", options.jobs, "Parallel jobs (default: cores)")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--model-seconds", options.model_seconds,
                   "Seconds for a model of --models, with and without the feature")
      ->check(Between(0.001, 86400.0))
      ->capture_default_str();
  command->add_flag("--all", options.all,
                    "Of an overlay, compute every case that its clauses can change, not a sample");
  command
      ->add_option("--seconds", options.seconds,
                   "Of an overlay, begin no case after these seconds, unless --all is given")
      ->check(Between(0.001, 86400.0))
      ->capture_default_str();
  AddProcessLimits(command, options);
  AddReporting(command, "review", options);
  command->add_option("--html", options.html, "Review as one offline HTML page to this file");
}

void AddSchema(CLI::App& app, SchemaOptions& options) {
  auto* command = app.add_subcommand("schema", "Print the JSON Schema of a JSON output");
  command->add_option("name", options.name, "As in qtx/NAME/1 (default: list the names)");
}

CLI::App* AddSpec(CLI::App& app) {
  auto* command = app.add_subcommand("spec", "Run, measure and extend the specification");
  command->require_subcommand(1);
  return command;
}

void AddSpecRun(CLI::App& spec, SpecRunOptions& options) {
  auto* run = spec.add_subcommand(
      "run", "Run every example and formula; end at the first that differs from the reference");
  run->add_option("path", options.path,
                  "A Markdown or case file, or a folder of them (default: the whole spec)");
  AddReporting(run, "results", options);
  auto* features = AddFeature(run, options.features);
  auto* all =
      run->add_flag("--all", options.all,
                    "Compute the suite's cases by the formulas (backend `text`), and compare "
                    "with the answers that the suite keeps");
  all->excludes(features)->excludes("path")->excludes("--json");
  run->add_flag("--write", options.write, "Keep what --all computed")->needs(all);
  run->add_option("--part", options.part,
                  "I/N: of the answers that the suite has, compute only the I-th of N parts")
      ->needs(all);
  run->add_option("--suite", options.suite, "Folder of cases of --all (default: QTX's own)")
      ->needs(all);
}

void AddSpecCoverage(CLI::App& spec, SpecCoverageOptions& options) {
  auto* coverage = spec.add_subcommand(
      "coverage", "List clauses without a case, operators without a section and dangling links");
  coverage->add_option("folder", options.folder, "The spec (default: this program's own)");
  coverage->add_option("--suite", options.suite, "The folder of cases");
  AddReporting(coverage, "lists", options);
}

void AddSpecNew(CLI::App& spec, SpecNewOptions& options) {
  auto* command =
      spec.add_subcommand("new", "Begin a proposal, an overlay, an operator, a case or a backend");
  command->add_option("kind", options.kind, "What to begin")
      ->required()
      ->check(CLI::IsMember({"proposal", "overlay", "op", "case", "backend"}));
  command->add_option("name", options.name, "A slug, an op_type, or STEM/what_it_shows")
      ->required();
  command->add_option("--folder", options.folder, "The spec (default: this program's own)");
  command->add_option("--suite", options.suite, "The folder of cases (default: beside the spec)");
}

void AddSpecHtml(CLI::App& spec, SpecHtmlOptions& options) {
  auto* command = spec.add_subcommand(
      "html", "Write the text as a site: each clause with its cases, code and results");
  command->add_option("-o,--output", options.output, "Folder of the site, written as a whole")
      ->required();
  auto* reports = command->add_option(
      "--report", options.reports,
      "Results as `qtx validate --json` wrote them (repeatable; default: run the suite)");
  reports->allow_extra_args(false);
  command->add_flag("--no-results", options.no_results, "Run nothing, and show no results")
      ->excludes(reports);
  command->add_option("--spec", options.spec, "Folder of the text (default: the spec of QTX)");
  AddQuiet(command, options.quiet);
}

// The words after help are HelpOf's.
void AddHelp(CLI::App& app, std::string& shell) {
  app.add_subcommand("help", "Show the help of the command that follows, as --help does");
  auto* completion = app.add_subcommand("completion", "Print a script that completes commands");
  completion->add_option("shell", shell, "The shell that reads it")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.add_subcommand("manual", "Print the manual page, for man");
}

// Kills all backends, then ends with the default action.
extern "C" void EndBackends(int signal_number) {
  conformance::KillBackendProcesses();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

// A page of a mapped file is read that the file no longer has.
extern "C" void EndOfCutFile(int signal_number, siginfo_t* info, void* /*context*/) {
  constexpr std::string_view kMessage = ": the file was cut while it was read\n";
  const char* file = format::MappedFileAt(info->si_addr);
  if (file == nullptr) return EndBackends(signal_number);
  conformance::KillBackendProcesses();
  (void)!write(STDERR_FILENO, file, std::strlen(file));
  (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(kBadInput);
}

constexpr std::string_view kNoMemory = "there is not enough memory";

// Takes no memory.
void SayAtOnce(std::string_view words) {
  for (const std::string_view part : {std::string_view("qtx: "), words, std::string_view("\n")})
    (void)!write(STDERR_FILENO, part.data(), part.size());
}

[[noreturn]] void EndAtOnce(std::string_view words) {
  conformance::KillBackendProcesses();
  SayAtOnce(words);
  _exit(kInternal);
}

// Where nobody catches what is thrown: in a destructor, or a thread of a library. Where there is no
// memory for an exception there is none to ask.
[[noreturn]] void EndOfTerminate() {
  try {
    if (std::current_exception() == nullptr) EndAtOnce("there is not enough memory, or a fault");
    std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    EndAtOnce(kNoMemory);
  } catch (const std::exception& error) {
    EndAtOnce(error.what());
  } catch (...) {
    EndAtOnce("an exception of an unknown type");
  }
}

// GMP and MPFR have no way back from an allocation that fails (GMP manual, "Custom Allocation"):
// their own functions abort.
void* OrEnd(void* memory) {
  if (memory == nullptr) EndAtOnce(kNoMemory);
  return memory;
}

void EndInALine() {
  std::set_terminate(EndOfTerminate);
  mp_set_memory_functions(
      [](std::size_t size) { return OrEnd(std::malloc(size)); },
      [](void* memory, std::size_t, std::size_t size) { return OrEnd(std::realloc(memory, size)); },
      [](void* memory, std::size_t) { std::free(memory); });
}

void HandleSignals() {
  conformance::AdoptOrphans();
  struct sigaction cut {};
  cut.sa_sigaction = EndOfCutFile;
  cut.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &cut, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit of its size is an error of write()
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    // Signals that were ignored (nohup, a shell's &) stay ignored.
    if (std::signal(number, EndBackends) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

// Runs a command whose input is `file`, which an error names where memory runs out.
template <typename Options>
int OnFile(const std::string& file, int (*command)(const std::type_identity_t<Options>&),
           const Options& options) {
  try {
    return command(options);
  } catch (const std::bad_alloc&) {
    return Fail(OutOfMemory(file));
  }
}

// In the parser's words, but for --json, which took no file once.
std::string WhatIsWrong(const CLI::Error& error) {
  std::string says = error.what();
  if (says.starts_with("--json:") && says.ends_with(" missing"))
    return "--json: found no file, expected one, or --json - for stdout";
  return says;
}

// The options of all commands.
struct Commands {
  CheckOptions check;
  InspectOptions inspect;
  ConvertOptions convert, lower, lift;
  DiffOptions diff;
  RunOptions run;
  CompareOptions compare;
  CalibrateOptions calibrate;
  QuantizeOptions quantize;
  ValidateOptions validate;
  ServeOptions serve;
  MergeOptions merge;
  ScoreboardOptions scoreboard;
  PowerOptions power;
  IdentifyOptions identify;
  ShrinkOptions shrink;
  FuzzOptions fuzz;
  BenchOptions bench;
  ReviewOptions review;
  SchemaOptions schema;
  SpecRunOptions spec_run;
  SpecHtmlOptions spec_html;
  SpecCoverageOptions spec_coverage;
  SpecNewOptions spec_new;
  std::string shell;           // of `completion`
  std::string sandbox = "on";  // of commands without ProcessLimits
};

// The commands that a command line may end in.
std::vector<CLI::App*> Leaves(CLI::App* app) {
  const std::vector<CLI::App*> children = app->get_subcommands([](CLI::App*) { return true; });
  if (children.empty()) return {app};
  std::vector<CLI::App*> leaves;
  for (CLI::App* child : children) std::ranges::copy(Leaves(child), std::back_inserter(leaves));
  return leaves;
}

// Commands that read what others wrote, and start no other program.
void AddSandboxes(CLI::App& app, std::string& level) {
  constexpr std::string_view kWithout[] = {"help",   "coverage", "completion", "manual",
                                           "schema", "new",      "power",      "html"};
  for (CLI::App* command : Leaves(&app)) {
    const bool without = std::ranges::find(kWithout, command->get_name()) != std::end(kWithout);
    if (without || command->get_option_no_throw("--sandbox") != nullptr) continue;
    AddSandbox(command,
               "on: reads only in the folders of files that the command names, writes only where "
               "they say, without sockets and other programs; strict: or not at all",
               level);
  }
}

void Add(CLI::App& app, Commands& commands) {
  AddCheck(app, commands.check);
  AddInspect(app, commands.inspect);
  AddConversions(app, commands.convert, commands.lower, commands.lift);
  AddDiff(app, commands.diff);
  AddRun(app, commands.run);
  AddCompare(app, commands.compare);
  AddCalibrate(app, commands.calibrate);
  AddQuantize(app, commands.quantize);
  AddValidate(app, commands.validate);
  AddServe(app, commands.serve);
  AddReport(app, commands.merge);
  AddScoreboard(app, commands.scoreboard);
  AddIdentify(app, commands.identify);
  AddPower(app, commands.power);
  AddShrink(app, commands.shrink);
  AddFuzz(app, commands.fuzz);
  AddBench(app, commands.bench);
  AddReview(app, commands.review);
  AddSchema(app, commands.schema);
  CLI::App* spec = AddSpec(app);
  AddSpecRun(*spec, commands.spec_run);
  AddSpecHtml(*spec, commands.spec_html);
  AddSpecCoverage(*spec, commands.spec_coverage);
  AddSpecNew(*spec, commands.spec_new);
  AddHelp(app, commands.shell);
  AddSandboxes(app, commands.sandbox);
}

int PrintDocument(const std::string& text) {
  format::PrintText(stdout, text);
  return kDone;
}

int RunValidate(const ValidateOptions& options) {
  return OnFile(options.suite.empty() ? SuiteFolder() : options.suite,
                options.coverage ? ValidateCoverage : Validate, options);
}

// Confines this process to what the command needs, where its options have --sandbox.
Result<void> ConfineTo(const std::string& name, const CLI::App& command) {
  std::vector<Option> options;
  for (const CLI::Option* option : command.get_options()) {
    std::vector<std::string> values = option->results();
    const std::string unless_given = option->get_default_str();
    if (values.empty() && !unless_given.empty()) values.push_back(unless_given);
    options.push_back({option->get_name(), std::move(values)});
  }
  return Confine(name, options);
}

// Runs the command that was parsed.
int RunCommand(const CLI::App& app, const Commands& c) {
  const std::map<std::string, std::function<int()>> runs = {
      {"manual", [&] { return PrintDocument(ManualPage(app, QTX_VERSION)); }},
      {"completion", [&] { return PrintDocument(*Completion(app, c.shell)); }},
      {"check", [&] { return Check(c.check); }},
      {"inspect", [&] { return OnFile(c.inspect.file, Inspect, c.inspect); }},
      {"convert", [&] { return Convert(c.convert); }},
      {"lower", [&] { return Convert(c.lower); }},
      {"lift", [&] { return Convert(c.lift); }},
      {"diff", [&] { return OnFile(c.diff.a + " and " + c.diff.b, Diff, c.diff); }},
      {"run", [&] { return OnFile(c.run.model, Run, c.run); }},
      {"compare", [&] { return OnFile(c.compare.model, Compare, c.compare); }},
      {"calibrate", [&] { return OnFile(c.calibrate.inputs[0], Calibrate, c.calibrate); }},
      {"quantize", [&] { return OnFile(c.quantize.model, Quantize, c.quantize); }},
      {"validate", [&] { return RunValidate(c.validate); }},
      {"serve", [&] { return Serve(c.serve); }},
      {"report merge", [&] { return ReportMerge(c.merge); }},
      {"scoreboard", [&] { return Scoreboard(c.scoreboard); }},
      {"identify", [&] { return Identify(c.identify); }},
      {"power", [&] { return Power(c.power); }},
      {"shrink", [&] { return Shrink(c.shrink); }},
      {"fuzz", [&] { return Fuzz(c.fuzz); }},
      {"bench", [&] { return Bench(c.bench); }},
      {"review", [&] { return Review(c.review); }},
      {"schema", [&] { return Schema(c.schema); }},
      {"spec run", [&] { return SpecRun(c.spec_run); }},
      {"spec html", [&] { return SpecHtml(c.spec_html); }},
      {"spec coverage", [&] { return SpecCoverage(c.spec_coverage); }},
      {"spec new", [&] { return SpecNew(c.spec_new); }},
  };
  std::string name;
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += (name.empty() ? "" : " ") + command->get_name();
  }
  if (const auto confined = ConfineTo(name, *command); !confined.has_value()) {
    return Fail(AsUsage("--sandbox", confined.error()));
  }
  return runs.at(name)();
}

// The status of what needs no parser: an unknown command, what follows --version, at which the
// parser stops, and `help`, whose words it would take for a second command.
std::optional<int> BeforeParsing(const CLI::App& app, std::span<char* const> words) {
  const auto is = [words](std::size_t i, std::string_view word) { return words[i] == word; };
  if (words.size() > 1 && is(0, "--version")) {
    if (words.size() == 2 && is(1, "--json")) return PrintDocument(VersionJson());
    format::Print(stderr, "qtx: --version: found '{}', expected --json or nothing after it\n",
                  is(1, "--json") ? words[2] : words[1]);
    return kUsage;
  }
  const bool asks_help = !words.empty() && words[0] == std::string_view("help");
  if (asks_help) words = words.subspan(1);
  if (asks_help && words.size() == 1 && words[0] == std::string_view("--help")) words = {};
  if (const auto unknown = UnknownCommand(app, words, asks_help)) {
    format::Print(stderr, "qtx: {} (see qtx --help)\n", *unknown);
    return kUsage;
  }
  if (!asks_help) return std::nullopt;
  return PrintDocument(HelpOf(app, words));
}

int Main(int argc, char** argv) {
  // An error of a parse is the line of Fail; protobuf's own lines would come before it.
  google::protobuf::SetLogHandler(nullptr);
  CLI::App app("Quantized tensors for ONNX: format, exact reference, conformance suite", "qtx");
  app.require_subcommand(1);
  app.set_version_flag("--version", VersionText(),
                       "Print version, commit and features; with --json after it, also how and of "
                       "what the program was built, for programs");
  app.failure_message([](const CLI::App* program, const CLI::Error& error) {
    std::string name = program->get_name();
    for (const CLI::App* command : program->get_subcommands()) name += " " + command->get_name();
    return format::Format("{}: {} (see {} --help)\n", name, WhatIsWrong(error), name).text();
  });
  Commands commands;
  Add(app, commands);
  const std::span<char* const> words(argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0)));
  if (const auto status = BeforeParsing(app, words)) return *status;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  return RunCommand(app, commands);
}

}  // namespace
}  // namespace qtx::cli

int main(int argc, char** argv) {
  try {
    qtx::cli::OpenStandardStreams();
    qtx::cli::HandleSignals();
    qtx::cli::EndInALine();
    return qtx::cli::FlushStdout(qtx::cli::Main(argc, argv));
  } catch (const std::bad_alloc&) {
    qtx::cli::SayAtOnce(qtx::cli::kNoMemory);
    return qtx::cli::kInternal;
  } catch (const std::exception& error) {  // exceptions of libraries
    if (std::ferror(stdout) != 0) return qtx::cli::FlushStdout(qtx::cli::kInternal);
    qtx::format::Print(stderr, "qtx: internal fault: {}\n", error.what());
    return qtx::cli::kInternal;
  }
}
