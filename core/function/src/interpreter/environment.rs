//! The rounding of floats in the calling thread, which other code may have changed.
#![allow(unsafe_code)] // reads and sets the control register of the thread

/// While it lives, floats are rounded to nearest even and subnormals are kept. Dropping it restores
/// the thread's settings.
#[derive(Debug)]
pub struct FloatEnvironment {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    before: Control,
}

#[cfg(target_arch = "x86_64")]
type Control = u32;
#[cfg(target_arch = "aarch64")]
type Control = u64;

/// All exceptions are masked, rounding is to nearest, and subnormals are kept: the value of these
/// bits, and their mask.
#[cfg(target_arch = "x86_64")]
const STANDARD: (Control, Control) = (0x1f80, 0xffc0);
#[cfg(target_arch = "aarch64")]
const STANDARD: (Control, Control) = (0, 0x07c8_9f00);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl FloatEnvironment {
    /// Sets the standard from here on.
    #[must_use]
    pub fn standard() -> Self {
        let before = control();
        let (standard, mask) = STANDARD;
        if before & mask != standard {
            set_control(before & !mask | standard);
        }
        Self { before }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl Drop for FloatEnvironment {
    fn drop(&mut self) {
        let (standard, mask) = STANDARD;
        if self.before & mask != standard {
            set_control(self.before);
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl FloatEnvironment {
    /// Sets the standard from here on.
    #[must_use]
    pub fn standard() -> Self {
        Self {}
    }
}

#[cfg(target_arch = "x86_64")]
fn control() -> Control {
    let mut value = 0_u32;
    // SAFETY: stores the register's 4 bytes into the variable
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack)) };
    value
}

#[cfg(target_arch = "x86_64")]
fn set_control(value: Control) {
    // SAFETY: the value was read from the register, except for bits that every processor has
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
}

#[cfg(target_arch = "aarch64")]
fn control() -> Control {
    let value: u64;
    // SAFETY: reads a register
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack)) };
    value
}

#[cfg(target_arch = "aarch64")]
fn set_control(value: Control) {
    // SAFETY: the value was read from the register, except for bits that every processor has
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack)) };
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// A mode that other code may have set: subnormal results and operands count as 0.
    const FLUSH: Control = 1 << 15 | 1 << 6;

    #[test]
    fn subnormals_are_kept_whatever_the_thread_had() {
        let product = || std::hint::black_box(1e-30_f32) * std::hint::black_box(1e-10_f32);
        set_control(control() | FLUSH);
        let flushed = product();
        let kept = {
            let _standard = FloatEnvironment::standard();
            product()
        };
        let after = control();
        set_control(after & !FLUSH);
        // Without the guard subnormals must be lost, otherwise the test shows nothing.
        assert_eq!(flushed, 0.0);
        assert_eq!(kept, 1e-40);
        assert_eq!(after & FLUSH, FLUSH);
    }

    #[test]
    fn constants_do_not_depend_on_the_thread() {
        use crate::{ElementType, Function};
        let expand = || {
            let text = "x0 + cast(1e-30, f32) * cast(1e-10, f32) - 1e-40";
            Function::parse(text, &[ElementType::F32], &[]).expect("it parses").expand()
        };
        let expected = expand();
        set_control(control() | FLUSH);
        let found = expand();
        set_control(control() & !FLUSH);
        assert_eq!(found, expected);
    }
}
