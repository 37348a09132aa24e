//! The manual. Each page has one subject. The examples run as tests, without a GPU.
//!
//! | page | answers |
//! |---|---|
//! | [A numeric library in an afternoon](_0_a_numeric_library) | how to begin: a library from an empty folder to a card |
//! | [Arrays and views](_1_arrays_and_views) | which views need no copy, and which calls copy |
//! | [Streams and order](_2_streams_and_order) | which work runs before which, and which law of the conformance suite says so |
//! | [Host memory](_3_host_memory) | when memory of the host is free again, in all three ways to copy |
//! | [Errors](_4_errors) | which calls can fail, the state after a failure, and the remedy |
//! | [Testing with the simulator](_5_testing) | how to find a race on a laptop |
//! | [With and without a GPU](_c_with_and_without_a_gpu) | how one library runs on a GPU, on the CPU and in tests |
//! | [Write a backend](_6_write_a_backend) | the shortest backend that keeps every law, explained |
//! | [Functions](_7_functions) | how elements are computed, and the meaning of each operation to the bit |
//! | [Reductions](_8_reductions) | sums and their like, and the one order of additions |
//! | [Random numbers](_9_random_numbers) | how a key, a position and bits make a random number |
//! | [Elements by index](_b_elements_by_index) | how elements are picked and put, and who is told of an index out of range |
//! | [Order, search, and sums by index](_d_order) | the one order and the one value of sums by index, which calls wait, their cost |
//! | [Matrix products](_e_products) | how matrices are multiplied, and the one value that a product has |
//! | [Recorded work](_i_recorded_work) | how calls are recorded once and launched again and again |
//! | [Several devices](_j_collectives) | how elements go between devices, and who is told of a mistake |
//! | [From one device to many hosts](_k_many_hosts) | how one program runs as threads, or as processes of many machines |
//! | [Kernels](_a_kernels) | how to launch kernels of one's own, on a GPU, on the CPU and on the simulator |
//! | [Coming from ndarray](_f_coming_from_ndarray) | the names here, and the differences |
//! | [Coming from CUDA C++](_g_coming_from_cuda) | the names here, and the work that the library takes over |
//! | [The array API standard](_h_array_api) | which call is which of its functions, and which are missing |
//!
//! Each module holds only its page.

#[doc = include_str!("manual/a_numeric_library.md")]
pub mod _0_a_numeric_library {}

#[doc = include_str!("manual/arrays_and_views.md")]
pub mod _1_arrays_and_views {}

#[doc = include_str!("manual/streams_and_order.md")]
pub mod _2_streams_and_order {}

#[doc = include_str!("manual/host_memory.md")]
pub mod _3_host_memory {}

#[doc = include_str!("manual/errors.md")]
pub mod _4_errors {}

#[doc = include_str!("manual/testing.md")]
pub mod _5_testing {}

#[doc = include_str!("manual/write_a_backend.md")]
pub mod _6_write_a_backend {}

#[doc = include_str!("manual/functions.md")]
pub mod _7_functions {}

#[doc = include_str!("manual/reductions.md")]
pub mod _8_reductions {}

#[doc = include_str!("manual/random_numbers.md")]
pub mod _9_random_numbers {}

#[doc = include_str!("manual/kernels.md")]
pub mod _a_kernels {}

#[doc = include_str!("manual/elements_by_index.md")]
pub mod _b_elements_by_index {}

#[doc = include_str!("manual/with_and_without_a_gpu.md")]
pub mod _c_with_and_without_a_gpu {}

#[doc = include_str!("manual/order.md")]
pub mod _d_order {}

#[doc = include_str!("manual/products.md")]
pub mod _e_products {}

#[doc = include_str!("manual/coming_from_ndarray.md")]
pub mod _f_coming_from_ndarray {}

#[doc = include_str!("manual/coming_from_cuda.md")]
pub mod _g_coming_from_cuda {}

#[doc = include_str!("manual/recorded_work.md")]
pub mod _i_recorded_work {}

#[doc = include_str!("manual/collectives.md")]
pub mod _j_collectives {}

#[doc = include_str!("manual/many_hosts.md")]
pub mod _k_many_hosts {}

#[doc = include_str!("manual/array_api.md")]
pub mod _h_array_api {}
