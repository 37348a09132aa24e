//! Tests that need a card, all ignored unless asked for. One binary, so that one file goes to
//! where a card is.

#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "common/branches.rs"]
mod branches;
#[path = "common/cases.rs"]
mod cases;
#[path = "common/compositions.rs"]
mod compositions;
#[path = "common/evaluate.rs"]
mod evaluate;
#[path = "common/fast.rs"]
mod fast;
#[path = "common/maps.rs"]
mod maps;
#[path = "common/products.rs"]
mod products_of;
#[path = "common/programs.rs"]
mod programs;
#[path = "common/ranks.rs"]
mod ranks_of;
#[path = "common/ranks_recorded.rs"]
mod ranks_recorded;
#[path = "common/reductions.rs"]
mod reductions_of;
#[path = "common/reports.rs"]
mod reports_of;
#[path = "common/shards.rs"]
mod shards;
#[path = "common/strata.rs"]
mod strata;

mod hardware;
mod hardware_branches;
mod hardware_collectives;
mod hardware_digests;
mod hardware_fast;
mod hardware_functions;
mod hardware_gathers;
mod hardware_host;
mod hardware_interop;
mod hardware_joins;
mod hardware_launch;
mod hardware_launch_arguments;
mod hardware_orders;
mod hardware_overlap;
mod hardware_pages;
mod hardware_processes;
mod hardware_products;
mod hardware_random;
mod hardware_recorded;
mod hardware_reductions;
mod hardware_reports;
mod hardware_skew;
mod hardware_strata;
mod hardware_tiles;
mod order;
mod probes;
