//! The `skillet` binary.

fn main() -> std::process::ExitCode {
    cli::main()
}
