//! One `#[test]` for each law, and what happens inside it.

use devarray::Device;

use crate::{Harness, Law, all};

/// A law that a backend is known to break, and why: data, not an excuse to skip.
pub type ExpectedFailure = (&'static str, &'static str);

/// Emits one test for each law: everything a backend needs to run the suite.
///
/// The expression opens a fresh device, as a `Result`, and is evaluated anew for each check. That it fails is a failure.
///
/// ```
/// # mod tests {
/// devarray_conformance::suite!(Ok::<_, devarray::Error>(devarray_mock::MockDevice::new()));
/// # }
/// ```
///
/// On hardware that not every machine has, the tests can be emitted `#[ignore]`d; run with `--ignored` they
/// fail where no device opens:
///
/// ```
/// # mod tests {
/// # use devarray_mock::MockDevice;
/// devarray_conformance::suite!(
///     Ok::<_, devarray::Error>(MockDevice::new()),
///     ignored = "needs hardware",
///     expect_fail = [("copies::strided", "driver bug 12: rows of 3 bytes are copied as 4")],
/// );
/// # }
/// ```
///
/// Expected failures are strict: a law in the list that holds fails its test, and so does a name that no law has.
#[macro_export]
macro_rules! suite {
    ($open:expr $(, expect_fail = [$($known:tt)*])? $(,)?) => {
        $crate::__for_each_law! { [$crate::__tests] { open: { $open } attributes: {} known: { $($($known)*)? } } }
    };
    ($open:expr, ignored = $reason:literal $(, expect_fail = [$($known:tt)*])? $(,)?) => {
        $crate::__for_each_law! {
            [$crate::__tests] { open: { $open } attributes: { #[ignore = $reason] } known: { $($($known)*)? } }
        }
    };
}

/// Expands the registry to tests, a module a group.
#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ({ open: $open:tt attributes: $attributes:tt known: { $($known:tt)* } }
     $($group:ident { $($code:ident $name:ident $summary:literal;)* })*) => {
        const __KNOWN: &[$crate::ExpectedFailure] = &[$($known)*];
        #[test]
        fn expected_failures_name_laws() {
            $crate::check_names(__KNOWN);
        }
        $( $crate::__group_tests! { $open $attributes $group { $($name)* } } )*
    };
}

/// One group of tests: the attributes are repeated for each of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __group_tests {
    ($open:tt { $($attribute:tt)* } $group:ident { $($name:ident)* }) => {
        mod $group {
            #[allow(unused_imports)] // whether the opening expression needs them is not known here
            use super::*;
            $crate::__one_test! { $open { $($attribute)* } $group [$($name)*] }
        }
    };
}

/// The tests of a group, one by one.
#[doc(hidden)]
#[macro_export]
macro_rules! __one_test {
    ($open:tt $attributes:tt $group:ident []) => {};
    ($open:tt { $($attribute:tt)* } $group:ident [$name:ident $($rest:ident)*]) => {
        #[test]
        $($attribute)*
        fn $name() {
            $crate::run(concat!(stringify!($group), "::", stringify!($name)), super::__KNOWN, || $open);
        }
        $crate::__one_test! { $open { $($attribute)* } $group [$($rest)*] }
    };
}

/// Checks one law as a test does: returns if it went as expected.
///
/// # Panics
///
/// With the violation, if the law is broken; if it holds and `known` says that it does not; if no law has the name.
pub fn run<D: Device, E: std::fmt::Display>(
    name: &str,
    known: &[ExpectedFailure],
    open: impl Fn() -> Result<D, E> + 'static,
) {
    let law = all::<D>().into_iter().find(|law| law.full_name() == name);
    let law = law.unwrap_or_else(|| panic!("no law is called {name}"));
    if let Err(complaint) = verdict(&law, known, &Harness::new(open)) {
        panic!("{complaint}");
    }
}

/// Whether a law's outcome is the expected one, and if not, what to tell.
fn verdict<D: Device>(law: &Law<D>, known: &[ExpectedFailure], harness: &Harness<D>) -> Result<(), String> {
    let name = law.full_name();
    let reason = known.iter().find(|(known, _)| *known == name).map(|(_, reason)| reason);
    match (law.check(harness), reason) {
        (Ok(()), None) | (Err(_), Some(_)) => Ok(()),
        (Ok(()), Some(reason)) => Err(format!("{name} holds, and was expected to fail: {reason}")),
        (Err(violation), None) => Err(format!("{name} ({}): {violation}", law.summary)),
    }
}

/// That each expected failure names a law, once.
///
/// # Panics
///
/// On a name that no law has, or that is listed twice.
pub fn check_names(known: &[ExpectedFailure]) {
    for (at, (name, _)) in known.iter().enumerate() {
        assert!(crate::registry::NAMES.contains(name), "no law is called {name}");
        assert!(known[..at].iter().all(|(earlier, _)| earlier != name), "{name} is listed twice");
    }
}
