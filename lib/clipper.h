/* Clips, compares and describes tensors: the interface for C99 and for every language that can call C.

       clipper_request *request = clipper_request_new();
       clipper_request_set(request, "min", "1%");
       clipper_request_set(request, "max", "6");
       if (clipper_clip_file(request, "in.npy", "out.npy", NULL) != CLIPPER_OK)
         puts(clipper_last_error_message());
       clipper_request_free(request);

   Results. Most functions return CLIPPER_OK or one of the numbers below it; all but CLIPPER_CANCELLED are exit statuses of the program.
   clipper_last_error_message() then says why. No function throws, prints, exits or installs a signal handler. A null pointer
   is refused with CLIPPER_USAGE unless a comment allows it; clipper cannot see whether other pointers are valid. A null request
   is a new one, which changes nothing and has the defaults.

   ABI, while the library is libclipper.so.0.1. Functions and constants are added, never removed or changed; unknown results are
   failures. A structure that begins with `size` grows at its end: the caller sets `size` to sizeof the structure, and the library
   reads and writes no byte beyond that. Other structures never change. There are no enums; words and numbers are texts, which
   the library interprets as the program does.

   Threads. All functions may be called from several threads at once. A request may be used by many calls at once, but not while it
   is set or freed. A prepared clip may be used by many calls at once. Other threads help with large work until the call returns (see <clipper/clipper.hpp>); clipper_request_set(request, "threads", "1")
   starts none. Inside of a tbb::task_arena the threads are those of that arena. */
#ifndef CLIPPER_CLIPPER_H
#define CLIPPER_CLIPPER_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header, 0.1.0: major * 10000 + minor * 100 + patch. */
#define CLIPPER_VERSION_NUMBER 100

#define CLIPPER_OK 0
#define CLIPPER_DIFFERENT 1   /* tensors that are compared differ: the message is a report, in lines */
#define CLIPPER_USAGE 2       /* the request or an argument is wrong */
#define CLIPPER_INPUT 3       /* the input is malformed, or the profile does not take such a tensor */
#define CLIPPER_IO 4          /* the system refused a read, a write or memory */
#define CLIPPER_REFUSED 5     /* refused to avoid data loss */
#define CLIPPER_NOT_DURABLE 6 /* the output is complete, but may not survive a power cut */
#define CLIPPER_CANCELLED 7   /* clipper_request_stop() has ended the work: files are as after any other failure */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A tensor in memory that is read, in this machine's byte order unless its dtype begins with '<' or '>'. */
typedef struct clipper_tensor {
  size_t size;            /* sizeof(clipper_tensor) */
  const char *dtype;      /* "float32", "<f4", "bf16": what `clipper --to` takes */
  size_t rank;            /* 0 to 64 */
  const int64_t *shape;   /* `rank` sizes, each 0 or more; may be null for rank 0 */
  const int64_t *strides; /* bytes from an element to the next along each axis; null: the last axis is contiguous, then the next */
  const void *data;       /* the first element, [0, 0, ...]; may be null without elements */
} clipper_tensor;

/* The same for a tensor that is written. No two elements may share a byte, as with a stride of 0: CLIPPER_USAGE. */
typedef struct clipper_writable_tensor {
  size_t size; /* sizeof(clipper_writable_tensor) */
  const char *dtype;
  size_t rank;
  const int64_t *shape;
  const int64_t *strides;
  void *data;
} clipper_writable_tensor;

/* What the header of a file says. */
typedef struct clipper_layout {
  size_t size;      /* sizeof(clipper_layout) */
  char dtype[32];   /* clipper's name of it: "float32", "bool", "datetime64[ns]" */
  size_t rank;
  int64_t shape[64];
  uint64_t elements;
  int fortran_order; /* 1 if the first axis is contiguous, not the last one */
  int big_endian;    /* 1 if elements have this byte order; 0 for elements of one byte */
} clipper_layout;

/* What clipping did to the elements; <clipper/clipper.hpp> has the whole rules. */
typedef struct clipper_counts {
  size_t size; /* sizeof(clipper_counts) */
  uint64_t elements;
  uint64_t raised;
  uint64_t lowered;
  uint64_t nan;
  uint64_t changed; /* 1 if an element has other bits or another dtype; otherwise 0 */
  uint64_t replaced;
  uint64_t became_infinite;
  uint64_t became_zero;
  uint64_t nodata;
  uint64_t became_nodata;
  struct clipper_counts *next; /* of the next stage, written like this one; null: not told */
} clipper_counts;

typedef struct clipper_comparison {
  size_t size; /* sizeof(clipper_comparison) */
  uint64_t compared;
  uint64_t mismatches;
  double largest; /* the largest absolute difference, NaN left out */
} clipper_comparison;

/* A number, or none: then `value` is NaN and `bits` is 0. A percentile or median of integers that has a fraction is a float64. */
typedef struct clipper_element {
  double value;  /* rounded for 64-bit integers */
  uint64_t bits; /* of the element or float64, zero-extended: its exact value */
} clipper_element;

typedef struct clipper_statistics {
  size_t size; /* sizeof(clipper_statistics) */
  uint64_t count;
  uint64_t nan;
  uint64_t positive_infinite;
  uint64_t negative_infinite;
  clipper_element min; /* infinities included */
  clipper_element max;
  clipper_element median;
  double mean; /* of the finite elements; NaN if there are none */
  double standard_deviation;
} clipper_statistics;

/* The version of the library: "0.1.0", and CLIPPER_VERSION_NUMBER as it was compiled. */
const char *clipper_version(void);
int clipper_version_number(void);

/* About the last function of this thread that failed: its result; one line that names the file and the offending value, or the
   report of a comparison; the name in the request that the line is about, or "". They live until the thread's next failure. */
int clipper_last_error_kind(void);
const char *clipper_last_error_message(void);
const char *clipper_last_error_field(void);

/* The names of all profiles, as texts for "profile"; null from the first index on that has none. */
const char *clipper_profile_name(size_t index);

/* Clipper's name of a dtype, and the bytes of an element, which `size` may be null for: "float32" for "<f4". Null, which sets the
   last error, for unknown and ambiguous names such as "float" and "i8". */
const char *clipper_dtype(const char *name, size_t *size);

/* What to do, and how. A new request changes nothing. */
typedef struct clipper_request clipper_request;

/* Returns NULL if memory runs out. */
clipper_request *clipper_request_new(void);

/* Null is allowed. */
void clipper_request_free(clipper_request *request);

/* Sets one option of the program `clipper`, named without its dashes, "min" or "min-above-max" (or "min_above_max"), to a text that the
   command line takes: "6", "1%", "@lo.npy", "2020-02-29", "onnx-13". "true" and "false" are the values of options without one.
   "special_paths" is none of the program's: "true" lets paths be "-", standard input or output, and "a.npz:w", a member of an archive.
   "member", "exclude_member", "only" and "nodata" add to those set before. "apply" is of all stages, and set after the last has begun.
   After a failure the request is as it was. */
int clipper_request_set(clipper_request *request, const char *name, const char *text);

/* Sets a number of the request, such as "min", to the elements of a tensor, which are copied. Like an array of a file,
   they must broadcast to the tensor that is clipped. */
int clipper_request_set_array(clipper_request *request, const char *name, const clipper_tensor *array);

/* Begins the next stage, as `--then` does: it clips the result as if a file were between the two. Names about elements that are set from
   now on are of the new stage, which nobody frees; all other names, such as "threads", are of all stages. Messages say "stage 2". */
int clipper_request_then(clipper_request *request);

/* The names that clipper_request_set() knows; null from the first index on that has none. */
const char *clipper_request_name(size_t index);

/* 1 ends calls that use the request with CLIPPER_CANCELLED before they begin their next chunk, also later ones; 0 lets later ones
   run again. May be called while the request is in use, also by a signal handler. */
void clipper_request_stop(clipper_request *request, int stop);

/* clipper_clip_file() and clipper_clip_in_place() call `progress` in the thread that called them, at most ten
   times a second and before the complete result gets its name: with the bytes of elements that are done, and
   of all. It may call clipper_request_stop(). Null: none. */
void clipper_request_on_progress(clipper_request* request,
                                 void (*progress)(uint64_t done, uint64_t all, void* data), void* data);

/* Clips the elements of `in` to those of `out`: the same shape, the dtype that "to" names, or that of `in`, and its byte order. They
   may be the same memory if they are the same view. `counts` may be null. After a failure `out` may hold anything. */
int clipper_clip(const clipper_request *request, const clipper_tensor *in, const clipper_writable_tensor *out, clipper_counts *counts);

/* A request that has been checked for tensors of one dtype and shape, its numbers converted: clipping a few elements then takes little
   longer than a call. It does not change with the request, except by clipper_request_stop(), and may outlive it. */
typedef struct clipper_prepared clipper_prepared;

/* The elements of `tensor`, which must have no strides, are read only if a number of the request is found in them, such as "1%";
   otherwise they may be null. Null, which sets the last error, after a failure. */
clipper_prepared *clipper_prepare(const clipper_request *request, const clipper_tensor *tensor);

/* Clips `count` contiguous elements, which need no alignment. It may differ from that of the tensor unless a number of the request is an
   array. `in` and `out` are the same memory or do not overlap. Nothing is counted. After a failure `out` may hold anything. */
int clipper_prepared_clip(const clipper_prepared *prepared, const void *in, void *out, size_t count);

/* Null is allowed. */
void clipper_prepared_free(clipper_prepared *prepared);

/* Clips the file `in` to the file `out`, which is replaced only as a whole; `path` is replaced by its result. `counts` may be null. */
int clipper_clip_file(const clipper_request *request, const char *in, const char *out, clipper_counts *counts);
int clipper_clip_in_place(const clipper_request *request, const char *path, clipper_counts *counts);

/* CLIPPER_OK if all elements match by "rtol", "atol", "ulp", "tolerance", "nan-differ", "any-dtype" and "bits" of the request; "show"
   says how many mismatches the report lists. `comparison` may be null; it is written unless the result is another failure than CLIPPER_DIFFERENT. */
int clipper_compare(const clipper_request *request, const clipper_tensor *actual, const clipper_tensor *expected,
                    clipper_comparison *comparison);
int clipper_compare_files(const clipper_request *request, const char *actual, const char *expected, clipper_comparison *comparison);

/* Reads the header of a file, not its elements. */
int clipper_layout_of_file(const clipper_request *request, const char *path, clipper_layout *layout);

/* "threads", and for files "dtype", "raw", "format", "trailing", "no-cache" and "special_paths", are all of the request that counts. */
int clipper_describe(const clipper_request *request, const clipper_tensor *tensor, clipper_statistics *statistics);
int clipper_describe_file(const clipper_request *request, const char *path, clipper_statistics *statistics);

/* For each of `count` percentages, texts such as "99.9" or "99.9%", the number below which this share of the elements lies. */
int clipper_percentiles(const clipper_request *request, const clipper_tensor *tensor, const char *const *percentages, size_t count,
                        clipper_element *percentiles);
int clipper_percentiles_of_file(const clipper_request *request, const char *path, const char *const *percentages, size_t count,
                                clipper_element *percentiles);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
