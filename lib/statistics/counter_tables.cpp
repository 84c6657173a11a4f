#include "statistics/counter_tables.hpp"

#include <algorithm>

namespace clipper {

CounterTables::Table& CounterTables::take() {
  std::unique_lock lock(mutex_);
  for (;;) {
    for (Table& table : tables_)
      if (!table.taken) {
        table.taken = true;
        return table;
      }
    if (tables_.empty() || (tables_.size() + 1) * size_ * sizeof(std::uint32_t) <= kMemory) {
      tables_.push_back({std::vector<std::uint32_t>(size_), 0, true});
      return tables_.back();
    }
    given_back_.wait(lock);
  }
}

void CounterTables::give_back(Table& table) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (table.increments >= kMaxIncrements) add_to_totals(table);  // before a counter can overflow
    table.taken = false;
  }
  given_back_.notify_one();
}

void CounterTables::add_to_totals(Table& table) noexcept {
  for (std::size_t i = 0; i < size_; ++i) totals_[i] += table.counters[i];
  std::ranges::fill(table.counters, 0U);
  table.increments = 0;
}

const std::vector<std::uint64_t>& CounterTables::totals() {
  for (Table& table : tables_) add_to_totals(table);
  return totals_;
}

}  // namespace clipper
