//! Runs the binary.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

/// Runs the binary with these arguments to its end.
pub(crate) fn devarray(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Finished {
    Finished::of(Command::new(env!("CARGO_BIN_EXE_devarray")).args(arguments))
}

/// Runs `relayout` on the simulator.
pub(crate) fn relayout(input: &Path, output: &Path, extra: &[&str]) -> Finished {
    let paths = ["relayout".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str()];
    let extra = extra.iter().map(OsStr::new);
    devarray(paths.into_iter().chain(["--backend", "mock"].map(OsStr::new)).chain(extra))
}

/// Runs `map` on the simulator.
pub(crate) fn map(expression: &str, inputs: &[&Path], output: &Path, extra: &[&str]) -> Finished {
    let inputs = inputs.iter().map(|path| path.as_os_str());
    let output = ["-o".as_ref(), output.as_os_str(), "--backend".as_ref(), "mock".as_ref()];
    let extra = extra.iter().map(OsStr::new);
    devarray(["map", expression].map(OsStr::new).into_iter().chain(inputs).chain(output).chain(extra))
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.stdin(Stdio::null()).output().expect("the command starts");
        Self {
            status: output.status.code().expect("the command is not killed by a signal"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks that the run succeeded.
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{self:?}");
        self
    }

    /// Checks for status 2, and for a message about the usage of this argument.
    pub(crate) fn refused_usage(self, argument: &str) {
        assert_eq!(self.status, 2, "{self:?}");
        assert!(self.stderr.contains(argument) && self.stderr.contains("--help"), "{self:?}");
    }

    /// Checks for status 2, and for one line of error that contains all of `parts`.
    pub(crate) fn refused(self, parts: &[&str]) -> Self {
        assert_eq!(self.status, 2, "{self:?}");
        assert!(self.stderr.starts_with("devarray: "), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in {self:?}");
        }
        self
    }
}
