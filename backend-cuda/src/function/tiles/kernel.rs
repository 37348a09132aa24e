//! The text of kernels whose blocks compute boxes.

mod transpose;

use devarray::function::primitive::Program;

use crate::function::{
    access::{Loaded, bank, load, load_uniform, store_span, unpacked},
    body::Body,
    class::{Access, Class, Words},
    index::{divided, moved, numbers, rows},
    lines::kernel::differs,
    text::{BLOCK, Bank, Reg, Text},
    tiles::shared::{VECTOR as SIDE, shared_words, slot_bytes, stored},
};

/// Most instructions of the program that are written one after another, and not as a loop.
const UNROLLED: usize = 1_024;

/// Most registers for loaded elements that are not stored yet.
const EARLY: usize = 40;

/// State that the parts of a kernel share.
struct Kernel<'a> {
    class: &'a Class,
    words: Words,
    /// Sides of a tile along the result's axis, and along the other.
    wide: usize,
    high: usize,
    /// Extents of both axes from the tile's corner on.
    width: Reg,
    height: Reg,
    /// Addresses of each operand at the tile's corner.
    corners: Vec<Reg>,
    /// The thread's number in the block.
    thread: Reg,
}

/// The elements that a thread computes in one step.
#[derive(Debug, Clone)]
struct Step {
    /// Number of the group of elements in the tile, along the other axis.
    row: Reg,
    /// Addresses of inputs and of the result that are reached directly.
    addresses: Vec<Reg>,
    /// The position in shared memory, in elements.
    shared: Reg,
}

/// The text of a kernel whose blocks compute tiles.
pub(in crate::function) fn write(program: &Program, class: &Class, wide: usize, high: usize) -> String {
    let words = Words::new(class.operands.len(), program.scalars().len(), class.outer.into());
    let mut text = Text::default();
    let kernel = Kernel::begin(&mut text, class, words, wide, high);

    let mut body = Body::new(program, words.scalars, |instruction| differs(class, instruction));
    body.common(&mut text, |text, instruction| load_uniform(text, class, &kernel.corners, instruction));

    let steps = (wide * high / SIDE).div_ceil(BLOCK as usize);
    let instructions = program.instructions().len();
    let first = kernel.first(&mut text);
    if steps * SIDE * instructions <= UNROLLED {
        kernel.unrolled(&mut text, &body, first, steps);
    } else {
        kernel.transpose(&mut text, steps);
        text.line(format_args!("bar.sync 0"));
        kernel.looped(&mut text, &body, first);
    }
    text.line(format_args!("ret"));
    let shared: usize = kernel.transposed().map(|(_, words)| words).sum();
    text.finish(words.count, shared)
}

impl<'a> Kernel<'a> {
    fn begin(text: &mut Text, class: &'a Class, words: Words, wide: usize, high: usize) -> Self {
        let (block, thread) = numbers(text);
        let (rest, across) = divided(text, block, words.pieces_divider, words.pieces);
        let (row, down) = divided(text, rest, words.tiles_divider, words.tiles);
        let x = text.set32("mul.lo.s32", format_args!("{across}, {wide}"));
        let y = text.set32("mul.lo.s32", format_args!("{down}, {high}"));
        let mut corners = rows(text, class, words, Some(row));
        for (operand, corner) in corners.iter_mut().enumerate() {
            if class.operands[operand].1 != Access::Uniform {
                *corner = moved(text, class.wide, *corner, x, words.inner(operand));
                *corner = moved(text, class.wide, *corner, y, words.other(operand));
            }
        }
        let width = text.parameter(Bank::B32, words.extent);
        let height = text.parameter_high(words.extent);
        let width = text.set32("sub.s32", format_args!("{width}, {x}"));
        let height = text.set32("sub.s32", format_args!("{height}, {y}"));
        Self { class, words, wide, high, width, height, corners, thread }
    }

    /// Inputs that go through shared memory, with the words each takes there.
    fn transposed(&self) -> impl Iterator<Item = (usize, usize)> {
        let words = |kind| shared_words(kind, self.wide, self.high);
        let operands = self.class.operands.iter().enumerate();
        operands
            .filter(|(_, (_, access))| is_transposed(*access))
            .map(move |(at, &(kind, _))| (at, words(kind)))
    }

    /// Group and line of the thread's first piece of a box, whose lines have `line` elements.
    fn place(&self, text: &mut Text, line: usize) -> (Reg, Reg) {
        let groups = line / SIDE;
        let group = text.set32("and.b32", format_args!("{}, {}", self.thread, groups - 1));
        let row = text.set32("shr.u32", format_args!("{}, {}", self.thread, groups.trailing_zeros()));
        (text.set32("mul.lo.s32", format_args!("{group}, {SIDE}")), row)
    }

    /// Whether each access of a group is inside: its first element before the end of its line, and
    /// the line inside.
    fn guards(
        &self,
        text: &mut Text,
        (first, line): (Reg, Reg),
        (extent, lines): (Reg, Reg),
        most: usize,
        width: usize,
    ) -> Vec<Reg> {
        // A tile may have fewer lines than the threads of a block reach.
        let lines = text.set32("min.s32", format_args!("{lines}, {most}"));
        let inside = text.test("setp.lt.s32", format_args!("{line}, {lines}"));
        let extent = text.set32("selp.b32", format_args!("{extent}, 0, {inside}"));
        let mut guards = Vec::new();
        for piece in (0..SIDE).step_by(width) {
            let at = text.set32("add.s32", format_args!("{first}, {piece}"));
            guards.push(text.test("setp.lt.s32", format_args!("{at}, {extent}")));
        }
        guards
    }

    /// Whether the addresses of an operand move with the elements that a thread computes.
    fn moves(&self, operand: usize) -> bool {
        !matches!(self.class.operands[operand].1, Access::Transposed { .. } | Access::Uniform)
    }

    /// The elements that the thread computes first.
    fn first(&self, text: &mut Text) -> Step {
        let (first, row) = self.place(text, self.wide);
        let addresses = (0..self.corners.len())
            .map(|operand| {
                if !self.moves(operand) {
                    return self.corners[operand];
                }
                let line =
                    moved(text, self.class.wide, self.corners[operand], row, self.words.other(operand));
                moved(text, self.class.wide, line, first, self.words.inner(operand))
            })
            .collect();
        let shared = text.set32("mad.lo.s32", format_args!("{first}, {}, {row}", self.high + 1));
        Step { row, addresses, shared }
    }

    /// Lines along the other axis that all threads of a block compute in one step.
    fn lines(&self) -> usize {
        BLOCK as usize / (self.wide / SIDE)
    }

    /// The distance that is added to an operand's address from one step to the next.
    fn strides(&self, text: &mut Text) -> Vec<Option<Reg>> {
        let mut stride = |operand| {
            let other = text.parameter(Bank::B64, self.words.other(operand));
            text.set64("mul.lo.u64", format_args!("{other}, {}", self.lines()))
        };
        (0..self.corners.len()).map(|operand| self.moves(operand).then(|| stride(operand))).collect()
    }

    fn unrolled(&self, text: &mut Text, body: &Body<'_>, first: Step, count: usize) {
        let strides = self.strides(text);
        let mut steps = vec![first];
        for _ in 1..count {
            let mut step = steps[steps.len() - 1].clone();
            step.row = text.set32("add.s32", format_args!("{}, {}", step.row, self.lines()));
            step.shared = text.set32("add.s32", format_args!("{}, {}", step.shared, self.lines()));
            for (address, stride) in step.addresses.iter_mut().zip(&strides) {
                if let Some(stride) = stride {
                    *address = text.set64("add.s64", format_args!("{address}, {stride}"));
                }
            }
            steps.push(step);
        }
        let direct = self.class.operands.iter().skip(1).filter(|(_, access)| !is_transposed(*access));
        let words: usize = direct.map(|(kind, _)| SIDE * slot_bytes(*kind) / 4).sum();
        let early = words * count <= EARLY;
        let early_steps = if early { &steps[..] } else { &[] };
        let loaded: Vec<_> = early_steps.iter().map(|step| self.load(text, step)).collect();
        let mut loaded = loaded.into_iter();
        self.transpose(text, count);
        text.line(format_args!("bar.sync 0"));
        for step in &steps {
            let direct = loaded.next().unwrap_or_else(|| self.load(text, step));
            self.compute(text, body, step, direct);
        }
    }

    /// Repeats a step until it passes the end of the tile.
    fn looped(&self, text: &mut Text, body: &Body<'_>, step: Step) {
        let strides = self.strides(text);
        let again = text.label();
        text.place(&again);
        let direct = self.load(text, &step);
        self.compute(text, body, &step, direct);
        let Step { row, addresses, shared } = &step;
        text.line(format_args!("add.s32 {row}, {row}, {}", self.lines()));
        text.line(format_args!("add.s32 {shared}, {shared}, {}", self.lines()));
        for (address, stride) in addresses.iter().zip(&strides) {
            if let Some(stride) = stride {
                text.line(format_args!("add.s64 {address}, {address}, {stride}"));
            }
        }
        text.branch_if("setp.lt.s32", format_args!("{row}, {}", self.high), &again);
    }

    /// The first of the elements of a step along the result's axis.
    fn group(&self, text: &mut Text) -> Reg {
        self.place(text, self.wide).0
    }

    /// The elements of all inputs that are reached directly, and positions.
    fn load(&self, text: &mut Text, step: &Step) -> Vec<Vec<Loaded>> {
        let group = self.group(text);
        let extents = (self.width, self.height);
        let mut all = vec![Vec::new()];
        for (operand, &(kind, access)) in self.class.operands.iter().enumerate().skip(1) {
            let address = step.addresses[operand];
            if !self.moves(operand) {
                all.push(Vec::new());
                continue;
            }
            let width = match access {
                Access::Each => SIDE,
                Access::Span { width } => width.into(),
                _ => 1,
            };
            let guards = self.guards(text, (group, step.row), extents, self.high, width);
            all.push(match access {
                Access::Each => vec![load(text, kind, address, Some(guards[0])); SIDE],
                _ => self.group_of(text, kind, address, (self.words.inner(operand), width), &guards),
            });
        }
        all
    }

    fn compute(&self, text: &mut Text, body: &Body<'_>, step: &Step, mut loaded: Vec<Vec<Loaded>>) {
        let mut base = 0;
        // A tile may have fewer lines than the threads of a block reach.
        let inside = text.test("setp.lt.s32", format_args!("{}, {}", step.row, self.high));
        for (operand, words) in self.transposed() {
            let kind = self.class.operands[operand].0;
            let bank = bank(stored(kind));
            let bytes = slot_bytes(kind);
            let tile = text.set32("mov.u32", format_args!("tile"));
            let address = text.set32("mad.lo.s32", format_args!("{}, {bytes}, {tile}", step.shared));
            text.guard(Some(inside));
            loaded[operand] = (0..SIDE)
                .map(|at| {
                    let offset = base + at * (self.high + 1) * bytes;
                    let operation = format!("ld.shared.{}", bank.type_name());
                    Loaded::Whole(text.set(bank, &operation, format_args!("[{address}+{offset}]")))
                })
                .collect();
            text.guard(None);
            base += 4 * words;
        }
        let read = |text: &mut Text, instruction, at: usize| {
            let operand = self.class.operand(instruction);
            unpacked(text, self.class.operands[operand].0, loaded[operand][at])
        };
        let line = body.line(text, None, |text, instruction| read(text, instruction, 0));
        let lines = std::iter::repeat_n(&line, SIDE);
        let values = body.elements(text, lines, None, |text, nth, instruction| read(text, instruction, nth));
        let (kind, access) = self.class.operands[0];
        let (Some(element_type), Access::Span { width }) = (kind.element_type(), access) else { return };
        let width = usize::from(width);
        let group = self.group(text);
        let guards = self.guards(text, (group, step.row), (self.width, self.height), self.high, width);
        store_span(text, element_type, step.addresses[0], &values, width, &guards);
    }
}

fn is_transposed(access: Access) -> bool {
    matches!(access, Access::Transposed { .. })
}
