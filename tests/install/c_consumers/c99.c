/* c99 IN OUT: does what `clipper --min 0 --max 6 IN OUT` does, then the same in memory with strides. Exits with 0 if all is right. */
#include <clipper/clipper.h>
#include <stdio.h>
#include <string.h>

static int check(int result) {
  if (result != CLIPPER_OK) fprintf(stderr, "%s: %s\n", clipper_last_error_field(), clipper_last_error_message());
  return result;
}

int main(int argc, char **argv) {
  float values[4] = {-1.5f, 9.0f, 7.0f, 3.0f};
  const float expected[4] = {0.0f, 9.0f, 6.0f, 3.0f};
  const int64_t shape[1] = {2}, strides[1] = {2 * sizeof(float)};
  const clipper_tensor every_second = {sizeof every_second, "<f4", 1, shape, strides, values};
  const clipper_writable_tensor same = {sizeof same, "<f4", 1, shape, strides, values};
  clipper_counts counts = {.size = sizeof counts};
  clipper_request *request = clipper_request_new();
  int failed = argc != 3 || request == NULL;
  if (!failed) failed = check(clipper_request_set(request, "min", "0")) || check(clipper_request_set(request, "max", "6"));
  if (!failed) failed = check(clipper_clip_file(request, argv[1], argv[2], NULL));
  if (!failed) failed = check(clipper_clip(request, &every_second, &same, &counts));
  if (!failed) failed = memcmp(values, expected, sizeof values) != 0 || counts.raised != 1 || counts.lowered != 1;
  if (!failed) failed = clipper_request_set(request, "min", "O") != CLIPPER_USAGE || strcmp(clipper_last_error_field(), "min") != 0;
  clipper_request_free(request);
  return failed;
}
