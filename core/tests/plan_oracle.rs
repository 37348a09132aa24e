//! A plan moves exactly the bytes of its two layouts: as runs, by its class, in blocks, and through
//! staging.
//!
//! Every result is compared with a naive map from destination byte to source byte, built index by
//! index. The judge is itself tested: it must reject wrong executors, each wrong in one way.
#![expect(clippy::unwrap_used, reason = "a helper that meets an error fails its test")]

#[path = "plan_oracle/cases.rs"]
mod cases;
#[path = "plan_oracle/executors.rs"]
mod executors;
#[path = "plan_oracle/exhaustive.rs"]
mod exhaustive;
#[path = "plan_oracle/forms.rs"]
mod forms;
#[path = "plan_oracle/large.rs"]
mod large;
#[path = "plan_oracle/memory.rs"]
mod memory;
#[path = "plan_oracle/oracle.rs"]
mod oracle;
#[path = "plan_oracle/random.rs"]
mod random;
#[path = "plan_oracle/twins.rs"]
mod twins;
