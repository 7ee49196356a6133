// Runs into each limit of the README's table, which has these rows and no others.
#include <filesystem>
#include <functional>
#include <map>

#include "qtx/format/model.h"
#include "qtx/format/npy.h"
#include "tests/program.h"

namespace qtx::cli::limits_test {
namespace {

constexpr std::uintmax_t kOne = 1;

class Limits : public Program {
 protected:
  // A file of `size` bytes that begins with `bytes`; the rest is a hole, which takes no room.
  std::string Sparse(const std::string& name, std::uintmax_t size,
                     const std::string& bytes = "") const {
    Write(name, bytes);
    std::filesystem::resize_file(Path(name), size);
    return Path(name);
  }
  // A device under a name that says what it is.
  std::string Zeros(const std::string& name) const {
    std::filesystem::create_symlink("/dev/zero", Path(name));
    return Path(name);
  }
  // A suite of one file, which `write` makes under the name that it is given.
  std::string Suite(const std::function<void(const std::string&)>& write) const {
    std::filesystem::create_directories(Path("suite"));
    write("suite/a.yaml");
    return "validate --suite " + Path("suite");
  }
  // What a table or profile says of a model.
  std::string Convert(const std::string& kind, const std::string& file) const {
    return "convert --from " + kind + " " + file + " --with " + kModel + " -o " + Path("o.onnx");
  }
  // A backend that answers its first request, of 3 bytes, with what `printf` makes of `answer`.
  std::string Backend(const std::string& answer) const {
    Write("backend", "head -c 3 >/dev/null\n" + answer + "\nsleep 5\n");
    return "validate --suite " QTX_SOURCE_DIR
           "/conformance/cases/ops/abs --jobs 1 --backend 'cmd:sh " +
           Path("backend") + "'";
  }
  // A model of as many nodes Abs, one after the other, and beside it an input of one element.
  std::string Chain(int nodes) const {
    format::TensorType type;
    type.elem_type = format::ElementType::kFloat;
    type.shape = format::ToShape(format::Dims{1});
    format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}};
    model.graph.name = "g";
    model.graph.inputs = {{.name = "v0", .type = type}};
    for (int i = 0; i < nodes; ++i) {
      model.graph.nodes.push_back({.op_type = "Abs",
                                   .inputs = {"v" + std::to_string(i)},
                                   .outputs = {"v" + std::to_string(i + 1)}});
    }
    model.graph.outputs = {{.name = "v" + std::to_string(nodes), .type = type}};
    Write("x.npy", *format::ToNpy(*format::MakeTensor(format::ElementType::kFloat, {1})));
    return Write("chain.onnx", *model.Serialize());
  }
  // An If of this many levels, each the only node of the one around it.
  std::string Nested(int depth) const {
    format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}};
    model.graph.nodes = {{.op_type = "Abs", .inputs = {"x"}, .outputs = {"y"}}};
    for (int i = 0; i < depth; ++i) {
      format::Attribute branch;
      branch.name = "then_branch";
      branch.type = format::AttributeType::kGraph;
      branch.graphs = {model.graph};
      model.graph.nodes = {
          {.op_type = "If", .inputs = {"c"}, .outputs = {"y"}, .attributes = {branch}}};
    }
    return Write("nested.onnx", *model.Serialize());
  }
  // An initializer in records of this many bytes.
  std::string Records(std::int32_t bytes) const {
    format::ValueInfo info{.name = "w", .type = format::TensorType()};
    info.type->elem_type = format::ElementType::kInt8Q;
    info.type->shape = format::ToShape(format::Dims{1});
    format::EncodedField codes{.elem_type = format::ElementType::kInt8, .bits = {{.width = 8}}};
    info.type->quantization =
        format::Quantization{.scale = {1},
                             .encoding = format::Encoding{
                                 .record_bytes = bytes, .record_shape = {1}, .fields = {codes}}};
    const format::Tensor records = *format::MakeTensor(format::ElementType::kUint8, {bytes});
    format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}, {"qtx", 3, ""}};
    model.graph.initializers = {format::ToTensorData("w", records)};
    model.graph.values = {info};
    return Write("records.onnx", *model.Serialize());
  }
  // A Loop that nothing ends.
  std::string Endless() const {
    const auto value = [](const char* name, format::ElementType type, const format::Dims& dims) {
      format::ValueInfo info{.name = name, .type = format::TensorType()};
      info.type->elem_type = type;
      info.type->shape = format::ToShape(dims);
      return info;
    };
    using enum format::ElementType;
    format::Attribute body;
    body.name = "body";
    body.type = format::AttributeType::kGraph;
    body.graphs.resize(1);
    body.graphs[0].inputs = {value("i", kInt64, {}), value("go", kBool, {}),
                             value("v", kFloat, {1})};
    body.graphs[0].nodes = {{.op_type = "Identity", .inputs = {"go"}, .outputs = {"on"}},
                            {.op_type = "Abs", .inputs = {"v"}, .outputs = {"next"}}};
    body.graphs[0].outputs = {value("on", kBool, {}), value("next", kFloat, {1})};
    format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}};
    model.graph.inputs = {value("x", kFloat, {1})};
    model.graph.nodes = {
        {.op_type = "Loop", .inputs = {"", "", "x"}, .outputs = {"y"}, .attributes = {body}}};
    model.graph.outputs = {value("y", kFloat, {1})};
    Write("x.npy", *format::ToNpy(*format::MakeTensor(format::ElementType::kFloat, {1})));
    return Write("endless.onnx", *model.Serialize());
  }
  // A function that calls itself beside a QuantizeLinear.
  std::string Recursive() const {
    const auto field = [](int number, const std::string& bytes) {
      return static_cast<char>(number << 3 | 2) + std::string(1, static_cast<char>(bytes.size())) +
             bytes;
    };
    const auto node = [&](const std::string& input, const std::string& output,
                          const std::string& op_type, const std::string& domain) {
      return field(7, field(1, input) + field(2, output) + field(4, op_type) + field(7, domain));
    };
    // FunctionProto: name, input, output, nodes, domain.
    const std::string function = field(1, "F") + field(4, "a") + field(5, "b") +
                                 node("a", "q", "QuantizeLinear", "") + node("q", "b", "F", "my") +
                                 field(10, "my");
    format::Model model;
    model.ir_version = 8;
    model.opset_imports = {{"", 17, ""}, {"my", 1, ""}};
    model.graph.nodes = {{.op_type = "F", .domain = "my", .inputs = {"x"}, .outputs = {"y"}}};
    // ModelProto.functions = 25, whose tag takes two bytes.
    model.unknown_fields =
        "\xca\x01" + std::string(1, static_cast<char>(function.size())) + function;
    return Write("recursive.onnx", *model.Serialize());
  }
  // Runs the spec's text with `formula` for that of Abs, whose chapter has `size` bytes if not 0.
  std::string Formula(const std::string& formula, std::uintmax_t size = 0) const {
    namespace fs = std::filesystem;
    fs::create_directories(Path("spec"));
    for (const std::string part : {"format", "arithmetic", "ops"}) {
      fs::copy(fs::path(QTX_SOURCE_DIR "/spec") / part, Path("spec/" + part),
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    }
    Write("spec/ops/abs.md", "# Abs\n\n**abs.S1** x\n\n```formula\n" + formula + "\n```\n");
    if (size > 0) fs::resize_file(Path("spec/ops/abs.md"), size);
    return "run " + Chain(1) + " --input " + Path("x.npy") + " --output-dir " + Path("o") +
           " --backend text:spec=" + Path("spec");
  }
  // A Run with 2^20 + 1 tensors without a field, in the place of a Describe.
  std::string ManyTensors() const {
    std::string tensors;
    for (int i = 0; i <= 1 << 20; ++i) tensors += std::string("\x0a\0", 2);
    // 2^21 + 2 bytes of tensors; with tag and length 2^21 + 7.
    Write("answer", std::string("\x87\x80\x80\x01\x22\x82\x80\x80\x01", 9) + tensors);
    return Backend("cat " + Path("answer"));
  }
  std::string Npy(const std::string& shape) const {
    const std::string header =
        "{'descr': '|u1', 'fortran_order': False, 'shape': (" + shape + "), }\n";
    return "run " + kModel + " --input " +
           Write("x.npy", std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) +
                              '\0' + header);
  }
  // A PNG of 8192 by 8193 pixels, 2^13 more than 2^26, up to its data. The 4 bytes before IDAT's
  // length are the CRC-32 of IHDR, by Python's zlib.crc32.
  std::string Image() const {
    Write("p.yaml", "layout: NCHW\n");
    Write("p.png", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x20\0\0\0\x20\1\x08\2\0\0\0"
                               "\066\224\216\253\0\0\0\1IDAT",
                               41));
    return "calibrate " + kModel + " --data " + Path("p.png") + " --preprocess " + Path("p.yaml") +
           " -o " + Path("o.onnx");
  }

  const std::string kModel = Network("resnet8/model.onnx");
};

struct Row {
  const char* what;
  const char* limit;  // as in the README
  std::function<std::string()> arguments;
  const char* says;
};

// The first two cells of each row of the section's table.
std::map<std::string, std::string> Documented() {
  std::map<std::string, std::string> rows;
  std::istringstream readme(Contents(QTX_SOURCE_DIR "/README.md"));
  std::string line;
  while (std::getline(readme, line) && line != "### Limits") {
  }
  while (std::getline(readme, line) && !line.starts_with("**")) {
    if (!line.starts_with("| ") || line.starts_with("| what")) continue;
    const std::size_t end = line.find(" | ");
    rows[line.substr(2, end - 2)] = line.substr(end + 3, line.find(" |", end + 3) - end - 3);
  }
  return rows;
}

TEST_F(Limits, AreThoseOfTheReadme) {
  const std::string text = "name,elem_type,scale\r\n";
  const Row rows[] = {
      {"model, each file of a model", "2^31 - 1 bytes; weights of any size as external data",
       [&] { return "check " + Sparse("m.onnx", kOne << 31); }, "at most 2147483647 bytes"},
      {"a device (`/dev/...`)", "2^26 bytes",
       [&] { return "run " + kModel + " --input " + Zeros("zero.npy"); }, "at most 67108864 bytes"},
      {"tensor, `.npy` or `.pb`, array of an `.npz`", "2^32 bytes",
       [&] { return "run " + kModel + " --input " + Sparse("t.npy", (kOne << 32) + 1); },
       "at most 4294967296 bytes"},
      {"rank", "16", [&] { return Npy("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"); },
       "more than 16 dimensions"},
      {"table, profile, calibration data, `value_info.json`, Caffe2 net in text (`qtx convert`)",
       "2^28 bytes", [&] { return Convert("csv", Sparse("t.csv", (kOne << 28) + 1, text)); },
       "found 268435457 bytes of text, expected at most 268435456"},
      {"StableHLO program",
       "2^28 bytes; 32 levels, 2^18 operators, 2^26 elements of `dense<value>`",
       [&] {
         return "convert " + Sparse("p.mlir", (kOne << 28) + 1, "module {") +
                " --from stablehlo -o " + Path("o.onnx");
       },
       "found 268435457 bytes of text, expected at most 268435456"},
      {"line of CSV", "2^26 bytes",
       [&] { return Convert("csv", Sparse("l.csv", (kOne << 26) + 100, text)); },
       "line 2: found a line of more than 67108864 bytes"},
      {"JSON of a table: levels", "32",
       [&] { return Convert("json", Write("d.json", "{\"nodes\":" + std::string(32, '['))); },
       "found more than 32 levels"},
      {"JSON of ONNX Runtime and Caffe2: values", "2^24",
       [&] { return Convert("ort", Write("v.json", "{\"data\":[" + std::string(1 << 24, ','))); },
       "at most 32 levels and 16777216 values"},
      {"`--rules`", "2^24 bytes",
       [&] {
         return "quantize " + kModel + " --rules " + Sparse("r.yaml", (kOne << 24) + 1) + " -o " +
                Path("o.onnx");
       },
       "at most 16777216 bytes"},
      {"`--preprocess`", "2^16 bytes",
       [&] {
         return "calibrate " + kModel + " --data " + Path("none") + " --preprocess " +
                Sparse("pre.yaml", (kOne << 16) + 1) + " -o " + Path("o.onnx");
       },
       "at most 65536 bytes"},
      {"`--expected-failures`", "2^20 bytes",
       [&] { return "validate --expected-failures " + Sparse("f.txt", (kOne << 20) + 1); },
       "at most 1048576 bytes"},
      {"`--expected-failures`: lines with `*` or `?`", "1024",
       [&] {
         std::string globs;
         for (int i = 0; i <= 1024; ++i) globs += "*" + std::to_string(i) + " # why\n";
         return "validate --expected-failures " + Write("globs.txt", globs);
       },
       "globs.txt:1025: expected at most 1024 lines"},
      {"chapter of the spec (`text:spec=`)", "2^22 bytes",
       [&] { return Formula("y = x", (kOne << 22) + 1); }, "at most 4194304 bytes"},
      {"formula", "2^14 bytes, 64 levels, 2^12 terms",
       [&] { return Formula("y = " + std::string(65, '(') + "x" + std::string(65, ')')); },
       "abs.md:6:69: expected at most 64 levels of brackets"},
      {"number in a formula", "64 characters, exponent 4096",
       [&] { return Formula("y = " + std::string(65, '1')); },
       "abs.md:6:5: found a number of 65 characters, expected at most 64"},
      {"computation of a formula", "2^22 steps an element; lists of 2^16, calls 512 deep",
       [&] { return Formula("y = sum(k < 10000000: 1)"); },
       "expected at most 4194304 steps for an element"},
      {"file of cases (YAML)", "2^22 bytes",
       [&] { return Suite([&](const auto& name) { Sparse(name, (kOne << 22) + 1); }); },
       "at most 4194304 bytes"},
      {"YAML of cases: levels", "16",
       [&] {
         return Suite([&](const auto& name) {
           Write(name, "id: " + std::string(40, '[') + std::string(40, ']'));
         });
       },
       "deeper than 16 levels"},
      {"the text's answers (`text_answers.txt`)", "2^24 bytes",
       [&] {
         return Suite([&](const auto& name) {
           Write(
               name,
               "{id: a, spec: identity.S1, why: w, op: {type: Identity}, inputs: {x: {type: int8, "
               "data: [1]}}, expect: {y: {type: int8}}}");
           Sparse("suite/text_answers.txt", (kOne << 24) + 1);
         });
       },
       "at most 16777216 bytes"},
      {"JSON report (`qtx report merge`)", "2^28 bytes",
       [&] { return "report merge " + Sparse("r.json", (kOne << 28) + 1); },
       "at most 268435456 bytes"},
      {"line of a `--resume` journal", "2^26 bytes",
       [&] { return "validate --resume " + Sparse("j", (kOne << 26) + 1); },
       "found a line of more than 67108864 bytes"},
      {"PNG, JPEG", "2^28 bytes",
       [&] {
         const std::string command = Image();
         Sparse("p.png", (kOne << 28) + 1);
         return command;
       },
       "at most 268435456 bytes"},
      {"pixels of an image", "2^26", [&] { return Image(); },
       "found 8192 by 8193 pixels, expected at most 67108864"},
      {"frame of the backend protocol", "2^30 bytes",
       [&] { return Backend("printf '\\201\\200\\200\\200\\004'"); },
       "found a frame longer than 1073741824 bytes"},
      {"answer of a backend to `Run`", "2^28 bytes; `--frame-limit` raises it",
       [&] { return Backend("printf '\\201\\200\\200\\200\\001\\042'"); },
       "found a frame of 268435457 bytes, expected at most 268435456; --frame-limit raises it"},
      {"tensors of a `Run`", "2^20", [&] { return ManyTensors(); },
       "response.run.outputs: expected at most 1048576 tensors"},
      {"any other answer of a backend", "2^20 bytes",
       [&] { return Backend("printf '\\201\\200\\100\\022'"); },
       "found a frame of 1048577 bytes, expected at most 1048576"},
      // Describe {name: 257 times "a", arithmetics: "exact"}.
      {"name of a backend or of its arithmetics", "256 bytes",
       [&] {
         return Backend("printf '\\216\\002\\022\\213\\002\\012\\201\\002%0257d\\032\\005exact' 0");
       },
       "response.describe.name: found 257 bytes, expected at most 256"},
      // Error {message: 65537 times "0"}.
      {"other text of a backend", "65536 bytes",
       [&] {
         return Backend(
             "printf '\\211\\200\\004\\012\\205\\200\\004\\032\\201\\200\\004%065537d' 0");
       },
       "response.error: found 65537 bytes, expected at most 65536"},
      {"bins of a histogram (`qtx calibrate`)", "2^20",
       [&] { return "calibrate " + kModel + " --data x --histogram 1048577 -o " + Path("o.onnx"); },
       "1048576"},
      {"bins of all values of a graph (`qtx calibrate`)", "2^29",
       [&] {
         return "calibrate " + Chain(600) + " --histogram 1048576 --data " + Path("x.npy") +
                " -o " + Path("o.onnx");
       },
       "found 601 values of 1048576 bins each, expected at most 536870912 bins"},
      {"graphs within graphs (bodies of If, Loop, ...)", "8 below the model's graph",
       [&] { return "check " + Nested(9); }, "found a graph within more than 8 others"},
      {"bodies that a run of a model runs (`qtx run`)", "2^16 times",
       [&] {
         return "run " + Endless() + " --input " + Path("x.npy") + " --output-dir " + Path("o");
       },
       "bodies would run more than 65536 times"},
      {"record of an encoded initializer", "4096 bytes, 2^15 elements, 9 fields of 64 spans",
       [&] { return "check " + Records(4097); }, "found 4097, expected 1 to 4096"},
      {"NNEF graph",
       "2^28 bytes; lists 16 deep, 2^18 operations, 2^24 values; fragments 16 deep; 2^30 bytes of "
       "a tar by gzip",
       [&] {
         return "convert " + Sparse("graph.nnef", (kOne << 28) + 1, "version 1.0;") + " -o " +
                Path("o.onnx");
       },
       "found 268435457 bytes of text, expected at most 268435456"},
      {"header of safetensors", "10^8 bytes, 2^24 values; 4,096 files of one model",
       [&] {
         // 100,000,001 and the beginning of a header.
         const std::string bytes("\x01\xe1\xf5\x05\0\0\0\0{", 9);
         return "convert " + Write("h.safetensors", bytes + std::string(99, ' ')) + " -o " +
                Path("o.onnx");
       },
       "found a length of 100000001, expected at most 100000000 bytes"},
      {"header of GGUF", "2^28 bytes, 2^16 entries, 2^18 tensors, arrays 8 deep",
       [&] {
         // Version 3, no tensor, one entry: the key 'k', a text (type 8) of 2^28 bytes.
         const std::string bytes(
             "GGUF\3\0\0\0"
             "\0\0\0\0\0\0\0\0"
             "\1\0\0\0\0\0\0\0"
             "\1\0\0\0\0\0\0\0k"
             "\x8\0\0\0"
             "\0\0\0\x10\0\0\0\0",
             45);
         return "convert " + Sparse("h.gguf", (kOne << 28) + 45, bytes) + " -o " + Path("o.onnx");
       },
       "key 'k': byte 45: expected a header of at most 268435456 bytes"},
      {"functions of a model, where they are expanded", "2^17 nodes, 2^31 bytes, calls 8 deep",
       [&] { return "convert " + Recursive() + " -o " + Path("o.onnx"); },
       "found functions that call each other more than 8 deep"},
  };
  std::map<std::string, std::string> tested;
  for (const Row& row : rows) {
    tested[row.what] = row.limit;
    const Outcome outcome = Run(row.arguments());
    EXPECT_NE((outcome.out + outcome.err).find(row.says), std::string::npos)
        << row.what << ": " << outcome.status << ": " << outcome.out << outcome.err;
    EXPECT_NE(outcome.status, 0) << row.what;
    EXPECT_NE(outcome.status, 4) << row.what;
  }
  EXPECT_EQ(Documented(), tested);
}

}  // namespace
}  // namespace qtx::cli::limits_test
