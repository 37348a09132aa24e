//! What the compiler says of mistakes that first programs make: in words of this library, and what
//! to write instead.

#[test]
fn mistakes_are_told_in_words_of_the_library() {
    trybuild::TestCases::new().compile_fail("tests/diagnostics/*.rs");
}
