//! Functions, reductions and random numbers. One binary: linking one for each file takes minutes.

mod compositions;
mod elementary;
mod elementary_digests;
mod equal_distances;
mod function_exact;
mod function_golden;
mod function_limits;
mod function_literals;
mod function_messages;
mod function_oracle;
mod function_printed;
mod function_programs;
mod function_real;
mod function_registers;
mod function_simplified;
mod function_text;
mod functions;
mod masked;
mod order_based;
mod orders;
mod product_functions;
mod products;
mod random;
mod reduce_nothing;
mod reductions;
mod sum_order;
