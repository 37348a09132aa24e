//! Makes a test for each law that holds on every schedule and leaves nothing allocated.

/// `laws! { MEMORY_BYTES: name … }` tests each function `laws::name` on devices with that much
/// memory.
macro_rules! laws {
    ($memory_bytes:ident: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            everywhere($memory_bytes, |context| {
                laws::$name(context);
                assert_eq!(context.live_allocations(), []);
            });
        })*
    };
}
