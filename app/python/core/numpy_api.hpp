#pragma once

// numpy's C functions are pointers, which one file of the module defines and loads: it defines
// CLIPPER_LOADS_NUMPY before it includes this header.
#define PY_ARRAY_UNIQUE_SYMBOL clipper_numpy_api
#ifndef CLIPPER_LOADS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <numpy/arrayobject.h>
#pragma GCC diagnostic pop
