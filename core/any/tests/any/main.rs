//! What a device chosen at run time adds to its backends: the choice, and refusing to mix them.

mod choice;
mod contexts;
mod examples;
