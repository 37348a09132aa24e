//! From a plan to the driver calls that carry it out: one, up to 1 GiB.
#![allow(unsafe_code)] // enqueues driver copies of the bytes that a plan names

use std::{ptr, sync::Mutex};

use devarray::copy::{Class, Plan};

use crate::{
    context::Context,
    driver::{Answer, Driver, INVALID_VALUE, sys},
    handle::locked,
    kernels::{Kind, Params},
    stream::StridedState,
    strided::Addresses,
};

/// Shortest rows, in bytes, that the driver's pitched copies are used for; shorter ones go to the gather kernel.
///
/// A guess: half a 128-byte line. To be set by measuring both on rows of 16 bytes to 1 KiB.
const MIN_PITCHED_ROW_BYTES: usize = 64;

/// Enqueues the copy of `plan` from the buffer at `src` to the buffer at `dst`. The context of `stream` is bound.
/// `strided`: what strided copies know of the stream.
pub(super) fn enqueue(
    driver: &Driver,
    stream: sys::CUstream,
    strided: &Mutex<StridedState>,
    context: &Context,
    plan: &Plan,
    (dst, src): (u64, u64),
) -> Answer {
    if !matches!(plan.class(), Class::Empty | Class::Linear) {
        // Until it is launched, nobody else gets the handle.
        let StridedState { shared, chosen } = &mut *locked(strided);
        if context.strided().copy(driver, stream, plan, Addresses { dst, src }, !*shared, chosen)? {
            return Ok(());
        }
    }
    let pitched = match plan.class() {
        Class::Empty => return Ok(()),
        Class::Linear => {
            let dst = dst + plan.dst_offset_bytes() as u64;
            let src = src + plan.src_offset_bytes() as u64;
            // SAFETY: core made the plan for these buffers, alive in stream order, and its two sides are disjoint.
            return unsafe { driver.memcpy_dtod_async(dst, src, plan.len_bytes(), stream) };
        }
        Class::Pitched { width_bytes, height, dst_pitch_bytes, src_pitch_bytes }
            if width_bytes >= MIN_PITCHED_ROW_BYTES =>
        {
            let mut copy = pitched_2d(plan, dst, src);
            copy.WidthInBytes = width_bytes;
            copy.Height = height;
            copy.dstPitch = dst_pitch_bytes;
            copy.srcPitch = src_pitch_bytes;
            // SAFETY: as the linear copy; rows, pitches and height are those of the plan.
            unsafe { driver.memcpy_2d_async(&raw const copy, stream) }
        }
        Class::Pitched3 {
            width_bytes,
            height,
            depth,
            dst_pitch_bytes,
            src_pitch_bytes,
            dst_slice_rows,
            src_slice_rows,
        } if width_bytes >= MIN_PITCHED_ROW_BYTES => {
            let mut copy = pitched_3d(plan, dst, src);
            copy.WidthInBytes = width_bytes;
            copy.Height = height;
            copy.Depth = depth;
            copy.dstPitch = dst_pitch_bytes;
            copy.srcPitch = src_pitch_bytes;
            copy.dstHeight = dst_slice_rows;
            copy.srcHeight = src_slice_rows;
            // SAFETY: as the linear copy; rows, pitches, heights and depth are those of the plan.
            unsafe { driver.memcpy_3d_async(&raw const copy, stream) }
        }
        _ => Err(INVALID_VALUE),
    };
    // "cuMemcpy2DAsync() may fail for pitches not computed by cuMemAllocPitch()" (cuda.h): then, as for every other
    // class, the kernel copies. This failure has no effect.
    if pitched == Err(INVALID_VALUE) {
        let params = Params::gather(plan, dst, src).ok_or(INVALID_VALUE)?;
        return context.kernels().launch(driver, stream, Kind::Gather, &params);
    }
    pitched
}

fn pitched_2d(plan: &Plan, dst: u64, src: u64) -> sys::CUDA_MEMCPY2D {
    sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: src + plan.src_offset_bytes() as u64,
        srcArray: ptr::null_mut(),
        srcPitch: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: ptr::null_mut(),
        dstDevice: dst + plan.dst_offset_bytes() as u64,
        dstArray: ptr::null_mut(),
        dstPitch: 0,
        WidthInBytes: 0,
        Height: 0,
    }
}

fn pitched_3d(plan: &Plan, dst: u64, src: u64) -> sys::CUDA_MEMCPY3D {
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: src + plan.src_offset_bytes() as u64,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: ptr::null_mut(),
        dstDevice: dst + plan.dst_offset_bytes() as u64,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: 0,
        Height: 0,
        Depth: 0,
    }
}
