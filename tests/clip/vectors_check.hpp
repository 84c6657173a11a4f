#pragma once

#include "clip/clip.hpp"
#include "clip/clip_check.hpp"
#include "clip/reference_clip.hpp"

/// Runs the kernels for vectors of parameters and compares the results with the oracle's, which clips one
/// element at a time.
namespace clipper::cases {

/// The operation of each element. All have the dtype and arithmetic of the first one, and a nan
/// if the first one has it.
using Operations = std::vector<Operation>;

/// The Operands of operations. The memory of each vector ends with its last number, so that
/// AddressSanitizer finds a read beyond it; the first number is `offset` numbers after the memory's
/// beginning.
class Vectors {
 public:
  Vectors(const Operations& ops, std::size_t offset) : offset_(offset), count_(ops.size()) {
    for (const Operation& op : ops) {
      add_element(op.dtype, op.lo, lo_);
      add_element(op.dtype, op.hi, hi_);
      if (op.nan) add_element(op.dtype, *op.nan, nan_);
      switch (op.arithmetic) {
        case Arithmetic::none: break;
        case Arithmetic::float32:
          add(static_cast<float>(op.scale.head), scale_);
          add(static_cast<float>(op.bias.head), bias_);
          break;
        case Arithmetic::float64:
          add(op.scale.head, scale_);
          add(op.bias.head, bias_);
          break;
        case Arithmetic::integer:
          add(SignedInteger::of(op.scale), scale_);
          add(SignedInteger::of(op.bias), bias_);
          break;
      }
    }
  }

  [[nodiscard]] Operands get() const {
    Operands operands;
    for (const auto& [slot, memory] :
         {std::pair(Slot::lo, &lo_), std::pair(Slot::hi, &hi_), std::pair(Slot::nan, &nan_),
          std::pair(Slot::scale, &scale_), std::pair(Slot::bias, &bias_)})
      if (!memory->bytes.empty()) operands[slot] = {memory->bytes.data() + memory->start, memory->size};
    return operands;
  }

 private:
  struct Memory {
    std::vector<std::byte> bytes;
    std::size_t start = 0;
    std::size_t size = 0;
  };

  std::byte* grow(std::size_t size, Memory& to) const {
    if (to.bytes.empty()) {
      to.size = size;
      to.start = offset_ * size;
      to.bytes.reserve(to.start + count_ * size);
      to.bytes.resize(to.start);
    }
    to.bytes.resize(to.bytes.size() + size);
    return to.bytes.data() + to.bytes.size() - size;
  }
  void add_element(DType dtype, ElementBits bits, Memory& to) const {
    reference::store(dtype, kNativeOrder, bits, grow(traits(dtype).size, to));
  }
  template <class Number>
  void add(const Number& number, Memory& to) const {
    std::memcpy(grow(sizeof number, to), &number, sizeof number);
  }

  std::size_t offset_;
  std::size_t count_;
  Memory lo_;
  Memory hi_;
  Memory nan_;
  Memory scale_;
  Memory bias_;
};

/// What the oracle makes of elements, each with its operation.
struct Expected {
  std::vector<ElementBits> elements;
  ElementCounts counts;
};

inline Expected expected(const Operations& ops, std::span<const ElementBits> elements) {
  Expected result;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    result.elements.push_back(reference::clip(ops[i], elements[i]));
    result.counts += reference::count(ops[i], elements.subspan(i, 1), {&result.elements.back(), 1});
  }
  return result;
}

/// Where elements and parameters are in memory, in elements after an aligned address.
struct Offsets {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t parameters = 0;
};

/// Describes what is wrong with the kernels' results and counts at any level, or says "nothing".
inline std::string what_is_wrong_with_vectors(const Operations& ops, std::span<const ElementBits> elements,
                                              const Offsets& offsets) {
  const Operation first = ops.empty() ? Operation{} : ops.front();
  const Expected expect = expected(ops, elements);
  const Vectors vectors(ops, offsets.parameters);
  const Memory source{first, elements, offsets.from};
  for (const SimdLevel level : simd_levels())
    for (const bool in_place : {false, true})
      for (const bool counting : {false, true}) {
        Memory read = source;
        Memory apart{first, elements.size(), offsets.to};
        Memory& written = in_place ? read : apart;
        ElementCounts found = expect.counts;
        // Of the operation, the numbers do not count.
        Operation op;
        op.dtype = first.dtype;
        op.arithmetic = first.arithmetic;
        op.zero_tie = first.zero_tie;
        op.poisons = first.poisons;
        if (counting)
          found = clip_and_count(op, vectors.get(), read.data(), written.data(), elements.size(), level);
        else
          clip(op, vectors.get(), read.data(), written.data(), elements.size(), level);
        const std::string where = std::string(to_string(level)) + (in_place ? " in place" : " apart") +
                                  (counting ? " counting" : "") + ": ";
        if (found != expect.counts)
          return where + reference::text(found) + ", not " + reference::text(expect.counts);
        if (!in_place && read != source) return where + "the source has changed";
        if (written == Memory{first, expect.elements, in_place ? offsets.from : offsets.to}) continue;
        for (std::size_t i = 0; i < elements.size(); ++i) {
          const Case one{ops[i], {&elements[i], 1}, {&expect.elements[i], 1}};
          Memory result{first, 1, 0};
          std::memcpy(result.data(), written.data() + i * traits(first.dtype).size, traits(first.dtype).size);
          const std::string wrong = what_is_wrong(one, level, result, {first, one.expected, 0});
          if (wrong != "nothing") return where + "number " + std::to_string(i) + ": " + wrong;
        }
        return where + "something was written outside the elements";
      }
  return "nothing";
}

}  // namespace clipper::cases
