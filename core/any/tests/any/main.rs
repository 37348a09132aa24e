//! A device chosen at run time adds two things to its backends: the choice, and refusing to mix
//! them.

mod choice;
mod contexts;
mod examples;
mod recorded;
