/// The functions of oneTBB that engine/pool.cpp calls, for a program that is not linked with oneTBB: it loads
/// the library when it first needs threads, because that takes longer than clipping a small file.
///
/// Compiled without unwind tables: an exception cannot leave these functions, but ends the program through
/// the terminate handler. The program has a C++ runtime of its own, which might not understand an exception
/// of the library's runtime.
#include <dlfcn.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <cstdint>
#include <exception>
#include <type_traits>

using namespace tbb::detail;

// EACH(symbol, result, name, parameters, arguments): the functions in namespace tbb::detail::r1.
#define R1_FUNCTIONS(EACH)                                                                                  \
  EACH(_ZN3tbb6detail2r110deallocateERNS0_2d117small_object_poolEPvmRKNS2_14execution_dataE, void,          \
       deallocate,                                                                                          \
       (d1::small_object_pool & pool, void* memory, std::size_t size, const d1::execution_data& data),      \
       (pool, memory, size, data))                                                                          \
  EACH(_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEm, void*, allocate,                          \
       (d1::small_object_pool * &pool, std::size_t size), (pool, size))                                     \
  EACH(_ZN3tbb6detail2r18allocateERPNS0_2d117small_object_poolEmRKNS2_14execution_dataE, void*, allocate,   \
       (d1::small_object_pool * &pool, std::size_t size, const d1::execution_data& data),                   \
       (pool, size, data))                                                                                  \
  EACH(_ZN3tbb6detail2r115allocate_memoryEm, void*, allocate_memory, (std::size_t size), (size))            \
  EACH(_ZN3tbb6detail2r117deallocate_memoryEPv, void, deallocate_memory, (void* memory), (memory))          \
  EACH(_ZN3tbb6detail2r16createERNS0_2d114global_controlE, void, create, (d1::global_control & control),    \
       (control))                                                                                           \
  EACH(_ZN3tbb6detail2r17destroyERNS0_2d114global_controlE, void, destroy, (d1::global_control & control),  \
       (control))                                                                                           \
  EACH(_ZN3tbb6detail2r110initializeERNS0_2d115task_arena_baseE, void, initialize,                          \
       (d1::task_arena_base & arena), (arena))                                                              \
  EACH(_ZN3tbb6detail2r19terminateERNS0_2d115task_arena_baseE, void, terminate,                             \
       (d1::task_arena_base & arena), (arena))                                                              \
  EACH(_ZN3tbb6detail2r17executeERNS0_2d115task_arena_baseERNS2_13delegate_baseE, void, execute,            \
       (d1::task_arena_base & arena, d1::delegate_base & work), (arena, work))                              \
  EACH(_ZN3tbb6detail2r115max_concurrencyEPKNS0_2d115task_arena_baseE, int, max_concurrency,                \
       (const d1::task_arena_base* arena), (arena))                                                         \
  EACH(_ZN3tbb6detail2r120isolate_within_arenaERNS0_2d113delegate_baseEl, void, isolate_within_arena,       \
       (d1::delegate_base & work, std::intptr_t isolation), (work, isolation))                              \
  EACH(_ZN3tbb6detail2r110initializeERNS0_2d118task_group_contextE, void, initialize,                       \
       (d1::task_group_context & context), (context))                                                       \
  EACH(_ZN3tbb6detail2r17destroyERNS0_2d118task_group_contextE, void, destroy,                              \
       (d1::task_group_context & context), (context))                                                       \
  EACH(_ZN3tbb6detail2r128is_group_execution_cancelledERNS0_2d118task_group_contextE, bool,                 \
       is_group_execution_cancelled, (d1::task_group_context & context), (context))                         \
  EACH(_ZN3tbb6detail2r15spawnERNS0_2d14taskERNS2_18task_group_contextE, void, spawn,                       \
       (d1::task & task, d1::task_group_context & context), (task, context))                                \
  EACH(_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_, \
       void, execute_and_wait,                                                                              \
       (d1::task & task, d1::task_group_context & context, d1::wait_context & wait,                         \
        d1::task_group_context & wait_group),                                                               \
       (task, context, wait, wait_group))                                                                   \
  EACH(_ZN3tbb6detail2r114execution_slotEPKNS0_2d114execution_dataE, d1::slot_id, execution_slot,           \
       (const d1::execution_data* data), (data))                                                            \
  EACH(_ZN3tbb6detail2r114notify_waitersEm, void, notify_waiters, (std::uintptr_t wait), (wait))            \
  EACH(_ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE, void,       \
       parallel_pipeline,                                                                                   \
       (d1::task_group_context & context, std::size_t tokens, const d1::filter_node& filters),              \
       (context, tokens, filters))                                                                          \
  EACH(_ZN3tbb6detail2r116set_end_of_inputERNS0_2d111base_filterE, void, set_end_of_input,                  \
       (d1::base_filter & filter), (filter))                                                                \
  EACH(_ZN3tbb6detail2r117assertion_failureEPKciS3_S3_, void, assertion_failure,                            \
       (const char* location, int line, const char* expression, const char* comment),                       \
       (location, line, expression, comment))

namespace {

#define POINTER(symbol, result, name, parameters, arguments) \
  std::add_pointer_t<result parameters> symbol = nullptr;
R1_FUNCTIONS(POINTER)
const char* (*version)() = nullptr;
int (*interface_version)() = nullptr;

template <class Function>
bool find(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

/// Gives the library's C++ runtime the program's terminate handler.
bool share_terminate_handler(void* library) {
  std::terminate_handler (*set_terminate)(std::terminate_handler) = nullptr;
  if (!find(library, "_ZSt13set_terminatePFvvE", set_terminate)) return false;
  set_terminate(std::get_terminate());
  return true;
}

bool load() {
  void* const library = dlopen(CLIPPER_LIBTBB, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
#define FIND(symbol, result, name, parameters, arguments) find(library, #symbol, symbol)&&
  return R1_FUNCTIONS(FIND) find(library, "TBB_runtime_version", version) &&
         find(library, "TBB_runtime_interface_version", interface_version) &&
         share_terminate_handler(library);
}

}  // namespace

/// Loads the library. Null if that is not possible; then no other function may be called.
extern "C" const char* TBB_runtime_version() {
  static const bool loaded = load();
  return loaded ? version() : nullptr;
}

extern "C" int TBB_runtime_interface_version() {
  return interface_version();
}

namespace tbb::detail::r1 {

#define FORWARD(symbol, result, name, parameters, arguments) \
  result name parameters {                                   \
    return ::symbol arguments;                               \
  }
R1_FUNCTIONS(FORWARD)

}  // namespace tbb::detail::r1
