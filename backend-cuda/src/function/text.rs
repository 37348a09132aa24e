//! PTX text. It is written one instruction at a time, into registers that are set once.

use std::fmt::{self, Write as _};

use devarray::function::primitive::RegisterType;

/// The type of a register. `B16` is only used to convert halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bank {
    Predicate,
    B16,
    B32,
    B64,
    F32,
    F64,
}

impl Bank {
    const ALL: [Self; 6] = [Self::Predicate, Self::B16, Self::B32, Self::B64, Self::F32, Self::F64];

    pub(super) const fn of(register_type: RegisterType) -> Self {
        match register_type {
            // A truth value is a word, or a predicate where a comparison sets it (`truth`).
            RegisterType::Bool | RegisterType::B32 => Self::B32,
            RegisterType::B64 => Self::B64,
            RegisterType::F32 => Self::F32,
            RegisterType::F64 => Self::F64,
        }
    }

    /// The type in declarations and in instructions that move bits.
    pub(super) const fn type_name(self) -> &'static str {
        self.names().0
    }

    /// The type, and the letter that names of registers begin with.
    const fn names(self) -> (&'static str, char) {
        match self {
            Self::Predicate => ("pred", 'p'),
            Self::B16 => ("b16", 'h'),
            Self::B32 => ("b32", 'r'),
            Self::B64 => ("b64", 'l'),
            Self::F32 => ("f32", 'f'),
            Self::F64 => ("f64", 'd'),
        }
    }
}

/// A register of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reg {
    pub(super) bank: Bank,
    number: u32,
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}{}", self.bank.names().1, self.number)
    }
}

/// The body of a kernel that is being written.
#[derive(Debug, Default)]
pub(super) struct Text {
    body: String,
    counts: [u32; Bank::ALL.len()],
    labels: u32,
    guard: Option<Reg>,
    /// The number of blocks that a multiprocessor should hold at once.
    resident: Option<u32>,
    /// Whether there is shared memory with a size that the launch sets.
    has_dynamic: bool,
    /// The bits of the constants in memory.
    constants: Vec<u64>,
}

/// The kernel's name, and its one parameter.
pub(super) const ENTRY: &str = "map";

/// The name of shared memory with a size that the launch sets.
pub(super) const DYNAMIC: &str = "kept";

/// The name of constants in memory.
const CONSTANTS: &str = "constants";

/// Threads of a block of every kernel.
pub(super) const BLOCK: u32 = 256;

/// Most words of a parameter: 4 KiB (CUDA C++ Programming Guide, "Function Parameters").
pub(super) const MAX_WORDS: usize = 512;

impl Text {
    /// A new register.
    pub(super) fn register(&mut self, bank: Bank) -> Reg {
        let count = &mut self.counts[bank as usize];
        *count += 1;
        Reg { bank, number: *count - 1 }
    }

    /// A name for a place in the text.
    pub(super) fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// Limits registers, so that a multiprocessor holds `blocks` blocks at once.
    pub(super) fn resident(&mut self, blocks: u32) {
        self.resident = Some(blocks);
    }

    /// The following lines are executed only if the guard is true; always if there is none.
    pub(super) fn guard(&mut self, guard: Option<Reg>) {
        self.guard = guard;
    }

    /// Writes lines that are executed if a predicate is true.
    pub(super) fn guarded(&mut self, guard: Reg, write: impl FnOnce(&mut Self)) {
        self.guard(Some(guard));
        write(self);
        self.guard(None);
    }

    /// One line: an instruction without its semicolon.
    pub(super) fn line(&mut self, instruction: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = match self.guard {
            Some(guard) => writeln!(self.body, "    @{guard} {instruction};"),
            None => writeln!(self.body, "    {instruction};"),
        };
    }

    /// The place of a label.
    pub(super) fn place(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
    }

    /// An instruction that sets a new register: `set(bank, "add.s32", "a, b")`.
    pub(super) fn set(&mut self, bank: Bank, operation: &str, operands: fmt::Arguments<'_>) -> Reg {
        let to = self.register(bank);
        self.line(format_args!("{operation} {to}, {operands}"));
        to
    }

    /// Like `set`, with a register of 32 bits.
    pub(super) fn set32(&mut self, operation: &str, operands: fmt::Arguments<'_>) -> Reg {
        self.set(Bank::B32, operation, operands)
    }

    /// Like `set`, with a register of 64 bits.
    pub(super) fn set64(&mut self, operation: &str, operands: fmt::Arguments<'_>) -> Reg {
        self.set(Bank::B64, operation, operands)
    }

    /// Like `set`, with a predicate.
    pub(super) fn test(&mut self, operation: &str, operands: fmt::Arguments<'_>) -> Reg {
        self.set(Bank::Predicate, operation, operands)
    }

    /// Goes to a label if a comparison holds.
    pub(super) fn branch_if(&mut self, comparison: &str, operands: fmt::Arguments<'_>, label: &str) {
        let holds = self.test(comparison, operands);
        self.line(format_args!("@{holds} bra {label}"));
    }

    /// A constant `f64`. An instruction can hold the high half of one. A constant with bits in its
    /// low half is put into constant memory: otherwise the assembler writes two instructions for it
    /// at every use, even in a loop.
    pub(super) fn constant(&mut self, bits: u64) -> Reg {
        if bits.trailing_zeros() >= 32 {
            return self.set(Bank::F64, "mov.f64", format_args!("0d{bits:016X}"));
        }
        self.in_memory(Bank::F64, bits)
    }

    /// A constant `f32` that the assembler cannot see.
    pub(super) fn constant_f32(&mut self, bits: u32) -> Reg {
        self.in_memory(Bank::F32, bits.into())
    }

    /// A constant in memory, or the low half of one.
    fn in_memory(&mut self, bank: Bank, bits: u64) -> Reg {
        let known = self.constants.iter().position(|known| *known == bits);
        let at = known.unwrap_or_else(|| {
            self.constants.push(bits);
            self.constants.len() - 1
        });
        self.set(bank, &format!("ld.const.{}", bank.type_name()), format_args!("[{CONSTANTS}+{}]", 8 * at))
    }

    /// A word of the parameter, or the low half of it.
    pub(super) fn parameter(&mut self, bank: Bank, word: usize) -> Reg {
        self.parameter_at(bank, 8 * word)
    }

    /// The high half of a word of the parameter.
    pub(super) fn parameter_high(&mut self, word: usize) -> Reg {
        self.parameter_at(Bank::B32, 8 * word + 4)
    }

    fn parameter_at(&mut self, bank: Bank, at: usize) -> Reg {
        self.set(bank, &format!("ld.param.{}", bank.type_name()), format_args!("[p+{at}]"))
    }

    /// The address of shared memory whose size the launch says.
    pub(super) fn dynamic_shared(&mut self) -> Reg {
        self.has_dynamic = true;
        self.set32("mov.u32", format_args!("{DYNAMIC}"))
    }

    /// The text as a block within another kernel, with registers of its own, and the declaration of its
    /// constants, which comes before the kernel. Names of registers begin with `prefix`.
    pub(super) fn into_block(self, prefix: &str) -> (String, String) {
        let (mut constants, mut block) = (String::new(), String::from("{\n"));
        self.declare_constants(&mut constants);
        self.declare_registers(&mut block);
        block.push_str(&self.body);
        block.push_str("}\n");
        (constants, block.replace('%', &format!("%{prefix}")))
    }

    fn declare_constants(&self, to: &mut String) {
        if !self.constants.is_empty() {
            let bits: Vec<String> = self.constants.iter().map(|bits| format!("0d{bits:016X}")).collect();
            let (len, bits) = (bits.len(), bits.join(", "));
            let _ = writeln!(to, ".const .align 8 .f64 {CONSTANTS}[{len}] = {{{bits}}};");
        }
    }

    fn declare_registers(&self, to: &mut String) {
        for bank in Bank::ALL {
            let (count, (type_name, letter)) = (self.counts[bank as usize], bank.names());
            if count > 0 {
                let _ = writeln!(to, "    .reg .{type_name} %{letter}<{count}>;");
            }
        }
    }

    /// The whole text of a kernel with a parameter of `parameter_words` words, and `shared_words`
    /// words of 4 bytes of shared memory.
    pub(super) fn finish(self, parameter_words: usize, shared_words: usize) -> String {
        let mut whole = String::with_capacity(self.body.len() + 512);
        whole.push_str(".version 6.0\n.target sm_70\n.address_size 64\n");
        self.declare_constants(&mut whole);
        if self.has_dynamic {
            let _ = writeln!(whole, ".extern .shared .align 16 .b8 {DYNAMIC}[];");
        }
        let parameter_bytes = 8 * parameter_words;
        let _ = writeln!(whole, ".visible .entry {ENTRY}(.param .align 8 .b8 p[{parameter_bytes}])");
        let _ = writeln!(whole, ".maxntid {BLOCK}, 1, 1");
        if let Some(blocks) = self.resident {
            let _ = writeln!(whole, ".minnctapersm {blocks}");
        }
        whole.push_str("{\n");
        self.declare_registers(&mut whole);
        if shared_words > 0 {
            let _ = writeln!(whole, "    .shared .align 16 .b8 tile[{}];", 4 * shared_words);
        }
        whole.push_str(&self.body);
        whole.push_str("}\n");
        whole
    }
}
