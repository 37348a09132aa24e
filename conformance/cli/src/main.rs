//! The `devarray` command.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser as _;
use devarray_cli::{
    Cli, Status,
    functions::Mistake,
    output::{Closed, Output, one_line},
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut stdout = io::stdout().lock();
    let mut output = Output::new(&mut stdout);
    let status = cli.run(&mut output).and_then(|status| output.flush().map(|()| status));
    match status {
        Ok(status) => status.into(),
        Err(error) => {
            if !error.is::<Closed>() {
                // One line, whatever the messages contain, and below it the place in an expression.
                // If even this cannot be written, nothing can be done.
                let message = one_line(&error).replace(['\n', '\r'], " ");
                let _ = writeln!(io::stderr(), "devarray: {message}");
                if let Some(picture) = error.downcast_ref::<Mistake>().and_then(Mistake::picture) {
                    let _ = writeln!(io::stderr(), "{picture}");
                }
            }
            Status::Fault.into()
        }
    }
}
