/// The functions of fmt, compiled once into the library. Debian has fmt only as headers and as a shared
/// library, which would delay the start of every run. format-inl.h defines the functions; the templates that
/// <fmt/format.h> declares without a definition are instantiated here, as fmt's own library does.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
#if FMT_VERSION < 110100  // a plain function in later versions
template void vformat_to(buffer<char>&, string_view, format_args, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
