//! The calls of a capture: each comes behind some earlier ones, and runs beside the others.

use crate::{driver::sys, handle::Handle};

/// A node of the driver's graph.
pub(super) type Node = Handle<sys::CUgraphNode_st>;

/// The calls so far. A capture to which nobody told a call is one call.
#[derive(Debug, Default)]
pub(super) struct Branches {
    over: Vec<Call>,
    is_told: bool,
    /// For each call that is over, whether all of it comes before what is captured next.
    before: Vec<bool>,
}

/// A call that is over.
#[derive(Debug)]
struct Call {
    /// Its last nodes. If it has none, those that it comes behind.
    last: Vec<Node>,
    before: Vec<bool>,
}

impl Branches {
    /// The number of the call that is captured.
    pub(super) fn current(&self) -> usize {
        self.over.len()
    }

    /// Whether what is captured next comes behind what a call captured so far.
    pub(super) fn is_behind(&self, call: usize) -> bool {
        call == self.current() || self.before.get(call).is_some_and(|before| *before)
    }

    /// The nodes that come last in a call that is over.
    pub(super) fn last_nodes(&self, call: usize) -> &[Node] {
        &self.over[call].last
    }

    /// Puts what is captured next behind a call that is over, too.
    pub(super) fn come_behind(&mut self, call: usize) {
        let Call { before, .. } = &self.over[call];
        self.before.resize(self.over.len(), false);
        self.before.iter_mut().zip(before).for_each(|(to, from)| *to |= from);
        self.before[call] = true;
    }

    /// Begins the next call behind others. `last` are the nodes behind which the driver would put it. Returns the
    /// nodes behind which it belongs.
    pub(super) fn begin(&mut self, last: &[Node], behind: &[usize]) -> Vec<Node> {
        if self.is_told {
            let before = std::mem::take(&mut self.before);
            self.over.push(Call { last: last.to_vec(), before });
        }
        self.is_told = true;
        let mut nodes: Vec<Node> = Vec::new();
        for &call in behind {
            self.come_behind(call);
            nodes.extend(self.last_nodes(call));
        }
        nodes.sort_unstable_by_key(|node| node.raw());
        nodes.dedup_by_key(|node| node.raw());
        nodes
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::without_provenance_mut;

    use super::*;

    fn nodes(of: &[usize]) -> Vec<Node> {
        of.iter().map(|&of| Node::new(without_provenance_mut(of))).collect()
    }

    #[test]
    fn calls_are_put_behind_the_last_nodes_of_those_that_they_follow() {
        let mut branches = Branches::default();
        assert!(branches.is_behind(0) && branches.current() == 0, "one call, if none is told");
        let addresses =
            |nodes: Vec<Node>| nodes.into_iter().map(|node| node.raw().addr()).collect::<Vec<_>>();
        let mut begin = |last: &[usize], behind: &[usize]| {
            let begun = addresses(branches.begin(&nodes(last), behind));
            let before =
                (0..=branches.current()).filter(|&call| branches.is_behind(call)).collect::<Vec<_>>();
            (begun, before)
        };
        assert_eq!(begin(&[], &[]), (vec![], vec![0]));
        assert_eq!(begin(&[10], &[]), (vec![], vec![1]));
        assert_eq!(begin(&[11, 12], &[0]), (vec![10], vec![0, 2]));
        // Call 2 enqueued nothing.
        assert_eq!(begin(&[10], &[2, 1]), (vec![10, 11, 12], vec![0, 1, 2, 3]));
        assert_eq!(begin(&[13], &[2, 0]), (vec![10], vec![0, 2, 4]));
        branches.come_behind(1);
        assert!((0..5).all(|call| branches.is_behind(call) == (call != 3)));
    }
}
