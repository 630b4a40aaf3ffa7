// Parts by the name that a config gives them: those of the library, and those that a program registers.
#pragma once

#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "htfm/base/api.h"
#include "htfm/base/error.h"

namespace htfm HTFM_PUBLIC {

/// The entry with this name. InputError with the config key and all known names where there is none.
template <class Entries>
const auto& find_named(const Entries& entries, std::string_view name, std::string_view key) {
  std::string known;
  for (const auto& entry : entries) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw InputError("[{}] expected one of {}; got '{}'", key, known, name);
}

/// The entries of a registry at one moment, in the order in which they came. The entries themselves stay as long as the
/// program runs.
template <class Entry>
class EntryList {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = const Entry*;
    using reference = const Entry&;

    Iterator() = default;
    explicit Iterator(const Entry* const* at) : at_(at) {}
    const Entry& operator*() const { return **at_; }
    const Entry* operator->() const { return *at_; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const Entry* const* at_ = nullptr;
  };

  explicit EntryList(std::vector<const Entry*> entries) : entries_(std::move(entries)) {}
  Iterator begin() const { return Iterator(entries_.data()); }
  Iterator end() const { return Iterator(entries_.data() + entries_.size()); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const Entry& operator[](size_t k) const { return *entries_[k]; }

 private:
  std::vector<const Entry*> entries_;
};

/// Whether a name can stand in a config as a key or a value without quotes: letters, digits, '-' and '_'.
bool is_part_name(std::string_view name);

/// Named entries to which a program may add its own, from any thread. Each entry stays where it is.
template <class Entry>
class Registry {
 public:
  explicit Registry(std::vector<Entry> built_in) {
    for (Entry& entry : built_in) entries_.push_back(std::move(entry));
  }
  EntryList<Entry> list() const {
    std::lock_guard lock(mutex_);
    std::vector<const Entry*> out;
    for (const Entry& entry : entries_) out.push_back(&entry);
    return EntryList<Entry>(std::move(out));
  }
  /// `what`: the kind of part, for messages. InputError where the name is no name or taken.
  void add(Entry entry, std::string_view what) {
    if (!is_part_name(entry.name))
      throw InputError("[register_{}] expected a name of letters, digits, '-' and '_', got '{}'", what, entry.name);
    std::lock_guard lock(mutex_);
    for (const Entry& own : entries_)
      if (own.name == entry.name)
        throw InputError("[register_{}] expected a name that is not taken, got '{}'", what, entry.name);
    entries_.push_back(std::move(entry));
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace htfm
