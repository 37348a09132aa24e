//! Every call beside what its definition gives: golden cases, and random ones of every type and layout.

mod array;
mod cases;
mod golden;
mod oracle;
mod random;
mod reports;
mod slices;
mod workers;
