#include <stddef.h>
#include <stdint.h>
#define CLIPPER_OK 0
#define CLIPPER_DIFFERENT 1
#define CLIPPER_USAGE 2
#define CLIPPER_INPUT 3
#define CLIPPER_IO 4
#define CLIPPER_REFUSED 5
#define CLIPPER_NOT_DURABLE 6
#define CLIPPER_CANCELLED 7
#pragma GCC visibility push(default)
typedef struct clipper_tensor {
  size_t size;
  const char *dtype;
  size_t rank;
  const int64_t *shape;
  const int64_t *strides;
  const void *data;
} clipper_tensor;
typedef struct clipper_writable_tensor {
  size_t size;
  const char *dtype;
  size_t rank;
  const int64_t *shape;
  const int64_t *strides;
  void *data;
} clipper_writable_tensor;
typedef struct clipper_layout {
  size_t size;
  char dtype[32];
  size_t rank;
  int64_t shape[64];
  uint64_t elements;
  int fortran_order;
  int big_endian;
} clipper_layout;
typedef struct clipper_counts {
  size_t size;
  uint64_t elements;
  uint64_t raised;
  uint64_t lowered;
  uint64_t nan;
  uint64_t changed;
  uint64_t replaced;
  uint64_t became_infinite;
  uint64_t became_zero;
  uint64_t nodata;
  uint64_t became_nodata;
} clipper_counts;
typedef struct clipper_comparison {
  size_t size;
  uint64_t compared;
  uint64_t mismatches;
  double largest;
} clipper_comparison;
typedef struct clipper_element {
  double value;
  uint64_t bits;
} clipper_element;
typedef struct clipper_statistics {
  size_t size;
  uint64_t count;
  uint64_t nan;
  uint64_t positive_infinite;
  uint64_t negative_infinite;
  clipper_element min;
  clipper_element max;
  clipper_element median;
  double mean;
  double standard_deviation;
} clipper_statistics;
const char *clipper_version(void);
int clipper_version_number(void);
int clipper_last_error_kind(void);
const char *clipper_last_error_message(void);
const char *clipper_last_error_field(void);
const char *clipper_profile_name(size_t index);
const char *clipper_dtype(const char *name, size_t *size);
typedef struct clipper_request clipper_request;
clipper_request *clipper_request_new(void);
void clipper_request_free(clipper_request *request);
int clipper_request_set(clipper_request *request, const char *name, const char *text);
int clipper_request_set_array(clipper_request *request, const char *name, const clipper_tensor *array);
const char *clipper_request_name(size_t index);
void clipper_request_stop(clipper_request *request, int stop);
int clipper_clip(const clipper_request *request, const clipper_tensor *in, const clipper_writable_tensor *out, clipper_counts *counts);
typedef struct clipper_prepared clipper_prepared;
clipper_prepared *clipper_prepare(const clipper_request *request, const clipper_tensor *tensor);
int clipper_prepared_clip(const clipper_prepared *prepared, const void *in, void *out, size_t count);
void clipper_prepared_free(clipper_prepared *prepared);
int clipper_clip_file(const clipper_request *request, const char *in, const char *out, clipper_counts *counts);
int clipper_clip_in_place(const clipper_request *request, const char *path, clipper_counts *counts);
int clipper_compare(const clipper_request *request, const clipper_tensor *actual, const clipper_tensor *expected,
                    clipper_comparison *comparison);
int clipper_compare_files(const clipper_request *request, const char *actual, const char *expected, clipper_comparison *comparison);
int clipper_layout_of_file(const clipper_request *request, const char *path, clipper_layout *layout);
int clipper_describe(const clipper_request *request, const clipper_tensor *tensor, clipper_statistics *statistics);
int clipper_describe_file(const clipper_request *request, const char *path, clipper_statistics *statistics);
int clipper_percentiles(const clipper_request *request, const clipper_tensor *tensor, const char *const *percentages, size_t count,
                        clipper_element *percentiles);
int clipper_percentiles_of_file(const clipper_request *request, const char *path, const char *const *percentages, size_t count,
                                clipper_element *percentiles);
#pragma GCC visibility pop
