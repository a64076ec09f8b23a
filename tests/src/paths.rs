//! Where the built binaries and the state shared by the processes of a run are.

use std::path::{Path, PathBuf};

/// The directory of the built binaries: `PGRELAY_BIN_DIR`, or the profile directory this test was built into.
pub(crate) fn bin_dir() -> PathBuf {
    if let Some(directory) = std::env::var_os("PGRELAY_BIN_DIR") {
        return PathBuf::from(directory);
    }
    let executable = std::env::current_exe().expect("the path of the running test");
    let directory = executable
        .parent()
        .expect("a test executable lies in a directory");
    // Tests are linked into `<profile>/deps`, doc tests and binaries elsewhere.
    match directory.file_name() {
        Some(name) if name == "deps" => directory
            .parent()
            .expect("deps lies in a profile directory")
            .to_path_buf(),
        _ => directory.to_path_buf(),
    }
}

/// The path of a built binary.
///
/// # Panics
/// When it is not there: the tests do not build it, so that a test never waits for a compiler.
pub(crate) fn binary(name: &str) -> PathBuf {
    let path = bin_dir().join(name);
    assert!(
        path.is_file(),
        "{} is missing; build it first: cargo build --workspace",
        path.display()
    );
    path
}

/// The build directory: what is dear to make is kept there, for every test process.
pub(crate) fn build_dir() -> PathBuf {
    let profile = bin_dir();
    profile.parent().unwrap_or(Path::new("/tmp")).to_path_buf()
}

/// The directory with the state of the shared server, the same for every test process of a build directory.
pub(crate) fn state_dir() -> PathBuf {
    build_dir().join("test-postgres")
}

/// True while a process with this id runs. One that has ended and waits for its parent's notice does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the program's name, which is in parentheses and may hold anything.
    let state = status.rsplit(')').next().map(str::trim_start);
    state.is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
}
