//! The build script. Rebuilds the library when an embedded skill or migration changes.

fn main() {
    println!("cargo:rerun-if-changed=../skills");
    println!("cargo:rerun-if-changed=../migrations");
}
