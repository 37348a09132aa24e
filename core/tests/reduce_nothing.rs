//! The reduction of no elements: a value, or an error if there is none, for every type.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Context, ErasedArray, Error,
    function::{DeviceFunction, ElementType, Function, FunctionErrorKind, ReduceOperation, Reduction},
};
use devarray_mock::MockDevice;

/// The bytes of the result of a reduction of no elements.
fn of_nothing(operation: &str, element_type: ElementType, kept: usize) -> Result<Vec<u8>, Error> {
    let stream = Context::new(MockDevice::new())?.stream()?;
    let x = ErasedArray::zeros(&stream, &[kept, 0], element_type.len_bytes())?;
    let reduction = Reduction::new(ReduceOperation::from_name(operation).unwrap()).axes(&[1]);
    let result =
        Function::parse("x0", &[element_type], &[])?.reduce(&stream, &[x.view()], &[], &reduction)?;
    result.view().to_bytes(&stream)
}

#[test]
fn extremes_of_nothing_are_errors_unless_there_is_no_result() {
    for element_type in ElementType::ALL {
        for operation in ["min", "max", "argmin", "argmax"] {
            let found = of_nothing(operation, element_type, 1);
            let Err(Error::Function(error)) = found else {
                panic!("{operation} of {element_type}: {found:?}")
            };
            assert_eq!(error.kind(), FunctionErrorKind::Empty);
            assert!(of_nothing(operation, element_type, 0).unwrap().is_empty());
        }
    }
}

#[test]
fn everything_else_has_a_value() {
    for element_type in ElementType::ALL {
        assert_eq!(of_nothing("any", element_type, 2).unwrap(), [0, 0]);
        assert_eq!(of_nothing("all", element_type, 2).unwrap(), [1, 1]);
        assert_eq!(of_nothing("count_nonzero", element_type, 1).unwrap(), [0; 8]);
        assert!(of_nothing("sum", element_type, 1).unwrap().iter().all(|&byte| byte == 0));
    }
    assert_eq!(of_nothing("prod", ElementType::F32, 1).unwrap(), 1.0_f32.to_le_bytes());
    assert_eq!(of_nothing("prod", ElementType::Bool, 1).unwrap(), 1_i64.to_le_bytes());
    for operation in ["mean", "var", "std"] {
        assert_eq!(of_nothing(operation, ElementType::F64, 1).unwrap(), f64::NAN.to_le_bytes());
        assert_eq!(of_nothing(operation, ElementType::F16, 1).unwrap(), [0x00, 0x7e]);
    }
}
