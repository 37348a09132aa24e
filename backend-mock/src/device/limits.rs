//! The limits of pitched copies, beyond which a driver refuses them.

use devarray::{
    Error, Result,
    backend::Capabilities,
    copy::{Class, Plan},
};

use crate::backend::BACKEND;

/// Refuses a copy of rows that a device with these limits cannot do, because it was planned for
/// another device.
pub(crate) fn check(plan: &Plan, limits: &Capabilities) -> Result<()> {
    let (width_bytes, height, pitches) = match plan.class() {
        Class::Pitched { width_bytes, height, dst_pitch_bytes, src_pitch_bytes }
        | Class::Pitched3 { width_bytes, height, dst_pitch_bytes, src_pitch_bytes, .. } => {
            (width_bytes, height, [dst_pitch_bytes, src_pitch_bytes])
        }
        _ => return Ok(()),
    };
    let fits = width_bytes <= limits.max_width_bytes
        && height <= limits.max_height
        && pitches.into_iter().all(|pitch| pitch <= limits.max_pitch_bytes);
    if fits {
        return Ok(());
    }
    Err(Error::Driver {
        backend: BACKEND,
        operation: "copy",
        code: 1,
        name: "beyond the limits of rows".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use devarray::Layout;

    use super::*;

    #[test]
    fn a_plan_for_another_device_is_refused_and_one_for_this_is_not() {
        let (dst, src) = (Layout::new(&[9, 4], &[4, 1], 0), Layout::new(&[9, 4], &[20, 1], 0));
        let (dst, src) = (dst.expect("fits"), src.expect("fits"));
        let plan = |limits: &Capabilities| Plan::new(&dst, &src, 4, limits).expect("fits");
        let wide = Capabilities::default();
        let mut narrow = [wide.clone(), wide.clone(), wide.clone()];
        narrow[0].max_pitch_bytes = 79;
        narrow[1].max_width_bytes = 15;
        narrow[2].max_height = 8;
        assert_eq!(check(&plan(&wide), &wide), Ok(()));
        for limits in narrow {
            assert!(matches!(check(&plan(&wide), &limits), Err(Error::Driver { .. })), "{limits:?}");
            assert_eq!(check(&plan(&limits), &limits), Ok(()));
        }
    }
}
