//! Compares every call with its definition: golden cases, and random calls of every type and layout.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "numbers of small cases, and bits that are cut to the width of their type"
)]

mod array;
mod cases;
mod golden;
mod numbers;
mod oracle;
mod random;
mod reports;
mod slices;
mod sparse;
mod workers;
