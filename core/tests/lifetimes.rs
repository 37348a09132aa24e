//! Programs that must not compile: each breaks one rule of lifetimes and fails for that reason
//! alone.

#[test]
fn what_would_be_unsound_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/lifetimes/*.rs");
}
