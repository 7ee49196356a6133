// The subcommands of `qtx`: options in, exit status out. main.cc parses the command line into
// these.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::cli {

// Source: the exit statuses every subcommand keeps to, README "Exit status".
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;    // a check or a case failed
inline constexpr int kUsage = 2;     // the command line is wrong
inline constexpr int kBadInput = 3;  // a file the user gave is missing, malformed or unsupported
inline constexpr int kInternal = 4;  // an output, the system, a backend or this program has failed
inline constexpr int kInterrupted = 130;  // SIGINT, after which results were kept

/// Prints `where: message` on one line of stderr and returns the status that the code stands for.
int Fail(const Error& error);

/// `error`, of the value of `option`: kUsage if the value is invalid or unsupported.
Error AsUsage(const std::string& option, Error error);

/// `error`, of a request to `backend`: at the backend where that has failed, has ended, is late or
/// breaks the protocol, else at `model`.
Error OfRequest(const std::string& backend, const std::string& model, Error error);

/// Memory has run out for what `file` describes.
Error OutOfMemory(const std::string& file);

/// The options of every command that tells a result.
struct Reporting {
  std::string json;    // file of the result as JSON; "-": stdout, in place of text; empty: none
  bool quiet = false;  // no text on stdout, no progress
  bool SaysText() const { return !quiet && json != "-"; }
};

/// Where a command whose result goes to `output` says its text: stderr if that is stdout ("-").
inline std::FILE* TextStream(const std::string& output) { return output == "-" ? stderr : stdout; }

/// Writes the document that --json asks for, and returns `status`; that of Fail where it cannot.
int Finish(const Reporting& options, int status, const std::function<std::string()>& document);

struct CheckOptions : Reporting {
  std::vector<std::string> files;
  std::vector<std::string> features;  // features of proposals to turn on
};
int Check(const CheckOptions& options);

struct InspectOptions : Reporting {
  std::string file;
  std::string html;       // file of the page; empty: none
  bool findings = false;  // also report findings, for which weights are read
};
int Inspect(const InspectOptions& options);

struct ConvertOptions : Reporting {
  std::vector<std::string> inputs;
  std::vector<std::string> with;   // further files that belong to the input
  std::string output;              // a folder, for several inputs
  std::string from;                // a kind of convert.h; empty: detected
  std::string to;                  // a kind of convert.h; empty: by the extension of the output
  std::vector<std::string> allow;  // losses of convert.h
  std::string eight_bits;  // "int8" or "uint8": target of all 8-bit values; empty: unchanged
  bool integer_only = false;
  bool repack = false;        // a GGUF file as ordinary tensors
  bool weights_only = false;  // a GGUF file without the graph of its architecture
  bool infer = false;         // an ONNX model as it is, with the types that follow
  std::string restore;        // likewise, with what this older file of it has; empty: no such
  std::int64_t opset = 0;
  std::string subgraph;  // of a TFLite file; empty: the first
  bool ledger = false;   // print every entry, no summary
};
int Convert(const ConvertOptions& options);

struct DiffOptions : Reporting {
  std::string a, b;
};
/// kFailed when they differ.
int Diff(const DiffOptions& options);

/// The options of every command that may start a backend in a process of its own.
struct ProcessLimits {
  std::string sandbox = "on";         // or "off" or "strict"
  std::vector<std::string> readable;  // files and folders that a strict one permits besides
};

struct RunOptions : Reporting, ProcessLimits {
  std::string model;
  std::vector<std::string> inputs;  // NAME=FILE, or FILE for a single input
  std::string output_dir = ".";
  std::string arithmetic = "exact";
  std::string profile;                        // arithmetics of the nodes; reference only
  std::vector<std::string> node_arithmetics;  // NODE=NAME
  std::string backend = "reference";
  double timeout_seconds = 60;  // of a request
  std::int64_t frame_limit_mib = conformance::kFrameBytes >> 20;
  std::vector<std::string> features;  // as of CheckOptions; reference only
  bool counters = false;              // of the reference, on stderr
  bool node_times = false;            // of the backend's nodes, on stdout
};
int Run(const RunOptions& options);

struct CompareOptions : Reporting, ProcessLimits {
  std::string model;
  std::vector<std::string> inputs;  // as of RunOptions
  std::vector<std::string> backends = {"reference"};
  std::vector<std::string> arithmetics;  // of each backend; empty: its first
  bool all = false;                      // print values without a difference, too
  double timeout_seconds = 60;           // of a request
  std::int64_t frame_limit_mib = conformance::kFrameBytes >> 20;
};
int Compare(const CompareOptions& options);

struct CalibrateOptions : Reporting {
  std::vector<std::string> inputs;  // the model; with `merge` calibrated ones
  bool merge = false;
  std::string output;
  std::vector<std::string> data;  // folders and files
  std::vector<std::string> shapes;
  std::string preprocess;
  bool per_axis = false;
  std::int64_t axis = 1;
  std::int64_t bins = 2048;  // 0: no histograms
  int threads = 0;           // 0: as many as cores
  std::string shard;         // "I/N"; empty: what Bazel's or GoogleTest's environment says
  std::string on_error = "stop";
  std::string resume;  // journal
  std::string gram;    // output of sums X^T X; empty: none
  double journal_seconds = 5;
};
int Calibrate(const CalibrateOptions& options);

struct QuantizeOptions : Reporting {
  std::string model;
  std::string from;  // a kind of convert.h; empty: detected
  std::vector<std::string> with;
  std::string output;
  std::string activations = "int8:asymmetric";
  std::string weights = "int8:symmetric:per-axis";
  std::string range = "minmax", weight_range = "minmax";
  std::string rules;
  std::string io = "float";
  bool equalize = false, correct_bias = false, act_order = false;
  std::string method = "nearest", awq = "none", gram;
  std::string target;             // an error or a size; empty: none
  std::vector<std::string> data;  // folders and files
  std::vector<std::string> shapes;
  std::string preprocess;
  std::string report;   // path; empty: none
  bool ledger = false;  // print every entry, no summary
};
int Quantize(const QuantizeOptions& options);

struct ValidateOptions : Reporting, ProcessLimits {
  std::vector<std::string> backends;  // empty: every available one
  std::string suite;                  // empty: the suite QTX comes with
  std::vector<std::string> filters;   // empty: every case
  std::string level;
  std::string profile;  // empty: every arithmetic of a case
  std::string arithmetic;
  std::string shard;  // "I/N"; empty: what Bazel's or GoogleTest's environment says
  int jobs = 0;       // 0: as many as cores
  double timeout_seconds = 60;
  std::int64_t memory_limit_mib = 0;  // 0: none
  std::int64_t frame_limit_mib = conformance::kFrameBytes >> 20;
  bool isolate = false;
  std::vector<std::string> features;  // as of CheckOptions: what cases are held to
  std::string junit, html, expected_failures, resume;
  bool strict_expectations = false;
  double min_coverage = 0;  // percent
  bool coverage = false;    // runs nothing: lists what has no case
};
int Validate(const ValidateOptions& options);
int ValidateCoverage(const ValidateOptions& options);  // of `suite`, with `json`

struct ServeOptions {
  std::string backend;
  std::vector<std::string> features,
      without;  // features of the reference to turn on, and promoted ones to turn off
};
int Serve(const ServeOptions& options);

struct MergeOptions : Reporting {
  std::vector<std::string> reports;
  std::string junit, html;
};
int ReportMerge(const MergeOptions& options);

struct ScoreboardOptions {
  bool quiet = false;
  std::vector<std::string> reports;  // of `validate --json`
  std::string output;                // a folder
  std::string deviations;            // a folder; empty: none
};
int Scoreboard(const ScoreboardOptions& options);

struct IdentifyOptions : Reporting, ProcessLimits {
  std::string backend;
  std::string suite;            // empty: the suite QTX comes with
  double timeout_seconds = 60;  // of a request
};
/// kFailed if an operator matches no named arithmetic.
int Identify(const IdentifyOptions& options);

struct PowerOptions : Reporting {
  std::string suite;             // empty: the suite QTX comes with
  std::string filter = "*";      // of faults
  std::string onnx_node_tests;   // ONNX's data/node; empty: where Debian puts it, if it is there
  int jobs = 0;                  // 0: as many as cores
  bool mutants = false;          // instead of faults; `filter` is then of their files
  std::string level;             // of cases against mutants; empty: all
  std::string part;              // "I/N" of the faults; empty: all
  bool all_that_notice = false;  // list every case that notices a mutant that level `core` misses
};
int Power(const PowerOptions& options);
int PowerOfMutants(const PowerOptions& options);

struct ShrinkOptions : Reporting, ProcessLimits {
  std::string backend;
  std::string arithmetic;           // empty: the backend's first
  std::string case_id;              // a case of the suite,
  std::string suite;                // empty: the suite QTX comes with
  std::string model;                // or a model, with inputs
  std::vector<std::string> inputs;  // NAME=FILE, or FILE for a single input
  std::string output;
  std::int64_t max_runs = 5000;
  double timeout_seconds = 10;  // of a request
};
int Shrink(const ShrinkOptions& options);

struct FuzzOptions : Reporting, ProcessLimits {
  std::string backend;
  std::string arithmetic;  // empty: the backend's first
  double minutes = 0;      // either this
  std::int64_t cases = 0;  // or number of models; neither: one minute
  std::int64_t only = 0;   // the number of one model
  std::uint64_t seed = 1;
  std::string output;  // empty: nothing is written
  std::string operators = "*";
  std::string shard;            // "I/N"; empty: by the environment
  std::string resume;           // a journal; empty: none
  double timeout_seconds = 10;  // of a request
};
int Fuzz(const FuzzOptions& options);

struct BenchOptions : Reporting, ProcessLimits {
  std::vector<std::string> backends;  // empty: every one that is built in
  std::vector<std::string> filters;   // empty: every workload
  std::vector<std::string> types;     // empty: all
  std::vector<int> threads;           // empty: one, and as many as cores
  std::string models;                 // folder of further networks
  std::string arithmetic = "exact";   // of contenders that have it
  std::string profile;                // of contenders without `exact`; empty: their arithmetic
  double seconds = 0.03;              // of a backend's turn
  int rounds = 7;
  double longest = 5;           // seconds of one run that is still measured
  double timeout_seconds = 20;  // of a request
  bool unchecked = false;       // results are not compared with the reference's
  bool list = false;            // measures nothing: lists the workloads
  bool node_times = false;      // races nothing: measures the nodes of each workload
  std::string svg;
};
/// kFailed when a backend that claims `exact` is not exact or does not answer.
int Bench(const BenchOptions& options);

struct ReviewOptions : Reporting, ProcessLimits {
  std::string proposal;               // NNNN, or its folder
  std::string models;                 // a folder; empty: none
  std::vector<std::string> backends;  // empty: every available one
  std::string suite;                  // empty: the suite QTX comes with
  std::string html;
  int jobs = 0;               // 0: as many as cores
  double model_seconds = 20;  // of each model under each feature set
  bool all = false;           // of an overlay: every case it can change
  double seconds = 10;        // of an overlay: no case is begun after these
};
/// kFailed when an example has another result than it states, or a claim a counterexample.
int Review(const ReviewOptions& options);

struct SpecRunOptions : Reporting {
  std::string path;                   // a file or folder of the spec; empty: all of it
  std::vector<std::string> features;  // of proposals, on
  bool all = false;                   // the text's answers to the suite, by the backend `text`
  bool write = false;
  std::string part;   // "I/N"; empty: all of it
  std::string suite;  // empty: that of this program
};
/// The answers of the backend `text` to the cases, compared with the suite's file of them.
int SpecRunAll(const SpecRunOptions& options);
int SpecRun(const SpecRunOptions& options);

struct SpecCoverageOptions : Reporting {
  std::string folder;  // of the spec; empty: the one of this program
  std::string suite;   // likewise
};
/// kFailed when a clause has no case or a reference dangles.
int SpecCoverage(const SpecCoverageOptions& options);

struct SpecNewOptions {
  std::string kind;  // "proposal", "overlay", "op", "case" or "backend"
  std::string name;
  std::string folder;  // of the spec
  std::string suite;   // the folder of cases; empty: the one beside the spec
};
int SpecNew(const SpecNewOptions& options);

struct SchemaOptions {
  std::string name;  // of a document; empty: the names are listed
};
int Schema(const SchemaOptions& options);

struct SpecHtmlOptions {
  bool quiet = false;
  std::string output;                // a folder
  std::string spec;                  // the text's folder; empty: the spec QTX comes with
  std::vector<std::string> reports;  // of `validate --json`; empty: the suite is run
  bool no_results = false;           // runs and reads no results
};
int SpecHtml(const SpecHtmlOptions& options);

}  // namespace qtx::cli
