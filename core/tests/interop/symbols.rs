//! Laws of every backend's variables of modules, given a module with the variables `scale` of 16
//! bytes and `table` of 4,096. They are generic over the device; each is a test of the simulator,
//! of the fake driver, and of hardware.

use devarray::{Array, Context, Error, LayoutError, Module, backend::DeviceSymbols};

/// Variables are written in stream order, whole and in part, and read back; they are 0 before.
pub(crate) fn written_and_read<D: DeviceSymbols>(context: &Context<D>, module: &Module<D>) {
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let mut table = module.symbol::<u32>("table").unwrap();
    assert_eq!(table.len(), 1024);
    let old = table.to_vec(&one).unwrap();
    assert_eq!(old, [0; 1024]);
    let numbers: Vec<u32> = (0..1024).collect();
    // Each write waits for the read of the previous value, on another stream.
    for round in 0..10_u32 {
        table.write(&one, 0, &numbers).unwrap();
        table.write(&one, 1000, &[round; 24]).unwrap();
        let copy = table.view().to_contiguous(&two, devarray::Order::C).unwrap();
        table.write(&one, 0, &[7; 1024]).unwrap();
        let copy = copy.to_vec(&two).unwrap();
        assert_eq!((&copy[..1000], &copy[1000..]), (&numbers[..1000], &[round; 24][..]));
    }
    assert_eq!(table.to_vec(&two).unwrap(), [7; 1024]);
    table.write(&one, 0, &[0; 1024]).unwrap();
}

/// Bytes that do not fit are refused before anything is enqueued.
pub(crate) fn sizes_are_checked<D: DeviceSymbols>(context: &Context<D>, module: &Module<D>) {
    let stream = context.stream().unwrap();
    let mut scale = module.symbol::<f32>("scale").unwrap();
    scale.write(&stream, 0, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let uploads = context.statistics().uploads;
    for (start, len) in [(0, 5), (4, 1), (5, 0), (usize::MAX, 1), (3, 2)] {
        let refused = scale.write(&stream, start, &vec![9.0; len]).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::OutOfBounds { len: 4, .. }, ..)), "{refused}");
    }
    scale.write(&stream, 4, &[]).unwrap();
    assert_eq!(context.statistics().uploads, uploads);
    assert_eq!(scale.to_vec(&stream).unwrap(), [1.0, 2.0, 3.0, 4.0]);
    scale.write(&stream, 0, &[0.0; 4]).unwrap();
}

/// A name that does not exist, a name that is taken, and elements that do not divide a variable.
pub(crate) fn names_and_elements_are_checked<D: DeviceSymbols>(_: &Context<D>, module: &Module<D>) {
    let refused = module.symbol::<f32>("scales").unwrap_err();
    assert!(matches!(refused, Error::Handle { operation: "symbol", .. }), "{refused}");
    let scale = module.symbol::<u8>("scale").unwrap();
    let taken = module.clone().symbol::<u8>("scale").unwrap_err();
    assert!(matches!(taken, Error::Handle { operation: "symbol", .. }), "{taken}");
    drop(scale);
    let refused = module.symbol::<[u32; 3]>("scale").unwrap_err();
    assert!(
        matches!(refused, Error::Layout(LayoutError::ElementSize { item_bytes: 12, .. }, ..)),
        "{refused}"
    );
    assert_eq!(module.symbol::<[u32; 4]>("scale").unwrap().len(), 1);
}

/// The module goes when its last symbol and the work on it are gone, whatever is dropped first.
pub(crate) fn the_module_goes_last<D: DeviceSymbols>(context: &Context<D>, module: Module<D>) {
    let stream = context.stream().unwrap();
    let mut scale = module.symbol::<u32>("scale").unwrap();
    drop(module);
    scale.write(&stream, 0, &[5; 4]).unwrap();
    let copy = scale.view().to_contiguous(&stream, devarray::Order::C).unwrap();
    drop(scale);
    assert_eq!(copy.to_vec(&stream).unwrap(), [5; 4]);
    let more = Array::<u32, D>::zeros(&stream, &[4]).unwrap();
    assert_eq!(more.to_vec(&stream).unwrap(), [0; 4]);
}
