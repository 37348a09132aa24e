//! The text of a reducing kernel.

use devarray::function::primitive::Program;

use super::{
    columns,
    kernel::{Form, Kernel},
    rows, running, short,
    site::Site,
    twice,
};
use crate::function::{class::Class, text::Text};

/// The text of the kernel of a class.
pub(in crate::function) fn write(program: &Program, class: &Class, kernel: &Kernel) -> String {
    let site = Site::new(program, class, kernel);
    let mut text = Text::default();
    let shared_words = match kernel.form {
        Form::Rows { threads, steps, vector } => rows::write(&mut text, &site, (threads, steps, vector)),
        Form::Short { threads, rows, chunks, vector } => {
            short::write(&mut text, &site, (threads, rows, chunks, vector))
        }
        Form::Columns(division) => columns::write(&mut text, &site, division),
        Form::Twice { threads, keep } => {
            let first = kernel.first.as_deref().expect("what is computed twice has a first");
            twice::write(&mut text, &site, (threads, keep), first)
        }
        Form::Running { tile, what } => running::write(&mut text, &site, tile, what),
    };
    text.line(format_args!("ret"));
    text.finish(site.words.count(), shared_words)
}
