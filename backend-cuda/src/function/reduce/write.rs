//! The text of a reducing kernel.

use devarray::function::primitive::Program;

use super::{
    columns,
    kernel::{Form, Kernel},
    kernel_code::KernelCode,
    rows, scan, short, two_reductions,
};
use crate::function::{class::Class, text::Text};

/// The text of the kernel of a class.
pub(in crate::function) fn write(program: &Program, class: &Class, kernel: &Kernel) -> String {
    let code = KernelCode::new(program, class, kernel);
    let mut text = Text::default();
    let shared_words = match kernel.form {
        Form::Rows { threads, steps, vector } => rows::write(&mut text, &code, (threads, steps, vector)),
        Form::Short { threads, rows, chunks, vector } => {
            short::write(&mut text, &code, (threads, rows, chunks, vector))
        }
        Form::Columns(division) => columns::write(&mut text, &code, division),
        Form::TwoReductions { threads, storage } => {
            let first = kernel.first.as_deref().expect("what is computed twice has a first");
            two_reductions::write(&mut text, &code, (threads, storage), first)
        }
        Form::Scan { tile, pass } => scan::write(&mut text, &code, tile, pass),
    };
    text.line(format_args!("ret"));
    text.finish(code.words.count(), shared_words)
}
