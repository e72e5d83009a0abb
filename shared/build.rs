//! Rebuilds the library when a skill or a migration changes, which are embedded in it.

fn main() {
    println!("cargo:rerun-if-changed=../skills");
    println!("cargo:rerun-if-changed=../migrations");
}
