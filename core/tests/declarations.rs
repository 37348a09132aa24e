//! What the compiler says of kernels that are declared or launched wrongly.

#[test]
fn wrong_kernels_and_wrong_launches_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/declarations/*.rs");
}
