//! consumer IN OUT: does what `clipper --min 0 --max 6 IN OUT` does.
use std::ffi::{c_char, c_int, c_void, CStr, CString};

extern "C" {
    fn clipper_request_new() -> *mut c_void;
    fn clipper_request_free(request: *mut c_void);
    fn clipper_request_set(request: *mut c_void, name: *const c_char, text: *const c_char) -> c_int;
    fn clipper_clip_file(request: *const c_void, from: *const c_char, to: *const c_char, counts: *mut c_void) -> c_int;
    fn clipper_last_error_message() -> *const c_char;
}

fn check(status: c_int) {
    if status != 0 {
        panic!("{}", unsafe { CStr::from_ptr(clipper_last_error_message()) }.to_string_lossy());
    }
}

fn main() {
    let texts: Vec<CString> = ["min", "0", "max", "6"].iter().map(|s| s.to_string())
        .chain(std::env::args().skip(1)).map(|s| CString::new(s).unwrap()).collect();
    unsafe {
        let request = clipper_request_new();
        check(clipper_request_set(request, texts[0].as_ptr(), texts[1].as_ptr()));
        check(clipper_request_set(request, texts[2].as_ptr(), texts[3].as_ptr()));
        check(clipper_clip_file(request, texts[4].as_ptr(), texts[5].as_ptr(), std::ptr::null_mut()));
        clipper_request_free(request);
    }
}
