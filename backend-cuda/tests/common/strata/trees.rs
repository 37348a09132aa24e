//! Every primitive, every pair and every triple of primitives, by number.

use devarray::function::ElementType;
use devarray_conformance::Rng;

use super::primitives::{Made, Node, Tree, Typed, Varies, element_types};

/// Primitives where one reads what the others set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joined {
    /// One alone.
    One(Typed),
    /// The second reads the first as one of its operands.
    Two(Typed, (Typed, usize)),
    /// The third reads the second, which reads the first.
    Chain(Typed, (Typed, usize), (Typed, usize)),
    /// The third reads the first and the second.
    Both([Typed; 2], (Typed, [usize; 2])),
}

/// All of them: with one primitive, with two, with three.
#[derive(Debug)]
pub(crate) struct Trees {
    pub(crate) ones: Vec<Joined>,
    pub(crate) pairs: Vec<Joined>,
    pub(crate) triples: Vec<Joined>,
}

impl Trees {
    pub(crate) fn all() -> Self {
        let all = Typed::all();
        // The operands that can read what a primitive sets.
        let readers = |of: Typed| {
            let places = move |reader: Typed| {
                let operands = reader.operands().into_iter().enumerate();
                operands.filter(move |&(_, operand)| operand == of.result()).map(move |(at, _)| (reader, at))
            };
            all.iter().copied().flat_map(places)
        };
        let ones = all.iter().copied().map(Joined::One).collect();
        let pairs: Vec<(Typed, (Typed, usize))> =
            all.iter().flat_map(|&first| readers(first).map(move |second| (first, second))).collect();
        let chains = pairs.iter().flat_map(|&(first, second)| {
            readers(second.0).map(move |third| Joined::Chain(first, second, third))
        });
        let mut triples: Vec<Joined> = chains.collect();
        for &third in &all {
            let operands = third.operands();
            let places = (0..operands.len()).flat_map(|x| (x + 1..operands.len()).map(move |y| [x, y]));
            for [x, y] in places {
                let setting =
                    |at: usize| all.iter().copied().filter(move |one| one.result() == third.operands()[at]);
                for first in setting(x) {
                    triples.extend(setting(y).map(|second| Joined::Both([first, second], (third, [x, y]))));
                }
            }
        }
        let pairs = pairs.into_iter().map(|(first, second)| Joined::Two(first, second)).collect();
        Self { ones, pairs, triples }
    }
}

/// Adds a primitive to a tree: some operands are there, the others are leaves.
fn applied(tree: &mut Tree, rng: &mut Rng, typed: Typed, there: &[(usize, usize)], lane: bool) -> usize {
    let types = typed.operands();
    let missing = types.len() - there.len();
    // One leaf differs from lane to lane, so that not all is a constant; where it is, is drawn.
    let (chosen, mut seen) = (rng.below(missing.max(1)), 0);
    let mut operands = Vec::new();
    for (at, &of) in types.iter().enumerate() {
        if let Some(&(_, node)) = there.iter().find(|&&(place, _)| place == at) {
            operands.push(node);
            continue;
        }
        let mut varies = *rng.pick(&Varies::ALL);
        if lane && seen == chosen {
            varies = *rng.pick(&[Varies::Lane, Varies::Lane, Varies::Row, Varies::Uniform]);
        }
        seen += 1;
        operands.push(tree.push(Node::Leaf(varies, *rng.pick(element_types(of)))));
    }
    tree.apply(typed, &operands)
}

impl Joined {
    /// The primitives, the one whose result is stored last.
    pub(crate) fn primitives(self) -> Vec<Typed> {
        match self {
            Self::One(one) => vec![one],
            Self::Two(first, (second, _)) => vec![first, second],
            Self::Chain(first, (second, _), (third, _)) => vec![first, second, third],
            Self::Both([first, second], (third, _)) => vec![first, second, third],
        }
    }

    /// A function of these primitives, the kinds of whose operands and elements are drawn.
    pub(crate) fn made(self, rng: &mut Rng) -> Made {
        let mut tree = Tree::default();
        let rng_of_leaves = &mut *rng;
        let last = match self {
            Self::One(one) => {
                applied(&mut tree, rng_of_leaves, one, &[], true);
                one
            }
            Self::Two(first, (second, at)) => {
                let x = applied(&mut tree, rng_of_leaves, first, &[], true);
                applied(&mut tree, rng_of_leaves, second, &[(at, x)], false);
                second
            }
            Self::Chain(first, (second, at), (third, then)) => {
                let x = applied(&mut tree, rng_of_leaves, first, &[], true);
                let y = applied(&mut tree, rng_of_leaves, second, &[(at, x)], false);
                applied(&mut tree, rng_of_leaves, third, &[(then, y)], false);
                third
            }
            Self::Both([first, second], (third, [at, then])) => {
                let x = applied(&mut tree, rng_of_leaves, first, &[], true);
                let y = applied(&mut tree, rng_of_leaves, second, &[], true);
                applied(&mut tree, rng_of_leaves, third, &[(at, x), (then, y)], false);
                third
            }
        };
        let result_type: ElementType = *rng.pick(element_types(last.result()));
        tree.program(rng, result_type)
    }
}
