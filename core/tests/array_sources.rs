//! Calls that read elements take arrays and views alike.

use devarray::{Array, Context, Error, LayoutError, Result, math};
use devarray_mock::MockDevice;

#[test]
fn copies_from_arrays_and_views() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let mut source = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
    let mut copy = Array::zeros(&stream, &[2, 2])?;

    copy.view_mut().copy_from(&stream, &source)?;
    assert_eq!(copy.to_vec(&stream)?, [1, 2, 3, 4]);
    copy.view_mut().copy_from(&stream, &source.transpose())?;
    assert_eq!(copy.to_vec(&stream)?, [1, 3, 2, 4]);
    copy.view_mut().copy_from(&stream, &source.view_mut().flip(&[0])?)?;
    assert_eq!(copy.to_vec(&stream)?, [3, 4, 1, 2]);
    let shared = source.into_shared();
    copy.view_mut().copy_from(&stream, &&shared)?;
    assert_eq!(copy.to_vec(&stream)?, [1, 2, 3, 4]);

    let wide = Array::<i32, _>::zeros(&stream, &[2, 3])?;
    let refused = copy.view_mut().copy_from(&stream, &wide).unwrap_err();
    assert!(matches!(refused, Error::Layout(LayoutError::ShapeMismatch { .. }, ..)));

    let elsewhere = Context::new(MockDevice::new())?.stream()?;
    let mut far = Array::<i32, _>::zeros(&elsewhere, &[2, 2])?;
    assert!(matches!(far.view_mut().copy_from(&elsewhere, &copy), Err(Error::DeviceMismatch { .. })));
    far.view_mut().copy_across(&elsewhere, &stream, &copy)?;
    assert_eq!(far.to_vec(&elsewhere)?, [1, 2, 3, 4]);
    Ok(())
}

#[test]
fn the_place_of_what_is_made_is_the_callers() -> Result<()> {
    let device = MockDevice::new();
    let stream = Context::new(device.clone())?.stream()?;
    let x = Array::from_slice(&stream, &[2], &[1.0_f32, 1.0])?;
    let line = line!() + 1;
    let shares = math::softmax(&stream, &x, 0)?;
    assert_eq!(shares.to_vec(&stream)?, [0.5, 0.5]);
    let report = device.report().to_string(); // names what is alive
    assert!(report.contains(&format!("array_sources.rs:{line}:")), "{report}");
    Ok(())
}

#[test]
fn an_item_is_the_only_element() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let x = Array::from_slice(&stream, &[2, 2], &[1.0_f32, 2.0, 2.0, 4.0])?;
    assert_eq!(math::norm(&stream, &x)?.item(&stream)?, 5.0);
    assert_eq!(x.slice_axis(0, 1..)?.slice_axis(1, ..1)?.item(&stream)?, 2.0);

    for shape in [[2, 2], [0, 2]] {
        let x = Array::<f32, _>::zeros(&stream, &shape)?;
        let refused = x.item(&stream).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::LengthMismatch { .. }, ..)), "{refused}");
    }
    Ok(())
}

#[test]
fn erased_forms_are_the_same_elements() -> Result<()> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let x = Array::from_slice(&stream, &[3], &[1_u16, 2, 3])?;
    let copies = [
        x.as_erased().try_clone(&stream)?,
        x.flip(&[0])?.into_erased().to_contiguous(&stream, devarray::Order::C)?,
    ];
    let [same, flipped] = copies.map(|copy| Array::<u16, _>::from_erased(copy)?.to_vec(&stream));
    assert_eq!((same?, flipped?), (vec![1, 2, 3], vec![3, 2, 1]));
    Ok(())
}
