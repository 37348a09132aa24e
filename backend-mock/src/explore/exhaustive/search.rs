//! Depth-first search through the runs of a program.

use std::collections::BTreeSet;

use super::races::{forks, turns};
use crate::{Trace, engine::Happened};

/// The runs that were made, as far as later runs depend on them.
#[derive(Debug)]
pub(super) struct Search {
    /// Whether only ways that make a difference are tried.
    is_reduced: bool,
    /// The forks of the last run, up to the last one with something left to try.
    path: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    choices: usize,
    done: BTreeSet<usize>,
    open: BTreeSet<usize>,
}

impl Search {
    pub(super) fn reduced() -> Self {
        Self { is_reduced: true, path: Vec::new() }
    }

    /// Tries every way at every fork, for comparison.
    #[cfg(test)]
    pub(super) fn whole() -> Self {
        Self { is_reduced: false, path: Vec::new() }
    }

    /// Learns from a run, and returns the next one to make; none if nothing is left. `trace` is
    /// what the run recorded.
    pub(super) fn next(&mut self, history: &[Happened], trace: &Trace) -> Option<Trace> {
        let forks = forks(history);
        for fork in &forks[self.path.len().min(forks.len())..] {
            let open = if self.is_reduced { 0..0 } else { 0..fork.who.len() };
            let done = [fork.way].into();
            self.path.push(Node { choices: fork.choices, done, open: open.collect() });
        }
        if self.is_reduced {
            for (number, way) in turns(history, &forks) {
                self.path[number].open.insert(way);
            }
        }
        while let Some(node) = self.path.last_mut() {
            while let Some(way) = node.open.pop_first() {
                if node.done.insert(way) {
                    let mut choices = trace.choices()[..node.choices].to_vec();
                    choices.push(way);
                    return Some(choices.into());
                }
            }
            self.path.pop();
        }
        None
    }
}
