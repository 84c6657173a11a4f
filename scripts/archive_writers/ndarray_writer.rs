//! Writes an archive of .npy files with ndarray-npy: ndarray_writer stored|deflated OUT.npz IN.npy...
//! The first letters of a file's name are its dtype.
use ndarray::ArrayD;
use ndarray_npy::{read_npy, NpzWriter, ReadableElement, WritableElement};
use std::{env, fs::File, path::Path};

fn add<T: ReadableElement + WritableElement>(npz: &mut NpzWriter<File>, path: &str) {
    let array: ArrayD<T> = read_npy(path).unwrap();
    npz.add_array(Path::new(path).file_stem().unwrap().to_str().unwrap(), &array).unwrap();
}

fn main() {
    let words: Vec<String> = env::args().collect();
    let file = File::create(&words[2]).unwrap();
    let mut npz = if words[1] == "stored" { NpzWriter::new(file) } else { NpzWriter::new_compressed(file) };
    for path in &words[3..] {
        match Path::new(path).file_stem().unwrap().to_str().unwrap().split('_').next().unwrap() {
            "f4" => add::<f32>(&mut npz, path),
            "f8" => add::<f64>(&mut npz, path),
            "i1" => add::<i8>(&mut npz, path),
            "i8" => add::<i64>(&mut npz, path),
            "u2" => add::<u16>(&mut npz, path),
            "bool" => add::<bool>(&mut npz, path),
            other => panic!("{other}"),
        }
    }
    npz.finish().unwrap();
}
