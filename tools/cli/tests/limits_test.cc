// Runs into each limit of the README's table, which has these rows and no others.
#include <functional>
#include <map>

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
      {"tensor, `.npy` or `.pb`", "2^32 bytes",
       [&] { return "run " + kModel + " --input " + Sparse("t.npy", (kOne << 32) + 1); },
       "at most 4294967296 bytes"},
      {"rank", "16", [&] { return Npy("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"); },
       "more than 16 dimensions"},
      {"table, profile, calibration data, `value_info.json` (`qtx convert`)", "2^28 bytes",
       [&] { return Convert("csv", Sparse("t.csv", (kOne << 28) + 1, text)); },
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
