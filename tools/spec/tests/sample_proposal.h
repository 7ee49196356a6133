// A proposal in a folder of the test's own, sound until a test breaks it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "qtx/spec/proposal.h"

namespace qtx::spec {

// 2.5 is a tie and 3 odd: rounded first 2 + 3, added first 5.5, to even 6.
inline constexpr const char* kSampleExample = R"(id: offset_before_rounding/tie
spec: exact.S1
why: tells the two orders apart
op: {type: Cast, attributes: {to: int8q}}
inputs: {x: {type: float, data: [2.5]}}
before: {y: {type: int8q, scale: [1.0], offset: [3], data: [5]}}
expect: {y: {type: int8q, scale: [1.0], offset: [3], data: [6]}}
)";

inline std::string SampleText() {
  std::string text =
      "# 0003: A title\n\n| | |\n|---|---|\n| status | rejected |\n"
      "| feature | offset-before-rounding |\n| version | 1 |\n| date | 2026-11-22 |\n";
  for (const std::string_view section : kProposalSections) {
    text += "\n## " + std::string(section) + "\n\nText.\n";
  }
  return text + "\n**exact.S90** a clause of the proposal's own\n";
}

class SampleProposal : public testing::Test {
 protected:
  SampleProposal()
      : root_(std::filesystem::temp_directory_path() /
              ("qtx_spec_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(std::filesystem::path(Folder()) / "examples");
    Write("proposal.md", SampleText());
    Write("examples/one.yaml", kSampleExample);
  }
  ~SampleProposal() override { std::filesystem::remove_all(root_); }

  std::string Proposals() const { return (root_ / "proposals").string(); }
  std::string Folder() const { return Proposals() + "/0003-offset-before-rounding"; }
  std::string Path(const std::string& name) const { return Folder() + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  // A file with `from`, which is there once, replaced.
  void Change(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = name == "proposal.md" ? SampleText() : kSampleExample;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    Write(name, text.replace(at, from.size(), to));
  }
  Result<Proposal> Load() const { return LoadProposal(Folder(), kClauses); }
  // "where: message", the folder left out.
  std::string ErrorText() const {
    auto proposal = Load();
    if (!proposal.has_value()) return Text(proposal.error());
    const auto checked = CheckExamples(*proposal);
    return checked.has_value() ? "no error" : Text(checked.error());
  }
  std::string Text(const Error& error) const {
    std::string text = error.where + ": " + error.message;
    for (std::size_t at; (at = text.find(Folder() + "/")) != std::string::npos;) {
      text.erase(at, Folder().size() + 1);
    }
    return text;
  }

  const std::array<std::string, 3> kClauses = {"exact.S1", "float32.S1", "quantization.C2"};
  std::filesystem::path root_;
};

}  // namespace qtx::spec
