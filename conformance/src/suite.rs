//! A `#[test]` for each law, and its body.

use devarray::Device;

use crate::{Harness, Law};

/// A law that a backend is known to break, and the reason. The test still runs.
pub type ExpectedFailure = (&'static str, &'static str);

/// Emits one test for each law: all that a backend needs to run the suite.
///
/// The expression opens a fresh device, as a `Result`, and is evaluated again for each check. If it fails,
/// the test fails.
///
/// ```
/// # mod tests {
/// devarray_conformance::suite!(Ok::<_, devarray::Error>(devarray_mock::MockDevice::new()));
/// # }
/// ```
///
/// On hardware that not every machine has, the tests can be emitted as `#[ignore]`d; with `--ignored` they
/// fail if no device opens:
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
/// Extras have their own laws, for devices that implement their traits. Devices with the capability keep the
/// laws; others refuse with an error that names it. Laws of two devices use a second device, if the backend
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
/// Expected failures are strict: the test fails if a listed law holds, or if a listed name belongs to no law.
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

/// Expands the registry to tests, with a module for each group.
#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ({ open: $open:tt attributes: $attributes:tt laws: $laws:ident }
     $($group:ident { $($code:ident $name:ident $summary:literal;)* })*) => {
        $( $crate::__group_tests! { $laws $open $attributes $group { $($name)* } } )*
    };
}

/// One group of tests: the attributes are repeated for each test.
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

/// The command that runs one test of a suite again, from the names of its crate.
#[doc(hidden)]
#[must_use]
pub fn again(package: &str, module: &str, name: &str, attributes: &str) -> String {
    let path = module.split_once("::").map_or(name.to_owned(), |(_, inside)| format!("{inside}::{name}"));
    let ignored = if attributes.contains("ignore") { " --ignored" } else { "" };
    format!("cargo test -p {package} -- --exact {path}{ignored}")
}

/// Checks one law like a test: returns if the outcome is the expected one, or if the law was
/// [not run](Harness::not_run), and prints the reason then. `again` is the command that repeats the check.
///
/// # Panics
///
/// If the law is broken, with the violation, the seed and the command; if it holds although `known` says that
/// it does not; if no law has the name.
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
    if let Some(reason) = harness.not_run() {
        println!("{name}: not run: {reason}");
    } else if let Some(capability) = law.capability.filter(|_| !law.applies(&harness)) {
        println!("{name}: not applicable: the device does not declare {capability}, and refuses it by name");
    }
}

/// Whether a law's outcome is the expected one; if not, the message.
fn verdict<D: Device>(law: &Law<D>, known: &[ExpectedFailure], harness: &Harness<D>) -> Result<(), String> {
    let name = law.full_name();
    let reason = known.iter().find(|(known, _)| *known == name).map(|(_, reason)| reason);
    match (law.check(harness), reason) {
        (Ok(()), None) | (Err(_), Some(_)) => Ok(()),
        // Nothing is known of a law that was not run.
        (Ok(()), Some(_)) if harness.not_run().is_some() => Ok(()),
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
/// If a name belongs to no law, or is listed twice.
pub fn check_names(known: &[ExpectedFailure]) {
    for (at, (name, _)) in known.iter().enumerate() {
        assert!(crate::registry::is_name(name), "no law is called {name}");
        assert!(known[..at].iter().all(|(earlier, _)| earlier != name), "{name} is listed twice");
    }
}
