//! The operations of the language, the types of their operands, and their names.

use super::ElementType;

/// The types that an operation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Domain {
    Numbers,
    SignedNumbers,
    Floats,
    Integers,
    UnsignedIntegers,
    IntegersOrBool,
    NumbersOrBool,
}

impl Domain {
    pub(super) fn contains(self, element_type: ElementType) -> bool {
        let bool = element_type == ElementType::Bool;
        match self {
            Self::Numbers => !bool,
            Self::SignedNumbers => element_type.is_signed(),
            Self::Floats => element_type.is_float(),
            Self::Integers => element_type.is_integer(),
            Self::UnsignedIntegers => element_type.is_integer() && !element_type.is_signed(),
            Self::IntegersOrBool => element_type.is_integer() || bool,
            Self::NumbersOrBool => true,
        }
    }

    /// The words for messages: "takes …".
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::SignedNumbers => "signed numbers",
            Self::Floats => "floats",
            Self::Integers => "integers",
            Self::UnsignedIntegers => "unsigned integers",
            Self::IntegersOrBool => "integers and bool",
            Self::NumbersOrBool => "numbers and bool",
        }
    }
}

/// An operation of one value. The [manual](https://docs.rs/devarray/latest/devarray/manual) defines each
/// operation to the bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are NumPy's")]
pub enum UnaryOperation {
    Negate,
    Not,
    Abs,
    Sign,
    Square,
    Reciprocal,
    Sqrt,
    Rsqrt,
    Cbrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Erfc,
    Sigmoid,
    Floor,
    Ceil,
    Trunc,
    Rint,
    BitwiseCount,
    IsNan,
    IsInf,
    IsFinite,
    Signbit,
}

impl UnaryOperation {
    /// The operations that expressions call by name.
    pub(super) const FUNCTIONS: [(&'static str, Self); 38] = [
        ("abs", Self::Abs),
        ("sign", Self::Sign),
        ("square", Self::Square),
        ("reciprocal", Self::Reciprocal),
        ("sqrt", Self::Sqrt),
        ("rsqrt", Self::Rsqrt),
        ("cbrt", Self::Cbrt),
        ("exp", Self::Exp),
        ("exp2", Self::Exp2),
        ("expm1", Self::Expm1),
        ("log", Self::Log),
        ("log2", Self::Log2),
        ("log10", Self::Log10),
        ("log1p", Self::Log1p),
        ("sin", Self::Sin),
        ("cos", Self::Cos),
        ("tan", Self::Tan),
        ("asin", Self::Asin),
        ("acos", Self::Acos),
        ("atan", Self::Atan),
        ("sinh", Self::Sinh),
        ("cosh", Self::Cosh),
        ("tanh", Self::Tanh),
        ("asinh", Self::Asinh),
        ("acosh", Self::Acosh),
        ("atanh", Self::Atanh),
        ("erf", Self::Erf),
        ("erfc", Self::Erfc),
        ("sigmoid", Self::Sigmoid),
        ("floor", Self::Floor),
        ("ceil", Self::Ceil),
        ("trunc", Self::Trunc),
        ("rint", Self::Rint),
        ("bitwise_count", Self::BitwiseCount),
        ("isnan", Self::IsNan),
        ("isinf", Self::IsInf),
        ("isfinite", Self::IsFinite),
        ("signbit", Self::Signbit),
    ];

    /// The operation of that name: `exp`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::FUNCTIONS.into_iter().find(|&(known, _)| known == name).map(|(_, operation)| operation)
    }

    /// The name in expressions and messages: `exp`, `-`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Negate => "-",
            Self::Not => "~",
            _ => Self::FUNCTIONS.into_iter().find(|&(_, known)| known == self).map_or("", |(name, _)| name),
        }
    }

    pub(super) const fn domain(self) -> Domain {
        match self {
            Self::Negate => Domain::SignedNumbers,
            Self::Not => Domain::IntegersOrBool,
            Self::Abs | Self::Sign | Self::Square => Domain::Numbers,
            Self::BitwiseCount => Domain::Integers,
            _ => Domain::Floats,
        }
    }

    pub(super) const fn result_type(self, of: ElementType) -> ElementType {
        match self {
            Self::IsNan | Self::IsInf | Self::IsFinite | Self::Signbit => ElementType::Bool,
            _ => of,
        }
    }
}

/// An operation of two values of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are NumPy's")]
pub enum BinaryOperation {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    Fmod,
    Minimum,
    Maximum,
    Fmin,
    Fmax,
    Atan2,
    Hypot,
    Copysign,
    MultiplyHigh,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl BinaryOperation {
    /// The operations that expressions call by name.
    pub(super) const FUNCTIONS: [(&'static str, Self); 9] = [
        ("fmod", Self::Fmod),
        ("minimum", Self::Minimum),
        ("maximum", Self::Maximum),
        ("fmin", Self::Fmin),
        ("fmax", Self::Fmax),
        ("atan2", Self::Atan2),
        ("hypot", Self::Hypot),
        ("copysign", Self::Copysign),
        ("mulhi", Self::MultiplyHigh),
    ];

    /// The operations written between their operands, and how strongly they bind.
    pub(super) const OPERATORS: [(&'static str, Self, u8); 18] = [
        ("==", Self::Equal, 1),
        ("!=", Self::NotEqual, 1),
        ("<", Self::Less, 1),
        ("<=", Self::LessEqual, 1),
        (">", Self::Greater, 1),
        (">=", Self::GreaterEqual, 1),
        ("|", Self::Or, 2),
        ("^", Self::Xor, 3),
        ("&", Self::And, 4),
        ("<<", Self::ShiftLeft, 5),
        (">>", Self::ShiftRight, 5),
        ("+", Self::Add, 6),
        ("-", Self::Subtract, 6),
        ("*", Self::Multiply, 7),
        ("/", Self::Divide, 7),
        ("//", Self::FloorDivide, 7),
        ("%", Self::Remainder, 7),
        ("**", Self::Power, 9),
    ];

    /// The function of that name: `minimum`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::FUNCTIONS.into_iter().find(|&(known, _)| known == name).map(|(_, operation)| operation)
    }

    /// The operator of that text, and how strongly it binds; a unary minus binds with
    /// [`UNARY_BINDING`](Self::UNARY_BINDING).
    pub(super) fn from_operator(text: &str) -> Option<(Self, u8)> {
        let mut operators = Self::OPERATORS.into_iter();
        operators.find(|&(known, ..)| known == text).map(|(_, operation, binding)| (operation, binding))
    }

    /// The binding of comparisons, which cannot be chained.
    pub(super) const COMPARISON_BINDING: u8 = 1;
    /// The binding of a unary operator: stronger than `*`, weaker than `**`.
    pub(super) const UNARY_BINDING: u8 = 8;
    /// The binding of `**`, which is right-associative.
    pub(super) const POWER_BINDING: u8 = 9;

    /// The binding; `None` if the operation is called by name.
    pub(super) fn binding(self) -> Option<u8> {
        Self::OPERATORS.into_iter().find(|&(_, known, _)| known == self).map(|(.., binding)| binding)
    }

    /// The name in expressions and messages: `minimum`, `+`.
    #[must_use]
    pub fn name(self) -> &'static str {
        let operators = Self::OPERATORS.into_iter().map(|(name, operation, _)| (name, operation));
        let mut all = operators.chain(Self::FUNCTIONS);
        all.find(|&(_, known)| known == self).map_or("", |(name, _)| name)
    }

    pub(super) const fn domain(self) -> Domain {
        match self {
            Self::Divide | Self::Atan2 | Self::Hypot | Self::Copysign => Domain::Floats,
            Self::And | Self::Or | Self::Xor => Domain::IntegersOrBool,
            Self::MultiplyHigh => Domain::UnsignedIntegers,
            Self::ShiftLeft | Self::ShiftRight => Domain::Integers,
            Self::Equal | Self::NotEqual => Domain::NumbersOrBool,
            _ => Domain::Numbers,
        }
    }

    pub(super) const fn result_type(self, of: ElementType) -> ElementType {
        match self {
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual => ElementType::Bool,
            _ => of,
        }
    }
}
