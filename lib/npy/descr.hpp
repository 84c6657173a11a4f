#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "npy/dict.hpp"
#include "npy/header.hpp"

namespace clipper::npy {

/// Sets what the descriptor says in the header: dtype, byte order, meaning, `stored_as` or `other`. The other
/// parameters are those of parse().
void read_descr(const Descr& descr, const GivenDType& given, Opaque opaque, Types types,
                std::string_view python, Header& header);

}  // namespace clipper::npy
