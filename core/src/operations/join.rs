//! Copies that belong together. They are submitted as one, so that a backend may run them together.

use smallvec::SmallVec;

use super::Elements;
use crate::{
    Result,
    allocation::AllocationAccess,
    backend::{CopyOp, Device, Stream},
    copy::Plan,
    statistics::Work,
    stream::StreamCore,
};

/// The most copies that are submitted at a time. More would not be faster, and would need memory
/// without bound.
pub(crate) const MAX_TOGETHER: usize = 64;

impl<D: Device> StreamCore<D> {
    /// Copies the second of each pair to the first, which has its shape. No other pair reads or
    /// writes what a pair writes. The caller checked this, and that everything belongs to this
    /// context. Does not synchronize.
    #[track_caller]
    pub(crate) fn copy_all(&self, pairs: &[[Elements<'_, D>; 2]]) -> Result<()> {
        if let Some(recorder) = self.recorder() {
            return recorder.copy_all(pairs);
        }
        if let [[dst, src]] = pairs {
            let plan = self.plan(dst.layout, src.layout, dst.item_bytes)?;
            return self.submit_copy(dst.touch(true), src.touch(false), &plan);
        }
        let mut plans: SmallVec<[Plan; 4]> = SmallVec::new();
        for [dst, src] in pairs {
            plans.push(self.plan(dst.layout, src.layout, dst.item_bytes)?);
        }
        let mut ops: SmallVec<[CopyOp<'_, D::Buffer>; 4]> = SmallVec::new();
        let mut touches: SmallVec<[[AllocationAccess<'_, D>; 2]; 4]> = SmallVec::new();
        for ([dst, src], plan) in pairs.iter().zip(&plans).filter(|(_, plan)| plan.len_bytes() > 0) {
            let (to, from) = (dst.allocation.buffer(), src.allocation.buffer());
            ops.push(CopyOp { dst: to, src: from, plan, checked: true });
            touches.push([dst.touch(true), src.touch(false)]);
        }
        if ops.is_empty() {
            return Ok(());
        }
        let works = ops.iter().map(|op| Work::Copy { len_bytes: op.plan().len_bytes() });
        self.submit_all(works.zip(touches.iter().map(|touches| &touches[..])))?.begin().raw().copy_all(&ops)
    }
}
