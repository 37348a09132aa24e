//! One `#[test]` for each law, and its body.

use devarray::Device;

use crate::{Harness, Law};

/// A law that a backend is known to break, and why: data, not an excuse to skip.
pub type ExpectedFailure = (&'static str, &'static str);

/// Emits one test for each law: everything a backend needs to run the suite.
///
/// The expression opens a fresh device, as a `Result`, and is evaluated anew for each check. If it
/// fails, so does the test.
///
/// ```
/// # mod tests {
/// devarray_conformance::suite!(Ok::<_, devarray::Error>(devarray_mock::MockDevice::new()));
/// # }
/// ```
///
/// On hardware that not every machine has, the tests can be emitted `#[ignore]`d; run with
/// `--ignored` they fail where no device opens:
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
/// Extras have their own laws, for devices that implement their traits. Devices with the capability keep
/// the laws; the others refuse it by name. Laws of two devices take a second one, if the backend
/// has two:
///
/// ```
/// # mod tests {
/// # use devarray_mock::MockDevice;
/// devarray_conformance::suite!(
///     Ok::<_, devarray::Error>(MockDevice::new()),
///     second = Ok::<_, devarray::Error>(MockDevice::builder().ordinal(1).build()),
///     extras = [timing],
/// );
/// # }
/// ```
///
/// Expected failures are strict: a law in the list that holds fails its test, and so does a name
/// that no law has.
#[macro_export]
macro_rules! suite {
    ($open:expr $(, second = $second:expr)? $(, ignored = $reason:literal)? $(, extras = [$($capability:ident),* $(,)?])?
     $(, expect_fail = [$($known:tt)*])? $(,)?) => {
        const __KNOWN: &[$crate::ExpectedFailure] = &[$($($known)*)?];
        #[test]
        fn expected_failures_name_laws() {
            $crate::check_names(__KNOWN);
        }
        $crate::__suites! { { $open $(, $second)? } { $(#[ignore = $reason])? } [all $($($capability)*)?] }
    };
}

/// The tests of each list of laws: the laws of every device, the laws of a capability.
#[doc(hidden)]
#[macro_export]
macro_rules! __suites {
    ($open:tt $attributes:tt []) => {};
    ($open:tt $attributes:tt [all $($rest:ident)*]) => {
        $crate::__for_each_law! { [$crate::__tests] { open: $open attributes: $attributes laws: all } }
        $crate::__suites! { $open $attributes [$($rest)*] }
    };
    ($open:tt $attributes:tt [$capability:ident $($rest:ident)*]) => {
        $crate::__for_each_law_of! {
            $capability, [$crate::__tests] { open: $open attributes: $attributes laws: $capability }
        }
        $crate::__suites! { $open $attributes [$($rest)*] }
    };
}

/// Expands the registry to tests, a module a group.
#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ({ open: $open:tt attributes: $attributes:tt laws: $laws:ident }
     $($group:ident { $($code:ident $name:ident $summary:literal;)* })*) => {
        $( $crate::__group_tests! { $laws $open $attributes $group { $($name)* } } )*
    };
}

/// One group of tests: the attributes are repeated for each of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __group_tests {
    ($laws:ident $open:tt { $($attribute:tt)* } $group:ident { $($name:ident)* }) => {
        mod $group {
            #[allow(unused_imports)] // whether the opening expression needs them is not known here
            use super::*;
            $crate::__one_test! { $laws $open { $($attribute)* } $group [$($name)*] }
        }
    };
}

/// The tests of a group, one by one.
#[doc(hidden)]
#[macro_export]
macro_rules! __one_test {
    ($laws:ident $open:tt $attributes:tt $group:ident []) => {};
    ($laws:ident $open:tt { $($attribute:tt)* } $group:ident [$name:ident $($rest:ident)*]) => {
        #[test]
        $($attribute)*
        fn $name() {
            let name = concat!(stringify!($group), "::", stringify!($name));
            let again = $crate::again(env!("CARGO_PKG_NAME"), module_path!(), stringify!($name), stringify!($($attribute)*));
            $crate::run($crate::$laws(), name, super::__KNOWN, $crate::__harness! $open, &again);
        }
        $crate::__one_test! { $laws $open { $($attribute)* } $group [$($rest)*] }
    };
}

/// Opens the devices of a suite.
#[doc(hidden)]
#[macro_export]
macro_rules! __harness {
    { $open:expr } => { $crate::Harness::new(|| $open) };
    { $open:expr, $second:expr } => { $crate::Harness::new(|| $open).with_second(|| $second) };
}

/// The command that runs one test of a suite again, from the names that its crate has for it.
#[doc(hidden)]
#[must_use]
pub fn again(package: &str, module: &str, name: &str, attributes: &str) -> String {
    let path = module.split_once("::").map_or(name.to_owned(), |(_, inside)| format!("{inside}::{name}"));
    let ignored = if attributes.contains("ignore") { " --ignored" } else { "" };
    format!("cargo test -p {package} -- --exact {path}{ignored}")
}

/// Checks one law as a test does: returns if it went as expected. `again` is the command that does
/// so once more.
///
/// # Panics
///
/// With the violation, the seed and the command, if the law is broken; if it holds and `known` says
/// that it does not; if no law has the name.
pub fn run<D: Device>(
    laws: Vec<Law<D>>,
    name: &str,
    known: &[ExpectedFailure],
    harness: Harness<D>,
    again: &str,
) {
    let law = laws.into_iter().find(|law| law.full_name() == name);
    let law = law.unwrap_or_else(|| panic!("no law is called {name}"));
    if let Err(complaint) = verdict(&law, known, &harness) {
        panic!("{complaint}\n  again: {again}");
    }
    if let Some(capability) = law.capability.filter(|_| !law.applies(&harness)) {
        println!("{name}: not applicable: the device does not declare {capability}, and refuses it by name");
    }
}

/// Whether a law's outcome is the expected one, and the message if not.
fn verdict<D: Device>(law: &Law<D>, known: &[ExpectedFailure], harness: &Harness<D>) -> Result<(), String> {
    let name = law.full_name();
    let reason = known.iter().find(|(known, _)| *known == name).map(|(_, reason)| reason);
    match (law.check(harness), reason) {
        (Ok(()), None) | (Err(_), Some(_)) => Ok(()),
        (Ok(()), Some(reason)) => Err(format!("{name} holds, and was expected to fail: {reason}")),
        (Err(violation), None) => {
            let (seed, cases) = (harness.seed(), harness.cases());
            Err(format!("{name} ({}): {violation}\n  seed {seed}, {cases} cases", law.summary))
        }
    }
}

/// Checks that each expected failure names a law, once.
///
/// # Panics
///
/// On a name that no law has, or that is listed twice.
pub fn check_names(known: &[ExpectedFailure]) {
    for (at, (name, _)) in known.iter().enumerate() {
        assert!(crate::registry::is_name(name), "no law is called {name}");
        assert!(known[..at].iter().all(|(earlier, _)| earlier != name), "{name} is listed twice");
    }
}
