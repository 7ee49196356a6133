#include "qtx/conformance/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "qtx/conformance/report.h"
#include "qtx/format/model.h"

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kCommit = std::string(40, 'a');

class JournalTest : public testing::Test {
 protected:
  JournalTest()
      : path_((fs::temp_directory_path() / ("qtx_journal_" + std::to_string(getpid()))).string()) {
    fs::remove(path_);
    row_.source = "guest";
    row_.description = {"guest", "1", {"exact"}, "device"};
    row_.arithmetic = "exact";
  }
  ~JournalTest() override { fs::remove(path_); }

  std::string Contents() const { return *format::ReadFile(path_, 1 << 20); }
  void Write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::unique_ptr<Journal> Open() const {
    auto journal = Journal::Open(path_, kCommit);
    EXPECT_TRUE(journal.has_value()) << journal.error().message;
    return journal ? *std::move(journal) : nullptr;
  }
  Error OpenError(const std::string& commit = kCommit) const {
    const auto journal = Journal::Open(path_, commit);
    return journal ? Error{} : journal.error();
  }

  std::string path_;
  BackendReport row_;
};

Case Identity(const std::string& id, const std::string& data = "1, -2") {
  const auto cases = ParseCases("{id: " + id +
                                    ", spec: identity.S1, why: w, op: {type: Identity},"
                                    " inputs: {x: {type: int8q, scale: 1, data: [" +
                                    data +
                                    "]}},"
                                    " expect: {y: {type: int8q, scale: 1, data: [1, -2]}}}\n",
                                "t");
  EXPECT_TRUE(cases.has_value()) << cases.error().message;
  return cases->front();
}

CaseResult Timeout(const std::string& id) {
  CaseResult result;
  result.id = id;
  result.outcome = Outcome::kTimeout;
  result.diagnosis = "late";
  return result;
}

TEST_F(JournalTest, KnowsTheSameCaseOfTheSameBackendAndNoOther) {
  Open()->Append(row_, Identity("a"), Timeout("a"));
  const auto journal = Open();
  const auto known = journal->Find(row_, Identity("a"));
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->outcome, Outcome::kTimeout);
  EXPECT_EQ(known->diagnosis, "late");
  EXPECT_FALSE(journal->Find(row_, Identity("b")).has_value());
  EXPECT_FALSE(journal->Find(row_, Identity("a", "1, -3")).has_value());
  Case tolerant = Identity("a");
  tolerant.ulp = 1;
  EXPECT_FALSE(journal->Find(row_, tolerant).has_value());
  BackendReport newer = row_;
  newer.description.version = "2";
  EXPECT_FALSE(journal->Find(newer, Identity("a")).has_value());
  newer = row_;
  newer.arithmetic = "float32";
  EXPECT_FALSE(journal->Find(newer, Identity("a")).has_value());
}

TEST_F(JournalTest, DoesNotKnowACaseWhoseToleranceChanged) {
  Case close = Identity("a");
  close.close = Closeness{.relative = 1e-3, .absolute = 1e-7, .because = "w"};
  Open()->Append(row_, close, Timeout("a"));
  const auto journal = Open();
  EXPECT_TRUE(journal->Find(row_, close).has_value());
  EXPECT_FALSE(journal->Find(row_, Identity("a")).has_value());
  for (const auto& change : std::vector<void (*)(Case&)>{[](Case& c) { c.close->relative = 1e-4; },
                                                         [](Case& c) { c.close->absolute = 1e-8; },
                                                         [](Case& c) { c.or_exact = true; }}) {
    Case changed = close;
    change(changed);
    EXPECT_FALSE(journal->Find(row_, changed).has_value());
  }
}

// A TensorProto of FLOAT[1] `w` whose bytes are those of the file `weights`.
// Source: onnx.proto3, TensorProto: dims 1, data_type 2, name 8, external_data 13, location 14.
constexpr std::string_view kExternal(
    "\x08\x01\x10\x01\x42\x01w\x6a\x13\x0a\x08location\x12\x07weights\x70\x01");

TEST_F(JournalTest, DoesNotKnowACaseWhoseExternalDataChanged) {
  const std::string weights = (fs::temp_directory_path() / "weights").string();
  const auto fill = [&](const std::string& bytes) {
    std::ofstream(weights, std::ios::binary) << bytes;
  };
  Case c = Identity("a");
  c.op.reset();
  c.inputs.clear();
  c.model = "m.onnx";
  c.load = [](const std::string&) -> Result<format::Model> {
    format::Model model;
    QTX_ASSIGN_OR_RETURN(auto initializer, format::ParseTensorData(kExternal));
    model.graph.initializers = {std::move(initializer)};
    model.folder = fs::temp_directory_path().string();
    return model;
  };
  fill("abcd");
  Open()->Append(row_, c, Timeout("a"));
  const auto journal = Open();
  EXPECT_TRUE(journal->Find(row_, c).has_value());
  fill("abce");
  EXPECT_FALSE(journal->Find(row_, c).has_value());
  fs::remove(weights);
}

TEST_F(JournalTest, DropsALastLineWithoutItsEndAndGoesOnAfterTheOneBefore) {
  Open()->Append(row_, Identity("a"), Timeout("a"));
  const std::string first = Contents();
  Open()->Append(row_, Identity("b"), Timeout("b"));
  const std::string both = Contents();
  for (std::size_t length = first.size() + 1; length < both.size(); ++length) {
    Write(both.substr(0, length));
    const auto journal = Open();
    EXPECT_TRUE(journal->Find(row_, Identity("a")).has_value());
    EXPECT_FALSE(journal->Find(row_, Identity("b")).has_value());
    EXPECT_EQ(Contents(), first);
    journal->Append(row_, Identity("b"), Timeout("b"));
    EXPECT_EQ(Contents(), both);
  }
}

TEST_F(JournalTest, RefusesAndKeepsAFileThatIsNone) {
  for (const char* text :
       {"my thesis", "{\"suite\":1}\n", "[]\n", "{\"key\":\"0\",\"result\":{}}\n"}) {
    Write(text);
    EXPECT_EQ(OpenError().code, ErrorCode::kInvalid) << text;
    EXPECT_EQ(Contents(), text);
  }
  Write("{\"key\":\"0\",\"commit\":\"" + kCommit +
        "\",\"result\":{\"id\":\"a\",\"outcome\":\"odd\"}}\n");
  EXPECT_EQ(OpenError().where, path_ + ":1: outcome");
}

// Another build may compute other expectations.
TEST_F(JournalTest, RefusesResultsOfAnotherCommit) {
  Open()->Append(row_, Identity("a"), Timeout("a"));
  const std::string written = Contents();
  EXPECT_EQ(OpenError("b").Text(),
            path_ + ":1: commit: found " + kCommit + ", expected a result of this program, b");
  EXPECT_EQ(Contents(), written);
}

TEST_F(JournalTest, IsOneRunsAtATime) {
  const auto journal = Open();
  EXPECT_THAT(OpenError().message, HasSubstr("another run"));
}

// Listed failures are applied to what the journal holds, so that a changed list counts.
TEST_F(JournalTest, HoldsWhatTheBackendGaveNotWhatAListMadeOfIt) {
  const std::vector<Case> cases = {Identity("a", "3, 4")};
  BackendSource source = ReferenceSource();
  source.expected_failures = {{"a", "known", "f:1"}};
  RunOptions options;
  options.arithmetics = {"exact"};
  const auto run = [&](const BackendSource& one) {
    const auto journal = Open();
    options.journal = journal.get();
    const Report report = RunSuite("s", cases, std::vector<BackendSource>{one}, options);
    return report.backends.at(0).cases.at(0);
  };
  EXPECT_EQ(run(source).outcome, Outcome::kExpectedFail);
  source.expected_failures.clear();
  const CaseResult resumed = run(source);
  EXPECT_EQ(resumed.outcome, Outcome::kFail);
  EXPECT_TRUE(resumed.evidence.has_value());
  EXPECT_EQ(resumed.spec, "identity.S1");
}

// The bytes that a file may have, until the end of the test; a write beyond them is an error.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// Found by tests/load: a run whose disk was full asked all other cases, and lost their results.
TEST_F(JournalTest, EndsTheRunWhenItCannotBeWritten) {
  std::vector<Case> cases;
  cases.reserve(50);
  for (int i = 0; i < 50; ++i) cases.push_back(Identity("c" + std::to_string(i)));
  const std::vector<BackendSource> sources(2, ReferenceSource());
  int started = 0;
  RunOptions options;
  options.arithmetics = {"exact", "float32"};
  options.started = [&](const std::string&) { ++started; };
  {
    const auto journal = Open();
    options.journal = journal.get();
    const FileSizeLimit limit(1000);
    const Report report = RunSuite("s", cases, sources, options);
    ASSERT_EQ(report.backends.size(), 1);
    EXPECT_EQ(report.backends[0].error->where, path_);
  }
  EXPECT_GT(started, 1);
  EXPECT_LT(started, 10);
  EXPECT_EQ(Contents().size(), 1000);
  const auto journal = Open();
  options.journal = journal.get();
  const Report report = RunSuite("s", cases, sources, options);
  EXPECT_EQ(report.backends.at(0).cases.size(), cases.size());
}

}  // namespace
}  // namespace qtx::conformance
