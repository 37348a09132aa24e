//! Compares every product with its definition: golden cases, and random products of every type and layout.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers of small cases, and bits that are cut to the width of their type"
)]

mod array;
mod cases;
mod golden;
mod long;
mod oracle;
mod random;
mod shapes;
mod subnormals;
mod workers;
