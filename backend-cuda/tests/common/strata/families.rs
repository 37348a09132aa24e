//! Random functions. One kind of primitive is common in each.

use devarray::function::{
    ElementType::{self, BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64},
    primitive::{Binary, Constant, RegisterType, Unary},
};
use devarray_conformance::Rng;

use super::primitives::{Made, Node, Tree, Typed, Varies, element_types, literal};

/// The common property of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// Truth values, computed with.
    Booleans,
    /// Integers of all widths, made narrow and wide.
    Integers,
    /// Selections, of every type.
    Selects,
    /// Halves of both kinds, there and back.
    Halves,
    /// `f32` and truth values.
    F32AndBooleans,
    /// Everything alike.
    Mixed,
}

impl Family {
    /// The frequency of a primitive.
    fn weight(self, typed: Typed) -> usize {
        use RegisterType as R;
        let is_select = matches!(typed, Typed::Select(_));
        let is_of = |wanted: R| typed.result() == wanted || typed.operands()[0] == wanted;
        match self {
            Self::Booleans => match typed {
                Typed::Binary(_, R::Bool) | Typed::Unary(Unary::Not, R::Bool) => 16,
                Typed::Select(R::Bool) => 24,
                Typed::Select(_) => 3,
                Typed::Unary(Unary::BoolToB32, _) => 6,
                _ if typed.result() == R::Bool => 1,
                _ => 0,
            },
            Self::Integers => match typed {
                Typed::Unary(Unary::SignExtend | Unary::ZeroExtend | Unary::Wrap, _) => 12,
                _ if is_of(R::F32) || is_of(R::F64) => usize::from(matches!(typed, Typed::Unary(..))),
                _ if is_of(R::B32) || is_of(R::B64) => 2,
                _ => 1,
            },
            Self::Selects => match typed {
                _ if is_select => 40,
                _ if typed.result() == R::Bool => 4,
                _ => 1,
            },
            Self::Halves => match typed {
                Typed::Unary(Unary::HalfToF32 | Unary::F32ToHalf, _) => 20,
                Typed::Select(R::F32 | R::B32) => 5,
                _ if is_of(R::F32) && !is_of(R::F64) && !is_of(R::B64) => 2,
                _ => 0,
            },
            Self::F32AndBooleans => match typed {
                Typed::Select(R::F32 | R::Bool) => 8,
                Typed::Binary(_, R::Bool) | Typed::Unary(Unary::Not, R::Bool) => 4,
                _ if typed.result() == R::Bool && typed.operands()[0] == R::F32 => 4,
                Typed::Fma(R::F32) => 2,
                _ if typed.result() == R::F32 && typed.operands()[0] == R::F32 => 1,
                _ => 0,
            },
            Self::Mixed => 1,
        }
    }

    /// The types of inputs, scalars and literals where any would do.
    fn elements(self) -> &'static [ElementType] {
        match self {
            Self::Booleans => &[Bool, Bool, Bool, I32, F32, U8],
            Self::Integers => &[U8, I8, U16, I16, U32, I32, U64, I64],
            Self::Halves => &[F16, BF16, F16, BF16, F32],
            Self::F32AndBooleans => &[F32, F32, Bool],
            Self::Selects | Self::Mixed => &ElementType::ALL,
        }
    }

    /// An element type of a register type, one of the above if there is one.
    fn element(self, rng: &mut Rng, of: RegisterType) -> ElementType {
        let own = self.elements().iter().copied().filter(|&own| RegisterType::of(own) == of);
        let own: Vec<ElementType> = own.collect();
        *rng.pick(if own.is_empty() { element_types(of) } else { &own })
    }
}

/// A function that is being made.
struct Making<'r> {
    rng: &'r mut Rng,
    family: Family,
    /// Primitives, and the sums of their weights so far.
    weights: Vec<(Typed, usize)>,
    tree: Tree,
    used: Vec<bool>,
}

impl Making<'_> {
    fn push(&mut self, node: Node) -> usize {
        self.used.push(false);
        self.tree.push(node)
    }

    fn apply(&mut self, typed: Typed, operands: &[usize]) -> usize {
        operands.iter().for_each(|&operand| self.used[operand] = true);
        self.used.push(false);
        self.tree.apply(typed, operands)
    }

    fn leaf(&mut self, of: RegisterType) -> usize {
        let element_type = self.family.element(self.rng, of);
        let how = [Varies::Uniform, Varies::Lane, Varies::Lane];
        let varies = if self.rng.below(2) == 0 { *self.rng.pick(&how) } else { *self.rng.pick(&Varies::ALL) };
        self.push(Node::Leaf(varies, element_type))
    }

    /// A node of a type: one that nothing reads yet, or a late one, or a new leaf.
    fn of(&mut self, wanted: RegisterType) -> usize {
        let found: Vec<usize> =
            (0..self.used.len()).filter(|&node| self.tree.type_of(node) == wanted).collect();
        if found.is_empty() || self.rng.below(5) == 0 {
            return self.leaf(wanted);
        }
        let unused: Vec<usize> = found.iter().copied().filter(|&node| !self.used[node]).collect();
        if !unused.is_empty() && self.rng.below(2) == 0 {
            return *self.rng.pick(&unused);
        }
        found[self.rng.below(found.len()).max(self.rng.below(found.len()))]
    }

    fn number(&mut self, bits: u32) -> usize {
        self.push(Node::Literal(Constant::B32(bits)))
    }

    /// A primitive, or a few that belong together.
    fn step(&mut self) {
        match self.family {
            Family::Integers if self.rng.below(4) == 0 => self.narrowed(),
            Family::Halves if self.rng.below(3) == 0 => self.brain(),
            _ => {
                let total = self.weights.last().map_or(0, |&(_, sum)| sum);
                let drawn = self.rng.below(total);
                let at = self.weights.partition_point(|&(_, sum)| sum <= drawn);
                let typed = self.weights[at].0;
                let operands: Vec<usize> = typed.operands().into_iter().map(|of| self.of(of)).collect();
                self.apply(typed, &operands);
            }
        }
    }

    /// A cast to 8 or 16 bits, as the library writes it.
    fn narrowed(&mut self) {
        let a = self.of(RegisterType::B32);
        let bits = *self.rng.pick(&[8, 16]);
        if self.rng.below(2) == 0 {
            let mask = self.number((1 << bits) - 1);
            self.apply(Typed::Binary(Binary::And, RegisterType::B32), &[a, mask]);
        } else {
            let by = self.number(32 - bits);
            let high = self.apply(Typed::Binary(Binary::ShiftLeft, RegisterType::B32), &[a, by]);
            self.apply(Typed::Binary(Binary::ShiftRightSigned, RegisterType::B32), &[high, by]);
        }
    }

    /// A cast from `bf16` to `f32`, or back, rounded to nearest even.
    fn brain(&mut self) {
        use RegisterType::{B32, F32};
        let by = self.number(16);
        if self.rng.below(2) == 0 {
            let half = self.of(B32);
            let high = self.apply(Typed::Binary(Binary::ShiftLeft, B32), &[half, by]);
            self.apply(Typed::Unary(Unary::FromBits, B32), &[high]);
        } else {
            let number = self.of(F32);
            let bits = self.apply(Typed::Unary(Unary::ToBits, F32), &[number]);
            let (one, middle) = (self.number(1), self.number(0x7fff));
            let low = self.apply(Typed::Binary(Binary::ShiftRight, B32), &[bits, by]);
            let odd = self.apply(Typed::Binary(Binary::And, B32), &[low, one]);
            let up = self.apply(Typed::Binary(Binary::Add, B32), &[bits, middle]);
            let rounded = self.apply(Typed::Binary(Binary::Add, B32), &[up, odd]);
            self.apply(Typed::Binary(Binary::ShiftRight, B32), &[rounded, by]);
        }
    }

    /// A node of a type that depends on much of what is there.
    fn gathered(&mut self, wanted: RegisterType) -> usize {
        let mut result = self.of(wanted);
        for _ in 0..3 {
            let unused = (0..self.used.len()).rev().find(|&node| {
                node != result && !self.used[node] && self.tree.type_of(node) == RegisterType::Bool
            });
            let Some(condition) = unused else { break };
            let other = self.of(wanted);
            result = self.apply(Typed::Select(wanted), &[condition, result, other]);
        }
        result
    }
}

/// The purpose of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Elements of a type.
    Elements(ElementType),
    /// Elements of a type where a truth value holds, else a literal.
    Masked(ElementType),
    /// 1 where a truth value holds, else 0, as `i64` or `u64`.
    Counted(ElementType),
}

/// A random function of a family.
pub(crate) fn made(rng: &mut Rng, family: Family, wanted: Wanted) -> Made {
    let steps = if rng.below(10) == 0 { 20 + rng.below(40) } else { 2 + rng.below(14) };
    let mut sum = 0;
    let weights = Typed::all().into_iter().map(|typed| {
        sum += family.weight(typed);
        (typed, sum)
    });
    let weights = weights.collect();
    let mut making = Making { rng, family, weights, tree: Tree::default(), used: Vec::new() };
    for _ in 0..steps {
        making.step();
    }
    let element_type = match wanted {
        Wanted::Elements(of) => {
            let result = making.gathered(RegisterType::of(of));
            // The last node is the result.
            let kept = making.tree.nodes[result];
            making.push(kept);
            of
        }
        Wanted::Masked(of) => {
            let value = making.of(RegisterType::of(of));
            let mask = making.gathered(RegisterType::Bool);
            let otherwise = literal(making.rng, of);
            let otherwise = making.push(Node::Literal(otherwise));
            making.apply(Typed::Select(RegisterType::of(of)), &[mask, value, otherwise]);
            of
        }
        Wanted::Counted(of) => {
            let mask = making.gathered(RegisterType::Bool);
            let one = making.apply(Typed::Unary(Unary::BoolToB32, RegisterType::Bool), &[mask]);
            making.apply(Typed::Unary(Unary::ZeroExtend, RegisterType::B32), &[one]);
            of
        }
    };
    let Making { rng, tree, .. } = making;
    tree.program(rng, element_type)
}

/// A type of elements that a family's functions have: every one of them, some more often.
pub(crate) fn result_type(rng: &mut Rng, family: Family) -> ElementType {
    let all = [Bool, U8, I8, U16, I16, U32, I32, U64, I64, F16, BF16, F32, F64];
    if rng.below(2) == 0 { *rng.pick(family.elements()) } else { *rng.pick(&all) }
}
