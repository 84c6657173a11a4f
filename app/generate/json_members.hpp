#pragma once

#include <array>
#include <string_view>

namespace clipper {

/// What clipper prints with `--json`, for the manual. data/clipper.schema.json says the same, with types: a
/// test compares the two.
struct JsonObject {
  std::string_view name;  ///< in the schema: "clip"
  std::string_view meaning;
};

struct JsonMember {
  std::string_view object;  ///< JsonObject::name
  std::string_view name;    ///< "shard.index" is a member of the object `shard`, or of the objects in a list
  std::string_view meaning;
};

inline constexpr std::array kJsonObjects{
    JsonObject{
        "clip",
        "Printed by clipper for each FILE, when the file is done or has failed; for an archive that is "
        "done, for each of its members in order"},
    JsonObject{"info",
               "Printed by clipper info for each FILE; for an archive, for each of its members in order"},
    JsonObject{"compare", "Printed by clipper compare for each pair of files, and by clipper --verify"},
    JsonObject{"error",
               "Printed by any command for an error that belongs to no file, such as a wrong option or a "
               "list that cannot be read"},
    JsonObject{"profiles", "Printed by clipper profiles: one object for each profile"},
    JsonObject{"slabs", "The file OUT.json that --split-output writes beside the parts of OUT"},
};

inline constexpr std::string_view kVersionMeaning =
    "Version of this format: 2. Changes that break readers raise it; new members do not";

/// In the order in which they are printed.
inline constexpr std::array kJsonMembers{
    JsonMember{"clip", "version", kVersionMeaning},
    JsonMember{"clip", "input", "Path of the input as given; - is standard input"},
    JsonMember{"clip", "input_bytes", "Bytes of input in base64; only if they are not UTF-8"},
    JsonMember{"clip", "output",
               "Path of the output; with --in-place the same as input; - is standard output; absent if there "
               "can be none: for a directory, and for a member with --output-dir"},
    JsonMember{"clip", "output_bytes", "Bytes of output in base64; only if they are not UTF-8"},
    JsonMember{"clip", "status", "Exit status for this file alone; 0 if it succeeded"},
    JsonMember{"clip", "error",
               "Why it failed: the message that standard error has. Only if status is not 0"},
    JsonMember{"clip", "written", "Whether a new output is in place"},
    JsonMember{"clip", "dry_run", "Whether --dry-run was given: nothing is written"},
    JsonMember{"clip", "resumed",
               "Whether the run finished a --direct run that was interrupted; there are no counts then"},
    JsonMember{"clip", "profile", "Profile whose rules were applied"},
    JsonMember{"clip", "member", "Of an archive: name of the member; absent if the archive failed"},
    JsonMember{"clip", "member_bytes", "Bytes of member in base64; only if they are not UTF-8"},
    JsonMember{"clip", "action", "What was done to the member"},
    JsonMember{"clip", "reason", "Why the member was not clipped; absent if it was"},
    JsonMember{"clip", "members", "0 for an archive without members; otherwise absent"},
    JsonMember{"clip", "dtype", "dtype of the tensor; absent for a member that was not clipped"},
    JsonMember{"clip", "shape", "Shape of the tensor"},
    JsonMember{"clip", "fortran_order", "Whether the tensor is stored in Fortran order (first axis fastest)"},
    JsonMember{"clip", "byte_order",
               "Byte order of the elements; for dtypes of one byte, that of this machine"},
    JsonMember{"clip", "elements", "Number of elements; with --shard of one tensor, those of the shard"},
    JsonMember{"clip", "bytes", "Size of these elements in bytes"},
    JsonMember{"clip", "min",
               "Lower bound, converted to dtype, also if it exceeds max; -inf or the lowest integer if there "
               "is none; for an array, its file and shape"},
    JsonMember{"clip", "max",
               "Upper bound, converted to dtype, also if min exceeds it; inf or the highest integer if there "
               "is none; for an array, its file and shape"},
    JsonMember{"clip", "scale", "If --scale is an array, its file and shape; absent for a number"},
    JsonMember{"clip", "bias", "If --bias is an array, its file and shape; absent for a number"},
    JsonMember{
        "clip", "notes",
        "Warnings about the bounds, such as \"--min 1.5 becomes 1 for int32\"; absent if there are none"},
    JsonMember{"clip", "shard", "With --shard of one tensor: which part this object is about"},
    JsonMember{"clip", "shard.index", "K of --shard K/N, from 0"},
    JsonMember{"clip", "shard.count", "N of --shard K/N"},
    JsonMember{"clip", "raised",
               "Number of elements whose x * scale + bias, before its conversion to dtype, is less than min; "
               "without min, less than the lowest value of dtype"},
    JsonMember{"clip", "lowered",
               "Number of elements whose x * scale + bias, before its conversion to dtype, is greater than "
               "max; without max, greater than the highest value of dtype"},
    JsonMember{"clip", "nan", "Number of elements that are NaN after scale and bias"},
    JsonMember{"clip", "changed", "Whether any bit of the data changes"},
    JsonMember{"clip", "seconds", "How long the file took; of a member, the time since the one before it"},
    JsonMember{"info", "version", kVersionMeaning},
    JsonMember{"info", "input", "Path of the file as given; - is standard input"},
    JsonMember{"info", "input_bytes", "Bytes of input in base64; only if they are not UTF-8"},
    JsonMember{"info", "member", "Of an archive: name of the member; absent if the archive failed"},
    JsonMember{"info", "member_bytes", "Bytes of member in base64; only if they are not UTF-8"},
    JsonMember{"info", "status", "Exit status for this file or member alone; 0 if it succeeded"},
    JsonMember{"info", "error",
               "Why it failed: the message that standard error has. The members below are then absent"},
    JsonMember{"info", "members", "0 for an archive without members; otherwise absent"},
    JsonMember{"info", "compression", "Of a member of an archive: how it is compressed"},
    JsonMember{"info", "compressed_bytes", "Of a member of an archive: the bytes that it takes there"},
    JsonMember{"info", "other",
               "What a member of an archive is that is no tensor that clipper reads: bool, structured, not "
               ".npy, and so on. The members below are then absent"},
    JsonMember{"info", "npy_version", "Version of the .npy format"},
    JsonMember{"info", "dtype", "dtype of the tensor"},
    JsonMember{"info", "byte_order",
               "Byte order of the elements; for dtypes of one byte, that of this machine"},
    JsonMember{"info", "shape", "Shape of the tensor"},
    JsonMember{"info", "fortran_order", "Whether the tensor is stored in Fortran order (first axis fastest)"},
    JsonMember{"info", "elements", "Number of elements: the product of shape"},
    JsonMember{"info", "header_bytes", "Size of the header in bytes; the data begin after it"},
    JsonMember{"info", "bytes", "Size of the data in bytes"},
    JsonMember{"info", "statistics", "With --stats, --percentile, --min or --max: what the elements are"},
    JsonMember{"info", "statistics.min", "Lowest element that is not NaN; null if there is none"},
    JsonMember{"info", "statistics.max", "Highest element that is not NaN; null if there is none"},
    JsonMember{"info", "statistics.mean",
               "Mean of the finite elements, rounded to float64; null if there are none"},
    JsonMember{
        "info", "statistics.standard_deviation",
        "Population standard deviation of the finite elements, rounded to float64; null if there are none"},
    JsonMember{"info", "statistics.median",
               "Median of the elements that are not NaN, of integers cut off toward zero; null if there are "
               "none, or if the file is a stream"},
    JsonMember{"info", "statistics.percentiles", "One object for each number of --percentile, in that order"},
    JsonMember{"info", "statistics.percentiles.percent", "The number, from 0 to 100"},
    JsonMember{"info", "statistics.percentiles.value",
               "The percentile: the value below which this share of the elements lies, of integers cut off "
               "toward zero; null if all elements are NaN"},
    JsonMember{"info", "statistics.nan", "Number of NaN elements"},
    JsonMember{"info", "statistics.positive_infinity", "Number of elements that are inf"},
    JsonMember{"info", "statistics.negative_infinity", "Number of elements that are -inf"},
    JsonMember{"info", "statistics.histogram",
               "Histogram of the finite elements, as numpy.histogram returns it; both lists are empty if "
               "there are none"},
    JsonMember{"info", "statistics.histogram.edges", "Edges of the bins, ascending; one more than counts"},
    JsonMember{"info", "statistics.histogram.counts",
               "counts[i] is the number of elements from edges[i] to below edges[i + 1]"},
    JsonMember{"info", "statistics.bounds", "How many elements a clip to --min and --max would change"},
    JsonMember{
        "info", "statistics.bounds.min",
        "--min as given, or the element of its @FILE; for an array, its file and shape; null without --min"},
    JsonMember{
        "info", "statistics.bounds.max",
        "--max as given, or the element of its @FILE; for an array, its file and shape; null without --max"},
    JsonMember{"info", "statistics.bounds.below", "Number of elements less than min"},
    JsonMember{"info", "statistics.bounds.above", "Number of elements greater than max"},
    JsonMember{"compare", "version", kVersionMeaning},
    JsonMember{"compare", "actual",
               "Path of ACTUAL; for directories, of the file below it; with --verify the input"},
    JsonMember{"compare", "actual_bytes", "Bytes of actual in base64; only if they are not UTF-8"},
    JsonMember{"compare", "expected",
               "Path of EXPECTED; for directories, of the file below it; with --verify the golden file"},
    JsonMember{"compare", "expected_bytes", "Bytes of expected in base64; only if they are not UTF-8"},
    JsonMember{"compare", "member",
               "Of two archives: name of the member in both; absent if one of the archives failed"},
    JsonMember{"compare", "member_bytes", "Bytes of member in base64; only if they are not UTF-8"},
    JsonMember{"compare", "status",
               "0 if the files match within the tolerances, 1 if they differ, otherwise the exit status of "
               "the error"},
    JsonMember{"compare", "notes",
               "With --verify: warnings about the bounds, such as \"--min 1.5 becomes 1 for int32\"; absent "
               "if there are none"},
    JsonMember{"compare", "error",
               "Why the files could not be compared: the message that standard error has. The members below "
               "are then absent"},
    JsonMember{"compare", "reason",
               "Why the files cannot match at all: a missing file, another dtype or shape. The members below "
               "are then absent"},
    JsonMember{"compare", "members",
               "0 for two archives without members; otherwise absent. The members below are then absent"},
    JsonMember{"compare", "dtype",
               "dtype of both tensors; uint8 for bytes: with --bytes, and for members that are no tensors"},
    JsonMember{"compare", "shape", "Shape of both tensors; [number of bytes] for bytes"},
    JsonMember{"compare", "compared", "Number of elements compared"},
    JsonMember{"compare", "mismatches", "Number of elements that do not match"},
    JsonMember{"compare", "largest",
               "The largest difference, whether it is tolerated or not; null if no elements differ"},
    JsonMember{"compare", "largest.difference", "Absolute difference of the two elements"},
    JsonMember{"compare", "largest.index", "Index of the element, one number for each axis"},
    JsonMember{
        "compare", "passes_with",
        "Tolerances, each of which alone would let all mismatches pass; null if there are no mismatches"},
    JsonMember{"compare", "passes_with.atol", "Smallest --atol that would do; null if none would"},
    JsonMember{"compare", "passes_with.ulp", "Smallest --ulp that would do; null if none would"},
    JsonMember{
        "compare", "first",
        "The first mismatches in the memory order of EXPECTED, as many as --show says and at least one"},
    JsonMember{"compare", "first.index", "Index of the element, one number for each axis"},
    JsonMember{"compare", "first.actual", "Element of ACTUAL"},
    JsonMember{"compare", "first.expected", "Element of EXPECTED"},
    JsonMember{"compare", "first.difference", "Absolute difference; null if one of the elements is NaN"},
    JsonMember{
        "compare", "first.ulp",
        "Number of representable values from one element to the other; null unless both are finite floats"},
    JsonMember{"error", "version", kVersionMeaning},
    JsonMember{"error", "status", "Exit status of the program"},
    JsonMember{"error", "error", "The message that standard error has"},
    JsonMember{"profiles", "name", "Name that --profile takes"},
    JsonMember{"profiles", "family", "Name that --profile takes for the newest profile of this system"},
    JsonMember{"profiles", "system", "System and version whose rules these are"},
    JsonMember{"profiles", "dtypes", "dtypes that a tensor may have"},
    JsonMember{"profiles", "min_rank", "Lowest number of axes that a tensor may have"},
    JsonMember{"profiles", "max_rank", "Highest number of axes that a tensor may have"},
    JsonMember{"profiles", "bounds", "Whether --min and --max must be given"},
    JsonMember{"profiles", "absent_bound",
               "Value of a bound that is not given: none, the finite limits of float32, or those of the "
               "tensor's dtype"},
    JsonMember{"profiles", "bound_text_to",
               "Type to which a bound is rounded before it is converted to the tensor's dtype"},
    JsonMember{"profiles", "inexact_integer_bound",
               "What happens to a bound that an integer dtype cannot hold: its fraction is cut off, it moves "
               "inward (min up, max down), or it is an error"},
    JsonMember{"profiles", "min_above_max",
               "What happens if min exceeds max: an error, or all elements become min or max"},
    JsonMember{"profiles", "nan_bound",
               "What happens to a bound that is NaN: an error, or the bound is ignored"},
    JsonMember{"profiles", "scale_bias",
               "Whether --scale and --bias are allowed: yes, rounded to float32, or no"},
    JsonMember{"slabs", "version",
               "Version of OUT.json: 1. Changes that break readers raise it; new members do not"},
    JsonMember{"slabs", "dtype", "dtype of all parts"},
    JsonMember{"slabs", "shape", "Shape of the whole tensor"},
    JsonMember{"slabs", "fortran_order", "Always false: the parts are in C order"},
    JsonMember{"slabs", "axis", "Axis along which the tensor is split: always 0"},
    JsonMember{"slabs", "plan",
               "What decides the bytes of the parts; --split-output refuses to mix parts of several plans"},
    JsonMember{"slabs", "slabs", "The parts in order"},
    JsonMember{"slabs", "slabs.file", "Name of the part's file, in the directory of OUT.json"},
    JsonMember{"slabs", "slabs.file_bytes", "Bytes of file in base64; only if they are not UTF-8"},
    JsonMember{"slabs", "slabs.begin", "First index of the part along axis"},
    JsonMember{"slabs", "slabs.end", "Index after the last one of the part along axis"},
};

}  // namespace clipper
