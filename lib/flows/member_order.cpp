#include "flows/member_order.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "safetensors/header.hpp"

namespace clipper {
namespace {

/// The tensor of the result; its elements are placed later.
safetensors::Tensor tensor_of(const MemberUse& use) {
  const Entry& member = *use.member;
  const bool is_clipped = use.action == MemberAction::clipped;
  return {member.name, use.to ? safetensors::type_of(*use.to) : member.type, member.shape, 0,
          is_clipped ? use.clipped_size : member.contents.size};
}

bool keeps_header(const MemberUse& use) {
  return use.action == MemberAction::copied || (use.action == MemberAction::clipped && !use.to);
}

}  // namespace

std::vector<std::byte> arrange_members(const Container& from, std::vector<MemberUse>& uses) {
  if (from.format().is_checked) return {};
  if (std::ranges::all_of(uses, &keeps_header)) {
    std::vector<std::byte> bytes(from.header_size());
    from.file().read_at(bytes, 0);
    return bytes;
  }
  safetensors::Header header{{}, from.metadata()};
  std::vector<MemberUse> dropped;
  std::map<std::string_view, const MemberUse*> by_name;
  for (const MemberUse& use : uses) {
    if (use.action == MemberAction::dropped) {
      dropped.push_back(use);
      continue;
    }
    header.tensors.push_back(tensor_of(use));
    by_name.emplace(use.member->name, &use);
  }
  safetensors::arrange(header.tensors);
  std::vector<MemberUse> arranged;
  for (const safetensors::Tensor& tensor : header.tensors) arranged.push_back(*by_name.at(tensor.name));
  arranged.insert(arranged.end(), dropped.begin(), dropped.end());
  uses = std::move(arranged);
  const std::string text = safetensors::format(header);
  const std::span bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace clipper
