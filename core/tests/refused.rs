//! Programs that the compiler must refuse: each breaks one rule and fails for that reason alone.
//! They are compiled as a package of their own, which takes a minute, so these tests run only on
//! request.

/// Lifetimes whose violation would be unsound.
#[test]
#[ignore = "compiles the library anew"]
fn what_would_be_unsound_does_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/lifetimes/*.rs");
}

/// The compiler's messages about mistakes in first programs: they use this library's terms and say
/// what to write instead.
#[test]
#[ignore = "compiles the library anew"]
fn mistakes_are_told_in_words_of_the_library() {
    trybuild::TestCases::new().compile_fail("tests/diagnostics/*.rs");
}

/// The compiler's messages about kernels that are declared or launched wrongly.
#[test]
#[ignore = "compiles the library anew"]
fn wrong_kernels_and_wrong_launches_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/declarations/*.rs");
}
