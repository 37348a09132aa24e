//! Functions, reductions and random numbers. One binary: linking one for each file takes minutes.

mod elementary;
mod function_exact;
mod function_golden;
mod function_limits;
mod function_oracle;
mod function_text;
mod functions;
mod masked;
mod random;
mod reduce_nothing;
mod reductions;
mod sum_order;
