// The ledger: what became of each field, in order of discovery.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/convert/convert.h"

namespace qtx::convert {

class Ledger {
 public:
  explicit Ledger(const Options& options = {})
      : allowed_(options.allow), all_losses_(options.all_losses) {}

  void Kept(std::string value, std::string field) {
    Add(std::move(value), std::move(field), LedgerEntry::Fate::kKept, "");
  }
  void Changed(std::string value, std::string field, std::string why) {
    Add(std::move(value), std::move(field), LedgerEntry::Fate::kChanged, std::move(why));
  }
  void Dropped(std::string value, std::string field, std::string why) {
    Add(std::move(value), std::move(field), LedgerEntry::Fate::kDropped, std::move(why));
  }
  /// Records a dropped field. Errors: kUnsupported, naming value, field and loss, unless `loss` (a
  /// literal, a name of Losses()) is allowed, or all are to be met.
  Result<void> Lose(std::string_view loss, std::string value, std::string field, std::string why) {
    Dropped(std::move(value), std::move(field), std::move(why));
    entries_.back().loss = loss;
    if (all_losses_) return {};
    return RefuseLosses(std::span(&entries_.back(), 1), allowed_);
  }
  std::vector<LedgerEntry> Take() { return std::move(entries_); }

 private:
  void Add(std::string value, std::string field, LedgerEntry::Fate fate, std::string why) {
    entries_.push_back({std::move(value), std::move(field), fate, std::move(why)});
  }
  std::vector<std::string> allowed_;
  bool all_losses_ = false;
  std::vector<LedgerEntry> entries_;
};

}  // namespace qtx::convert
