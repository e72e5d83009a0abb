//! The skills and the migrations are part of the program: a change of either is a change of it.

fn main() {
    println!("cargo:rerun-if-changed=../skills");
    println!("cargo:rerun-if-changed=../migrations");
}
