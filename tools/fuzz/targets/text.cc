// The text: Markdown, formulas, proposals and what they change.
#include "qtx/formula/text.h"

#include <array>

#include "proto_change.h"
#include "qtx/formula/computation.h"
#include "qtx/formula/parser.h"
#include "qtx/site/markdown.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/document.h"
#include "qtx/spec/formula.h"
#include "qtx/spec/proposal.h"
#include "target.h"

namespace qtx::fuzz {
namespace {

void Formulas(std::string_view, const std::string& bytes) {
  site::ToHtml(bytes);
  const auto document = spec::ParseDocument(bytes, "fuzz");
  if (!Answered(document)) return;
  for (const spec::Section& section : document->sections) document->Text(section);
  for (const spec::Fence& fence : document->fences) document->ClauseAbove(fence.line);
  Answered(spec::ExamplesOf(*document));
  Answered(spec::ReadFormulas(*document));
}

// A chapter of the operator Relu whose formula is `bytes`, evaluated on four elements.
void Expression(std::string_view, const std::string& bytes) {
  const auto statements = formula::ParseFormula(bytes, "fuzz");
  const auto html = spec::FormulaToHtml(bytes);
  if (!Answered(statements)) return;
  Answered(html);
  formula::Text text;
  static const format::Node node = [] {
    format::Node made;
    made.op_type = "Relu";
    made.inputs = {"x"};
    made.outputs = {"y"};
    return made;
  }();
  static const format::Tensor x = [] {
    auto made = format::MakeTensor(format::ElementType::kInt8, {2, 2});
    for (std::size_t i = 0; i < made->bytes.size(); ++i)
      made->bytes[i] = static_cast<std::byte>(90 * i);
    return *made;
  }();
  const formula::Formula stated{
      .clause = "relu.S1", .where = "fuzz", .line = 1, .of = "Relu", .statements = *statements};
  formula::Call call;
  call.node = &node;
  call.schema = text.FindSchema("", "Relu");
  call.opset = 17;
  call.inputs = {&x};
  call.outputs = {{.given = true, .type = format::ElementType::kInt8, .dims = x.dims}};
  Answered(formula::ComputeBy(text, stated, call, "exact"));
}

void Chapter(std::string_view, const std::string& bytes) {
  const std::array chapters = {formula::Chapter{"ops/relu.md", bytes}};
  Answered(formula::Text::Parse(chapters));
}

// A chapter laid over the text, in each of the folders that an overlay has.
void Overlay(std::string_view, const std::string& bytes) {
  const std::array folders = {"arithmetic/exact.md", "format/new_type.md", "ops/relu.md"};
  const char* const path = folders[bytes.size() % folders.size()];
  const std::array chapters = {formula::Chapter{path, bytes}};
  const auto text = formula::Text::WithOverlay(chapters);
  if (Answered(text)) spec::NamesOf(*text);
}

void Diff(std::string_view, const std::string& bytes) {
  const auto document =
      spec::ParseDocument("## Change to the proto\n\n```diff\n" + bytes + "\n```\n", "fuzz");
  if (Answered(document)) Answered(spec::ReadProtoChange(*document));
}

// proposal.md and one file of examples, which follow a line of its own.
void Proposal(std::string_view, const std::string& bytes) {
  static const InputFolder folder;
  static const std::vector<std::string> clauses = {"add.S2", "relu.S1", "exact.S1"};
  constexpr std::string_view kMark = "\n@@@\n";
  const std::string_view text = bytes;
  const std::size_t mark = text.find(kMark);
  folder.Write("0099-fuzz/proposal.md", text.substr(0, mark));
  folder.Write("0099-fuzz/examples/fuzz.yaml",
               mark == text.npos ? "" : text.substr(mark + kMark.size()));
  Answered(spec::LoadProposal(folder.path() + "/0099-fuzz", clauses));
}

constexpr std::array kTargets = {
    Target{"formulas", &Formulas}, Target{"expression", &Expression},
    Target{"chapter", &Chapter},   Target{"overlay", &Overlay},
    Target{"diff", &Diff},         Target{"proposal", &Proposal},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace qtx::fuzz
