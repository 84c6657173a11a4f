#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace clipper {

/// Tables of counters for many threads. A thread takes a table for itself, increments its counters and gives
/// it back. All tables together take at most kMemory bytes, or there is only one; a thread that finds none
/// waits.
class CounterTables {
  struct Table {
    std::vector<std::uint32_t> counters;
    std::uint64_t increments = 0;  ///< since the counters were 0
    bool taken = false;
  };

 public:
  static constexpr std::size_t kMemory = 8UL << 20;

  /// Tables of `size` counters.
  explicit CounterTables(std::size_t size) : size_(size), totals_(size) {}

  /// A table that a thread has taken; its destructor gives it back.
  class Taken {
   public:
    explicit Taken(CounterTables& tables) : tables_(tables), table_(tables.take()) {}
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    ~Taken() { tables_.give_back(table_); }

    [[nodiscard]] std::uint32_t* counters() const noexcept { return table_.counters.data(); }

    /// To be called with the number of increments, at most kMaxIncrements, before the table is given back.
    void add_increments(std::uint64_t count) const noexcept { table_.increments += count; }

   private:
    CounterTables& tables_;
    Table& table_;
  };

  static constexpr std::uint64_t kMaxIncrements = std::uint64_t{1} << 31;

  /// The sums of all tables' counters. No table may be taken.
  [[nodiscard]] const std::vector<std::uint64_t>& totals();

 private:
  [[nodiscard]] Table& take();
  void give_back(Table& table) noexcept;
  void add_to_totals(Table& table) noexcept;

  std::size_t size_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::deque<Table> tables_;
  std::vector<std::uint64_t> totals_;
};

}  // namespace clipper
