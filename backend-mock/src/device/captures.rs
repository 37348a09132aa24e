//! Launches of recorded work: nothing is captured. The calls are made one by one, in an order that is chosen.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::ops::Range;

use devarray::{
    Result,
    backend::{Captured, Captures},
};

use super::stream::MockStream;

// SAFETY: nothing is captured.
unsafe impl Captures for MockStream {
    fn capture(&self) -> Result<Option<Self>> {
        Ok(None)
    }

    fn order_of_calls(&self, behind: &[Box<[usize]>]) -> Option<Vec<usize>> {
        let mut engine = self.shared().engine();
        Some(order(behind, |ways| engine.choose_call(ways)))
    }

    fn end_capture(self) -> Result<Box<dyn Captured>> {
        unreachable!("no stream captures")
    }

    unsafe fn launch_captured(&self, _: &dyn Captured, _: Range<u64>) -> Result<()> {
        unreachable!("nothing was captured")
    }
}

/// An order in which each call comes after those that it is behind. `choose` tells which of some calls, from the first
/// recorded to the last, comes next.
fn order(behind: &[Box<[usize]>], mut choose: impl FnMut(usize) -> usize) -> Vec<usize> {
    let mut missing: Vec<usize> = behind.iter().map(|behind| behind.len()).collect();
    let mut followers = vec![Vec::new(); behind.len()];
    for (call, behind) in behind.iter().enumerate() {
        behind.iter().for_each(|&earlier| followers[earlier].push(call));
    }
    let mut ready: Vec<usize> = (0..behind.len()).filter(|&call| missing[call] == 0).collect();
    let mut order = Vec::with_capacity(behind.len());
    while !ready.is_empty() {
        let next = ready.remove(choose(ready.len()));
        order.push(next);
        for &follower in &followers[next] {
            missing[follower] -= 1;
            if missing[follower] == 0 {
                ready.insert(ready.partition_point(|&call| call < follower), follower);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn calls_come_in_any_order_behind_those_that_they_follow() {
        let behind: [Box<[usize]>; 5] = [[].into(), [].into(), [1, 0].into(), [0].into(), [3].into()];
        assert_eq!(order(&behind, |_| 0), [0, 1, 2, 3, 4]);
        assert_eq!(order(&behind, |ways| ways - 1), [1, 0, 3, 4, 2]);
        assert_eq!(order(&[], |_| 0), [0; 0]);
    }
}
