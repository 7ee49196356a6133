// The command line: every option is declared here and nowhere else.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "commands.h"

namespace qtx::cli {
namespace {

void AddCheck(CLI::App& app, CheckOptions& options) {
  auto* command = app.add_subcommand("check", "Apply every rule of the spec to models");
  command->add_option("files", options.files, "ONNX models")->required();
  command->add_flag("--json", options.json, "Findings as JSON on stdout");
}

void AddInspect(CLI::App& app, InspectOptions& options) {
  auto* command = app.add_subcommand("inspect", "Show values, types, parameters, statistics");
  command->add_option("file", options.file, "An ONNX model")->required();
  command->add_flag("--json", options.json, "The same for programs");
}

void AddConversions(CLI::App& app, ConvertOptions& convert, ConvertOptions& lower,
                    ConvertOptions& lift) {
  auto add = [&app](const char* name, const char* help, ConvertOptions& options) {
    auto* command = app.add_subcommand(name, help);
    command->add_option("input", options.input, "The model to convert")->required();
    command->add_option("-o,--output", options.output, "Where the result is written")->required();
    command->add_flag("--json", options.json, "The ledger as JSON on stdout");
    return command;
  };
  auto* command = add("convert", "Convert a model to the extended form, or out of it", convert);
  command->add_option("--from", convert.from, "Kind of the input (default: detected)")
      ->check(CLI::IsMember({"tflite", "qdq", "qtx"}));
  command->add_option("--to", convert.to, "Kind of the output")
      ->check(CLI::IsMember({"qtx", "qdq"}))
      ->capture_default_str();
  command->add_option("--opset", convert.opset,
                      "ai.onnx opset of QDQ output (default: the smallest)");
  command = add("lower", "The extended form to stock QDQ ONNX", lower);
  command->add_option("--opset", lower.opset, "ai.onnx opset (default: the smallest that fits)");
  add("lift", "Stock QDQ ONNX to the extended form", lift);
  lower.from = "qtx";
  lower.to = "qdq";
  lift.from = "qdq";
}

void AddRun(CLI::App& app, RunOptions& options) {
  auto* command = app.add_subcommand("run", "Run a model on a backend");
  command->add_option("model", options.model, "A model in the extended form, or QDQ ONNX")
      ->required();
  command->add_option("--input", options.inputs,
                      "NAME=FILE (.npy or .pb); a single input needs no NAME");
  command
      ->add_option("--output-dir", options.output_dir, "Where NAME.npy is written for each output")
      ->capture_default_str();
  command->add_option("--arithmetic", options.arithmetic, "Named arithmetic")
      ->capture_default_str();
  command->add_option("--node-arithmetic", options.node_arithmetics,
                      "NODE=NAME: another arithmetic for one node (reference only; repeatable)");
  command->add_option("--backend", options.backend, "Built-in name or 'cmd:PROGRAM ARGS'")
      ->capture_default_str();
  command->add_flag("--counters", options.counters,
                    "How many results were rounded, and how many by the exact fallback, on stderr");
  command->add_flag("--json", options.json, "Outputs and counters as JSON on stdout");
}

void AddValidate(CLI::App& app, ValidateOptions& options) {
  auto* command = app.add_subcommand("validate", "Run the conformance suite against backends");
  command->add_option("--backend", options.backends,
                      "Built-in name or 'cmd:PROGRAM ARGS' (default: every available one)");
  command->add_option("--suite", options.suite, "Folder of cases (default: QTX's own)");
  command->add_option("--filter", options.filter, "Glob on case ids")->capture_default_str();
  command->add_option("--level", options.level, "Only cases of this level");
  command->add_option("--arithmetic", options.arithmetic, "Only this arithmetic");
  command->add_option("--shard", options.shard, "I/N: the I-th of N parts (1-based)");
  command->add_option("--jobs", options.jobs, "Parallel jobs (default: cores)");
  command->add_option("--timeout", options.timeout_seconds, "Seconds a backend has for one request")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command->add_option("--json", options.json, "Report as JSON to this file ('-': stdout)");
  command->add_option("--junit", options.junit, "Report as JUnit XML to this file");
  command->add_option("--html", options.html, "Report as one offline HTML page to this file");
  command->add_option("--expected-failures", options.expected_failures,
                      "File of case ids that are known to fail, each with its reason");
}

void AddShrink(CLI::App& app, ShrinkOptions& options) {
  auto* command = app.add_subcommand(
      "shrink", "Reduce a failing case or network to a folder that reproduces it");
  command->add_option("--backend", options.backend, "Built-in name or 'cmd:PROGRAM ARGS'")
      ->required();
  command->add_option("--arithmetic", options.arithmetic, "Default: the backend's first");
  auto* id = command->add_option("--case", options.case_id, "The id of a case");
  command->add_option("--suite", options.suite, "Its folder (default: QTX's own)");
  command->add_option("--model", options.model, "Or a model, with its inputs")->excludes(id);
  command->add_option("--input", options.inputs,
                      "NAME=FILE (.npy or .pb); a single input needs no NAME");
  command->add_option("-o,--output", options.output, "The folder to write")->required();
  command->add_option("--max-runs", options.max_runs, "Runs of the backend it may take")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--timeout", options.timeout_seconds, "Seconds a backend has for one request")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
}

void AddFuzz(CLI::App& app, FuzzOptions& options) {
  auto* command =
      app.add_subcommand("fuzz", "Compare a backend with the reference on random models");
  command->add_option("--backend", options.backend, "Built-in name or 'cmd:PROGRAM ARGS'")
      ->required();
  command->add_option("--arithmetic", options.arithmetic, "Default: the backend's first");
  auto* minutes = command->add_option("--minutes", options.minutes, "How long (default: 1)")
                      ->check(CLI::Range(0.001, 100000.0));
  auto* cases = command->add_option("--cases", options.cases, "Or how many models")
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
  command->add_option("--timeout", options.timeout_seconds, "Seconds a backend has for one request")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
}

void AddPower(CLI::App& app, PowerOptions& options) {
  auto* command = app.add_subcommand("power", "Run the suite against backends with known faults");
  command->add_option("--suite", options.suite, "Folder of cases (default: QTX's own)");
  command->add_option("--filter", options.filter, "Glob on the names of faults")
      ->capture_default_str();
  command->add_option("--onnx-node-tests", options.onnx_node_tests,
                      "ONNX's folder data/node, for comparison (default: Debian's, if installed)");
  command->add_option("--jobs", options.jobs, "Parallel jobs (default: cores)");
  command->add_option("--json", options.json, "Report as JSON to this file ('-': stdout)");
}

void AddSpec(CLI::App& app, SpecOptions& options) {
  auto* command = app.add_subcommand("spec", "The spec's own examples");
  command->require_subcommand(1);
  auto* run =
      command->add_subcommand("run", "Run every example and compare with what the text says");
  run->add_option("path", options.path, "A Markdown file or folder (default: the whole spec)");
}

int Main(int argc, char** argv) {
  CLI::App app("Quantized tensors for ONNX: format, exact reference, conformance suite", "qtx");
  app.require_subcommand(1);
  app.set_version_flag("--version", QTX_VERSION);
  app.failure_message([](const CLI::App* program, const CLI::Error& error) {
    std::string name = program->get_name();
    for (const CLI::App* command : program->get_subcommands()) name += " " + command->get_name();
    return name + ": " + error.what() + " (see " + name + " --help)\n";
  });
  CheckOptions check;
  InspectOptions inspect;
  ConvertOptions convert, lower, lift;
  RunOptions run;
  ValidateOptions validate;
  ShrinkOptions shrink;
  FuzzOptions fuzz;
  PowerOptions power;
  SpecOptions spec;
  AddCheck(app, check);
  AddInspect(app, inspect);
  AddConversions(app, convert, lower, lift);
  AddRun(app, run);
  AddValidate(app, validate);
  AddShrink(app, shrink);
  AddFuzz(app, fuzz);
  AddPower(app, power);
  AddSpec(app, spec);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  if (app.got_subcommand("check")) return Check(check);
  if (app.got_subcommand("inspect")) return Inspect(inspect);
  if (app.got_subcommand("convert")) return Convert(convert);
  if (app.got_subcommand("lower")) return Convert(lower);
  if (app.got_subcommand("lift")) return Convert(lift);
  if (app.got_subcommand("run")) return Run(run);
  if (app.got_subcommand("validate")) return Validate(validate);
  if (app.got_subcommand("shrink")) return Shrink(shrink);
  if (app.got_subcommand("fuzz")) return Fuzz(fuzz);
  if (app.got_subcommand("power")) return Power(power);
  return SpecRun(spec);
}

}  // namespace
}  // namespace qtx::cli

int main(int argc, char** argv) {
  try {
    const int status = qtx::cli::Main(argc, argv);
    if (std::fflush(stdout) == 0) return status;
    std::cerr << "stdout: " << std::strerror(errno) << '\n';
    return qtx::cli::kInternal;
  } catch (const std::exception& error) {  // bad_alloc and what libraries throw
    std::cerr << "qtx: internal fault: " << error.what() << '\n';
    return qtx::cli::kInternal;
  }
}
