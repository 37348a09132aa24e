//! Keeps panics away from C code: a panic that reached it would abort the process.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs a function that C code calls: a panic ends here, and its message is the error. The panic
/// hook has reported it before.
///
/// ```
/// use devarray_interop::catch_for_c;
///
/// unsafe extern "C" fn half(number: i32) -> i32 {
///     catch_for_c(|| number.checked_div(2).expect("two is not zero")).unwrap_or(-1)
/// }
/// // SAFETY: it may be called with any number.
/// assert_eq!(unsafe { half(14) }, 7);
/// assert_eq!(catch_for_c(|| -> u8 { panic!("no {}", 7) }), Err("no 7".to_owned()));
/// ```
///
/// # Errors
///
/// The message of the panic.
pub fn catch_for_c<R>(run: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
        let text = told(&*payload);
        // Its drop could panic again.
        mem::forget(payload);
        text
    })
}

fn told(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Drops an object that other code gives back. The destructor of an attached object may panic.
pub(crate) fn drop_for_c<T>(value: T) {
    // The panic hook reported it; there is nobody else to tell.
    let _ = catch_for_c(|| drop(value));
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::catch_for_c;

    struct PanicsToo;

    impl Drop for PanicsToo {
        fn drop(&mut self) {
            panic!("in the drop of a payload");
        }
    }

    /// Covers a payload that panics when it is dropped.
    #[test]
    fn no_panic_gets_out() {
        assert_eq!(catch_for_c(|| 7), Ok(7));
        assert_eq!(catch_for_c(|| panic_any("text")), Err::<(), _>("text".to_owned()));
        let panicked = catch_for_c(|| panic_any(PanicsToo));
        assert_eq!(panicked, Err::<(), _>("a panic without a message".to_owned()));
        let twin = std::panic::catch_unwind(|| drop(std::panic::catch_unwind(|| panic_any(PanicsToo))));
        assert!(twin.is_err());
    }
}
