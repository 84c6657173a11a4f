// consumer IN OUT: does what `clipper --min 0 --max 6 IN OUT` does.
package main

// #cgo pkg-config: clipper-npy
// #include <clipper/clipper.h>
// #include <stdlib.h>
import "C"

import (
	"log"
	"os"
	"runtime"
	"unsafe"
)

func text(s string) *C.char { return C.CString(s) } // freed when the program ends

func main() {
	runtime.LockOSThread() // the last error is that of a thread
	request := C.clipper_request_new()
	defer C.clipper_request_free(request)
	for name, value := range map[string]string{"min": "0", "max": "6"} {
		if C.clipper_request_set(request, text(name), text(value)) != C.CLIPPER_OK {
			log.Fatal(C.GoString(C.clipper_last_error_message()))
		}
	}
	values := []float32{-1, 7}
	shape := C.int64_t(len(values))
	memory := C.malloc(8) // of C: a structure that C reads has no pointer to memory of Go
	copy(unsafe.Slice((*float32)(memory), 2), values)
	sizes := (*C.int64_t)(C.malloc(8))
	*sizes = shape
	tensor := C.clipper_tensor{size: C.sizeof_clipper_tensor, dtype: text("float32"), rank: 1, shape: sizes, data: memory}
	result := C.clipper_writable_tensor{size: C.sizeof_clipper_writable_tensor, dtype: tensor.dtype, rank: 1, shape: sizes, data: memory}
	if C.clipper_clip(request, &tensor, &result, nil) != C.CLIPPER_OK || *(*float32)(memory) != 0 {
		log.Fatal(C.GoString(C.clipper_last_error_message()))
	}
	if C.clipper_clip_file(request, text(os.Args[1]), text(os.Args[2]), nil) != C.CLIPPER_OK {
		log.Fatal(C.GoString(C.clipper_last_error_message()))
	}
}
