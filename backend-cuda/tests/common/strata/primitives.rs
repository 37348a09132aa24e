//! Every primitive with the types of its registers, and functions as trees of them.

use devarray::function::{
    ElementType::{self, BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64},
    primitive::{Binary, Constant, Instruction, Program, ProgramBuilder, Register, RegisterType, Unary},
};
use devarray_conformance::Rng;

use super::super::programs::{
    BINARY, UNARY, apply_binary, apply_unary, binary_types, canonical_number, is_shift, unary_types, value,
};

/// A primitive of registers of certain types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Typed {
    Unary(Unary, RegisterType),
    Binary(Binary, RegisterType),
    Fma(RegisterType),
    Select(RegisterType),
}

impl Typed {
    /// Each of them once.
    pub(crate) fn all() -> Vec<Self> {
        use RegisterType::{B32, B64, Bool, F32, F64};
        let unary =
            UNARY.into_iter().flat_map(|op| unary_types(op).iter().map(move |&of| Self::Unary(op, of)));
        let binary =
            BINARY.into_iter().flat_map(|op| binary_types(op).iter().map(move |&of| Self::Binary(op, of)));
        let fma = [F32, F64].map(Self::Fma);
        let mut all: Vec<Self> = Vec::new();
        for one in unary.chain(binary).chain(fma).chain([Bool, B32, B64, F32, F64].map(Self::Select)) {
            // `Not` is twice in the list that random functions are drawn from.
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// The types of the registers that it reads.
    pub(crate) fn operands(self) -> Vec<RegisterType> {
        match self {
            Self::Unary(_, of) => vec![of],
            Self::Binary(op, of) => vec![of, if is_shift(op) { RegisterType::B32 } else { of }],
            Self::Fma(of) => vec![of; 3],
            Self::Select(of) => vec![RegisterType::Bool, of, of],
        }
    }

    /// The type of the register that it sets.
    pub(crate) fn result(self) -> RegisterType {
        use RegisterType::{B32, B64, Bool, F32, F64};
        match self {
            Self::Fma(of) | Self::Select(of) => of,
            Self::Unary(op, of) => match op {
                Unary::CountOnes
                | Unary::LeadingZeros
                | Unary::BoolToB32
                | Unary::Wrap
                | Unary::F32ToHalf
                | Unary::ToSigned32
                | Unary::ToUnsigned32 => B32,
                Unary::SignExtend | Unary::ZeroExtend | Unary::ToSigned64 | Unary::ToUnsigned64 => B64,
                Unary::ToBits if of == F32 => B32,
                Unary::ToBits => B64,
                Unary::FromBits if of == B32 => F32,
                Unary::Widen | Unary::SignedToF64 | Unary::UnsignedToF64 | Unary::FromBits => F64,
                Unary::Narrow | Unary::HalfToF32 | Unary::SignedToF32 | Unary::UnsignedToF32 => F32,
                _ => of,
            },
            Self::Binary(op, of) => match op {
                Binary::Equal
                | Binary::Less
                | Binary::LessEqual
                | Binary::LessSigned
                | Binary::LessUnsigned => Bool,
                _ => of,
            },
        }
    }
}

/// The variation of an operand over the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Varies {
    /// A scalar argument.
    Uniform,
    /// A literal.
    Constant,
    /// An element of an input.
    Lane,
    /// An element of an input that all lanes of a row share.
    Row,
    /// The one element of an input.
    One,
    /// The value of another operand of its type; an element of an input if there is none.
    Again,
}

impl Varies {
    pub(crate) const ALL: [Self; 6] =
        [Self::Uniform, Self::Constant, Self::Lane, Self::Row, Self::One, Self::Again];
}

/// A part of a function.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Node {
    Leaf(Varies, ElementType),
    /// A literal, by its bits.
    Literal(Constant),
    /// A primitive of earlier nodes; those that it does not need are 0.
    Apply(Typed, [usize; 3]),
}

/// A function, its last node the result. Nodes read those before them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
}

/// A program, and how each of its inputs varies.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) program: Program,
    pub(crate) varies: Vec<Varies>,
}

/// Most inputs and scalars of one function.
const MOST: usize = 12;

impl Tree {
    pub(crate) fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(crate) fn apply(&mut self, typed: Typed, operands: &[usize]) -> usize {
        let mut all = [0; 3];
        all[..operands.len()].copy_from_slice(operands);
        self.push(Node::Apply(typed, all))
    }

    /// The type of the register that a node sets.
    pub(crate) fn type_of(&self, node: usize) -> RegisterType {
        match self.nodes[node] {
            Node::Leaf(_, element_type) => RegisterType::of(element_type),
            Node::Apply(typed, _) => typed.result(),
            Node::Literal(constant) => match constant {
                Constant::Bool(_) => RegisterType::Bool,
                Constant::B32(_) => RegisterType::B32,
                Constant::B64(_) => RegisterType::B64,
                Constant::F32(_) => RegisterType::F32,
                Constant::F64(_) => RegisterType::F64,
            },
        }
    }

    /// The program that stores the last node as elements of a type. Literals are drawn.
    pub(crate) fn program(&self, rng: &mut Rng, result_type: ElementType) -> Made {
        let (mut inputs, mut scalars, mut varies) = (Vec::new(), Vec::new(), Vec::new());
        // The reads of a leaf, decided before the builder knows its inputs.
        let mut reads: Vec<Option<Instruction>> = Vec::new();
        let mut leaves: Vec<(ElementType, usize)> = Vec::new();
        for (at, &node) in self.nodes.iter().enumerate() {
            let Node::Leaf(how, element_type) = node else {
                reads.push(None);
                continue;
            };
            let again = leaves.iter().rev().find(|(of, _)| *of == element_type).map(|&(_, leaf)| leaf);
            let read = match how {
                Varies::Again if again.is_some() => again.and_then(|leaf| reads[leaf]),
                Varies::Uniform if scalars.len() < MOST => {
                    scalars.push(element_type);
                    Some(Instruction::Scalar(u8::try_from(scalars.len() - 1).unwrap()))
                }
                Varies::Lane | Varies::Row | Varies::One | Varies::Again if inputs.len() < MOST => {
                    inputs.push(element_type);
                    varies.push(if how == Varies::Again { Varies::Lane } else { how });
                    Some(Instruction::Input(u8::try_from(inputs.len() - 1).unwrap()))
                }
                _ => Some(Instruction::Constant(literal(rng, element_type))),
            };
            reads.push(read);
            leaves.push((element_type, at));
        }
        let mut b = ProgramBuilder::new(&inputs, &scalars);
        let mut registers: Vec<Register> = Vec::new();
        for (&node, read) in self.nodes.iter().zip(reads) {
            registers.push(match node {
                Node::Leaf(..) => b.push(read.unwrap()),
                Node::Literal(constant) => b.constant(constant),
                Node::Apply(typed, operands) => {
                    let [x, y, z] = operands.map(|at| registers[at]);
                    match typed {
                        Typed::Unary(op, _) => apply_unary(&mut b, op, x),
                        Typed::Binary(op, _) => apply_binary(&mut b, op, x, y),
                        Typed::Fma(_) => b.fma(x, y, z),
                        Typed::Select(_) => b.select(x, y, z),
                    }
                }
            });
        }
        let result = canonical_number(&mut b, *registers.last().unwrap());
        Made { program: b.finish(result, result_type), varies }
    }
}

/// A literal as the register that such an element is loaded into holds it.
pub(crate) fn literal(rng: &mut Rng, element_type: ElementType) -> Constant {
    let bits = value(rng, element_type);
    let low = |bits: u64| u32::try_from(bits & 0xffff_ffff).unwrap();
    match element_type {
        Bool => Constant::Bool(bits & 1 != 0),
        I8 => Constant::B32(i32::from(low(bits).to_le_bytes()[0].cast_signed()).cast_unsigned()),
        I16 => {
            let [first, second, ..] = low(bits).to_le_bytes();
            Constant::B32(i32::from(i16::from_le_bytes([first, second])).cast_unsigned())
        }
        F32 => Constant::F32(low(bits)),
        F64 => Constant::F64(bits),
        I64 | U64 => Constant::B64(bits),
        _ => Constant::B32(low(bits)),
    }
}

/// The element types whose register is of a type.
pub(crate) fn element_types(register_type: RegisterType) -> &'static [ElementType] {
    match register_type {
        RegisterType::Bool => &[Bool],
        RegisterType::B32 => &[U8, I8, U16, I16, U32, I32, F16, BF16],
        RegisterType::B64 => &[I64, U64],
        RegisterType::F32 => &[F32],
        RegisterType::F64 => &[F64],
    }
}
