// The files of an NNEF model: a folder with graph.nnef, or a tar of one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "qtx/convert/convert.h"

namespace qtx::convert::nnef {

inline constexpr std::string_view kGraphFile = "graph.nnef";
inline constexpr std::string_view kQuantFile = "graph.quant";

class Files {
 public:
  /// Borrows `source`.  Errors: kInvalid for a broken tar, naming the byte of its entry.
  static Result<Files> Of(const Source& source);

  /// The text of the graph, and the name of its file.
  std::string_view graph() const { return graph_; }
  const std::string& graph_name() const { return graph_name_; }

  /// A file beside the graph; nullopt where there is none.
  /// Errors: kInvalid for a name that leaves the folder; those of FileBytes::Open.
  Result<std::optional<format::FileBytes>> Open(const std::string& name) const;

 private:
  std::string_view graph_;
  std::string graph_name_;
  std::string folder_;                                              // of a folder
  std::optional<std::map<std::string, std::string_view>> entries_;  // of a tar
};

/// A tar of files, in POSIX's ustar form without times and owners, so that equal models are equal
/// bytes.  Errors: kUnsupported for names past 100 bytes and files past 8 GiB.
Result<std::vector<format::Piece>> TarOf(const std::vector<OutputFile>& files);

/// Whether a source is a tar whose entries are named as those of an NNEF model.
bool IsTarOfGraph(std::string_view bytes);

}  // namespace qtx::convert::nnef
