//! Copies between devices that may reach each other's memory: two devices if the backend has two,
//! otherwise two contexts of one.

use devarray::{
    Array, Context, Crossing, Error, Order,
    backend::{Capability, PeerAccess},
};

use crate::{
    Harness, Outcome, Pattern, Violation,
    harness::no_background_errors,
    patterns::{SHAPES, elements},
    violation::{ensure, same},
};

/// Two contexts, and the way that copies from the second to the first must take.
struct Pair<D: PeerAccess> {
    here: Context<D>,
    there: Context<D>,
    way: Crossing,
}

/// A pair whose first context is let into the memory of the second, if possible; none if the device
/// does not have peer access, and refuses with the right error.
fn pair<D: PeerAccess>(harness: &Harness<D>) -> Result<Option<Pair<D>>, Violation> {
    let (here, there) = (harness.context()?, harness.second_context()?);
    let can = here.can_access_peer(&there)?;
    let enabled = here.enable_peer_access(&there);
    let way = match (can, &enabled) {
        (true, Ok(())) => Crossing::InPlace,
        (false, Err(Error::Unsupported { capability: Capability::PeerAccess, .. })) => Crossing::Staged,
        _ => return Err(Violation::new(format!("peers: can is {can}, enabling answers {enabled:?}"))),
    };
    let declared = here.device().info().capabilities.extras.has(Capability::PeerAccess);
    Ok(declared.then_some(Pair { here, there, way }))
}

/// Before access is enabled and after it, elements of any layout go to any layout, and no other
/// bytes are touched.
pub fn strided<D: PeerAccess>(harness: &Harness<D>) -> Outcome {
    let (here, there) = (harness.context()?, harness.second_context()?);
    let (s, t) = (here.stream()?, there.stream()?);
    let mut enabled = false;
    for (case, mut rng) in harness.rngs().enumerate() {
        if case == harness.cases() / 2 && here.can_access_peer(&there)? {
            here.enable_peer_access(&there)?;
            enabled = true;
        }
        let shape = SHAPES[case % SHAPES.len()];
        let (target, source) =
            (Pattern::random(&mut rng, shape, false), Pattern::random(&mut rng, shape, true));
        let (mut due, from) = (elements::<u32>(1, target.base_len()), elements::<u32>(2, source.base_len()));
        let mut to = Array::from_slice(&s, &target.base, &due)?;
        let src = Array::from_slice(&t, &source.base, &from)?;
        let way = target.view_mut(&mut to)?.copy_from_peer(&s, &t, &source.view(&src)?)?;
        ensure(!enabled || way == Crossing::InPlace, || {
            format!("a copy went {way:?} though access is enabled")
        })?;
        target.picture().write(&mut due, &source.picture().read(&from));
        same(&to.to_vec(&s)?, &due, &format!("{target:?} from {source:?} of a peer, {way:?}"))?;
        same(&src.to_vec(&t)?, &from, "the source of a copy to a peer")?;
    }
    no_background_errors(&here)?;
    no_background_errors(&there)
}

/// A copy waits for earlier work on both sides, on any streams, and later work on both sides waits
/// for it.
pub fn ordered<D: PeerAccess>(harness: &Harness<D>) -> Outcome {
    let Some(Pair { here, there, way }) = pair(harness)? else { return Ok(()) };
    let (s, t) = (here.stream()?, there.stream()?);
    let (reader, writer) = (here.stream()?, there.stream()?);
    let len = 3000;
    for salt in 0..8 {
        let (old, data, new) =
            (elements::<u32>(99, len), elements::<u32>(salt, len), elements::<u32>(salt + 50, len));
        let mut src = Array::<u32, D>::zeros(&t, &[len])?;
        let mut dst = Array::from_slice(&s, &[len], &old)?;
        let kept = dst.view().to_contiguous(&reader, Order::C)?;
        src.view_mut().copy_from_slice(&writer, &data)?;
        let went = dst.view_mut().copy_from_peer(&s, &t, &src.view())?;
        ensure(went == way, || format!("a copy went {went:?}, {way:?} is due"))?;
        // The source's own context must neither write nor free memory that is still being read.
        src.view_mut().copy_from_slice(&writer, &new)?;
        let next = src.view().to_contiguous(&writer, Order::C)?;
        drop(src);
        let recycled = Array::full(&writer, &[len], 7_u32)?;
        same(&dst.to_vec(&reader)?, &data, "what another stream sees of a copy from a peer")?;
        same(&kept.to_vec(&reader)?, &old, "what was read before a peer's elements were copied over")?;
        same(&next.to_vec(&t)?, &new, "what was written over the source of a copy")?;
        same(&recycled.to_vec(&t)?, &vec![7; len], "memory allocated after the source was dropped")?;
    }
    no_background_errors(&here)?;
    no_background_errors(&there)
}

/// Copies in both directions, on two streams each, give the results of one program.
pub fn to_and_fro<D: PeerAccess>(harness: &Harness<D>) -> Outcome {
    let Some(Pair { here, there, .. }) = pair(harness)? else { return Ok(()) };
    if there.can_access_peer(&here)? {
        there.enable_peer_access(&here)?;
    }
    let (s, t) = ([here.stream()?, here.stream()?], [there.stream()?, there.stream()?]);
    let due = elements::<u64>(5, 1000);
    let mut ours = Array::from_slice(&s[0], &[10, 100], &due)?;
    let mut theirs = Array::<u64, D>::zeros(&t[0], &[10, 100])?;
    for round in 0..20 {
        let (one, two) = (&s[round % 2], &t[round / 2 % 2]);
        theirs.view_mut().flip(&[0])?.copy_from_peer(two, one, &ours.view())?;
        ours.view_mut().flip(&[0])?.copy_from_peer(one, two, &theirs.view())?;
    }
    same(&ours.to_vec(&s[0])?, &due, "elements that went to and fro")?;
    no_background_errors(&here)?;
    no_background_errors(&there)
}

/// The stream given for each side must belong to that side, and shapes must fit; otherwise the copy
/// is refused and changes nothing. A copy of no elements needs no access.
pub fn refused<D: PeerAccess>(harness: &Harness<D>) -> Outcome {
    let Some(Pair { here, there, way }) = pair(harness)? else { return Ok(()) };
    let (s, t) = (here.stream()?, there.stream()?);
    let src = Array::from_slice(&t, &[3], &[1_u8, 2, 3])?;
    let mut dst = Array::<u8, D>::zeros(&s, &[3])?;
    for (to, from) in [(&t, &s), (&s, &s), (&t, &t)] {
        let refused = dst.view_mut().copy_from_peer(to, from, &src.view());
        let due = matches!(refused, Err(Error::DeviceMismatch { operation: "copy_from_peer", .. }));
        ensure(due, || format!("a copy from a peer with streams of the wrong side: {refused:?}"))?;
    }
    let shapes = dst.view_mut().copy_from_peer(&s, &t, &src.view().expand_dims(0)?);
    ensure(matches!(shapes, Err(Error::Layout(..))), || format!("shapes [3] and [1, 3]: {shapes:?}"))?;
    same(&dst.to_vec(&s)?, &[0; 3], "a destination after refused copies")?;
    let none = Array::<u8, D>::zeros(&t, &[0])?;
    let went = Array::<u8, D>::zeros(&s, &[0])?.view_mut().copy_from_peer(&s, &t, &none.view())?;
    ensure(went == way, || format!("no elements went {went:?}"))?;
    // A device reaches its own memory, also through another context.
    ensure(here.can_access_peer(&here)?, || "a device that does not reach its own memory".to_owned())
}
