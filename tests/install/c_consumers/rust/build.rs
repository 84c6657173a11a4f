// CLIPPER_LIB is the directory of libclipper.so.
fn main() {
    println!("cargo:rustc-link-search={}", std::env::var("CLIPPER_LIB").unwrap());
    println!("cargo:rustc-link-lib=clipper");
}
