//! Layouts and plans of copies. One binary: linking one for each file takes minutes.

#[path = "layout_support/cases.rs"]
mod cases;
#[path = "layout_support/model.rs"]
mod model;

mod layout_axes;
mod layout_golden;
mod layout_shapes;
mod layout_sharing;
mod layout_total;
mod nest;
mod plan_oracle;
mod restride;
mod views;
