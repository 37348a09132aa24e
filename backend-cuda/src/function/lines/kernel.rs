//! The text of kernels whose threads take elements side by side.

use devarray::function::primitive::{Instruction, Program};

use crate::function::{
    access::{Loaded, load, load_span, load_uniform, store_span, unpacked},
    body::{Body, Differs, Known},
    class::{Access, Class, Words},
    index::{divided, moved, moved_by, rows, thread},
    shared_divisor::Reciprocals,
    text::{Bank, Reg, Text},
};

/// The loaded elements of an operand: for each position along the short axis, a list along the
/// inner axis.
type Elements = Vec<Vec<Loaded>>;

/// Divisions of pixels are written a second time, for all elements of a thread, in case dividing by
/// reciprocals is not sound. If there are more than this many, they are not: the driver takes 2 ms
/// to compile one.
const PLAIN_DIVISIONS: usize = 8;

/// State that the parts of a kernel share.
struct Kernel<'a> {
    class: &'a Class,
    words: Words,
    vector: usize,
    deal: usize,
}

/// The text of a kernel whose threads compute `vector` elements at each of `deal` positions of a
/// short axis.
pub(in crate::function) fn write(program: &Program, class: &Class, vector: usize, deal: usize) -> String {
    let words = Words::new(class.operands.len(), program.scalars().len(), class.outer.into());
    let kernel = Kernel { class, words, vector, deal };
    let mut text = Text::default();
    let exit = text.label();
    let number = thread(&mut text);
    let threads = text.parameter_high(words.pieces);
    text.branch_if("setp.ge.u32", format_args!("{number}, {threads}"), &exit);
    let (row, piece) = if class.outer == 0 {
        (None, number)
    } else {
        let (row, piece) = divided(&mut text, number, words.pieces_divider, words.pieces);
        (Some(row), piece)
    };
    let rows = rows(&mut text, class, words, row);

    let mut body = Body::new(program, words.scalars, |instruction| differs(class, instruction));
    body.common(&mut text, |text, instruction| load_uniform(text, class, &rows, instruction));

    if vector == 1 && deal == 1 {
        kernel.one(&mut text, &body, &rows, piece, None);
    } else {
        kernel.many(&mut text, &body, &rows, piece);
    }
    text.place(&exit);
    text.line(format_args!("ret"));
    text.finish(words.count, 0)
}

/// The variation within a thread of the value that an instruction reads.
pub(in crate::function) fn differs(class: &Class, instruction: Instruction) -> Differs {
    match class.operands.iter().find(|(kind, _)| kind.is_read_by(instruction)) {
        Some((_, Access::Uniform)) => Differs::Never,
        Some((_, Access::Each)) => Differs::ByLine,
        _ => Differs::ByElement,
    }
}

impl Kernel<'_> {
    /// Several elements: all at once, or one after the other at an end of a row.
    fn many(&self, text: &mut Text, body: &Body<'_>, rows: &[Reg], piece: Reg) {
        let (tail, done) = (text.label(), text.label());
        let extent = text.parameter(Bank::B32, self.words.extent);
        let lead = text.parameter_high(self.words.extent);
        let scaled = text.set32("mul.lo.s32", format_args!("{piece}, {}", self.vector));
        let first = text.set32("sub.s32", format_args!("{scaled}, {lead}"));
        let end = text.set32("add.s32", format_args!("{first}, {}", self.vector));
        // Picked elements are loaded with the gaps between them, so another element has to follow.
        let picked = self.class.operands.iter().any(|(_, access)| matches!(access, Access::Picked { .. }));
        let above = if picked { "setp.ge.s32" } else { "setp.gt.s32" };
        text.branch_if("setp.lt.s32", format_args!("{first}, 0"), &tail);
        text.branch_if(above, format_args!("{end}, {extent}"), &tail);
        let divisions = body.reciprocal_divisions() * self.vector * self.deal;
        if divisions > 0 {
            let plain = text.label();
            self.whole(text, body, rows, first, Some(&plain));
            text.line(format_args!("bra {done}"));
            text.place(&plain);
        }
        // Deviations of channels are mostly in range. If not, pixels are computed one by one, as at
        // the ends of rows.
        let pixels = self.class.operands.iter().any(|(_, access)| matches!(access, Access::Dealt { .. }));
        if !pixels || divisions <= PLAIN_DIVISIONS {
            self.whole(text, body, rows, first, None);
            text.line(format_args!("bra {done}"));
        }

        text.place(&tail);
        let at = text.set32("max.s32", format_args!("{first}, 0"));
        let end = text.set32("min.s32", format_args!("{end}, {extent}"));
        let again = text.label();
        text.branch_if("setp.ge.s32", format_args!("{at}, {end}"), &done);
        text.place(&again);
        self.one(text, body, rows, at, Some((&again, end)));
        text.place(&done);
    }

    /// Writes the elements at one position along the inner axis. If an end is given, writes a loop
    /// up to it.
    fn one(&self, text: &mut Text, body: &Body<'_>, rows: &[Reg], at: Reg, until: Option<(&str, Reg)>) {
        let addresses: Vec<Reg> = (0..rows.len())
            .map(|operand| match self.class.operands[operand].1 {
                Access::Uniform => rows[operand],
                _ => moved(text, self.class.wide, rows[operand], at, self.words.inner(operand)),
            })
            .collect();
        let loaded = self.loaded(|operand| {
            let kind = self.class.operands[operand].0;
            let short = self.short(text, operand, addresses[operand]);
            short.into_iter().map(|address| vec![load(text, kind, address, None)]).collect()
        });
        let lines = self.lines(text, body, &loaded, None);
        let results = self.results(text, body, &loaded, &lines, (1, None));
        let Some(result_type) = self.class.operands[0].0.element_type() else { return };
        let of_short = self.short(text, 0, addresses[0]);
        for (address, values) in of_short.into_iter().zip(results) {
            store_span(text, result_type, address, &values, 1, &[]);
        }
        if let Some((again, end)) = until {
            text.line(format_args!("add.s32 {at}, {at}, 1"));
            text.branch_if("setp.lt.s32", format_args!("{at}, {end}"), again);
        }
    }

    /// Writes all elements of a thread, loaded and stored side by side. With `plain`, divisions use
    /// reciprocals; if one might not be exact, the thread jumps to that label and stores nothing
    /// here.
    fn whole(&self, text: &mut Text, body: &Body<'_>, rows: &[Reg], first: Reg, plain: Option<&str>) {
        let loaded = self.loaded(|operand| self.load(text, operand, rows[operand], first));
        let reciprocals = plain.map(|_| Reciprocals::begin(text));
        let lines = self.lines(text, body, &loaded, reciprocals);
        if let Some((reciprocals, plain)) = reciprocals.zip(plain) {
            let sound = reciprocals.divisors_are_in_range(text);
            text.line(format_args!("@!{sound} bra {plain}"));
        }
        let results = self.results(text, body, &loaded, &lines, (self.vector, reciprocals));
        if let Some((reciprocals, plain)) = reciprocals.zip(plain) {
            let sound = reciprocals.numbers_are_in_range(text);
            text.line(format_args!("@!{sound} bra {plain}"));
        }
        let (kind, access) = self.class.operands[0];
        let Some(element_type) = kind.element_type() else { return };
        let bytes = kind.len_bytes();
        match access {
            Access::Dealt { width, .. } => {
                let address = moved_by(text, rows[0], first, bytes * signed(self.deal));
                let side_by_side = |at: usize| results[at % self.deal][at / self.deal];
                let values: Vec<Reg> = (0..self.vector * self.deal).map(side_by_side).collect();
                store_span(text, element_type, address, &values, width.into(), &[]);
            }
            Access::Span { width } => {
                let address = moved_by(text, rows[0], first, bytes);
                let of_short = self.short(text, 0, address);
                for (address, values) in of_short.into_iter().zip(results) {
                    store_span(text, element_type, address, &values, width.into(), &[]);
                }
            }
            _ => unreachable!("the result of several elements lies side by side"),
        }
    }

    /// Calls `load` for each operand that is read element by element; other operands have no
    /// elements.
    fn loaded(&self, mut load: impl FnMut(usize) -> Elements) -> Vec<Elements> {
        let is_apart = |operand: usize| operand > 0 && self.class.operands[operand].1 != Access::Uniform;
        let operands = 0..self.class.operands.len();
        operands.map(|operand| if is_apart(operand) { load(operand) } else { Vec::new() }).collect()
    }

    /// The addresses of an operand's elements at each position along the short axis.
    fn short(&self, text: &mut Text, operand: usize, first: Reg) -> Vec<Reg> {
        let mut all = vec![first];
        if self.deal > 1 {
            let stride = text.parameter(Bank::B64, self.words.other(operand));
            for before in 0..self.deal - 1 {
                let next = text.set64("add.s64", format_args!("{}, {stride}", all[before]));
                all.push(next);
            }
        }
        all
    }

    /// Loads the elements of an input, or positions, with which a thread computes.
    fn load(&self, text: &mut Text, operand: usize, row: Reg, first: Reg) -> Elements {
        let (kind, access) = self.class.operands[operand];
        let (vector, bytes) = (self.vector, kind.len_bytes());
        if access == Access::Counted {
            let number = |at| Loaded::Whole(text.set64("mov.b64", format_args!("{at}")));
            return vec![(0..vector).map(number).collect()];
        }
        let Some(element_type) = kind.element_type() else {
            return self.single(text, operand, row, first);
        };
        let spans = |text: &mut Text, address: Reg, count: usize, width: u8| -> Elements {
            let starts = self.short(text, operand, address);
            let load =
                |address| load_span(text, kind.space(), element_type, address, (count, width.into()), &[]);
            starts.into_iter().map(load).collect()
        };
        match access {
            Access::Each => {
                let starts = self.short(text, operand, row);
                starts.into_iter().map(|address| vec![load(text, kind, address, None); vector]).collect()
            }
            Access::Span { width } => {
                let address = moved_by(text, row, first, bytes);
                spans(text, address, vector, width)
            }
            Access::Row { width } => {
                let address = moved_by(text, row, first, bytes);
                let loaded =
                    load_span(text, kind.space(), element_type, address, (vector, width.into()), &[]);
                vec![loaded; self.deal]
            }
            Access::Reversed { width } => {
                let address = moved_by(text, row, first, -bytes);
                let back = bytes * (signed(vector) - 1);
                let address = text.set64("add.s64", format_args!("{address}, {}", -back));
                let mut loaded = spans(text, address, vector, width);
                loaded.iter_mut().for_each(|span| span.reverse());
                loaded
            }
            Access::Picked { step, width } => {
                let step = usize::from(step);
                let address = moved_by(text, row, first, bytes * signed(step));
                let loaded = spans(text, address, vector * step, width);
                loaded.into_iter().map(|span| span.into_iter().step_by(step).collect()).collect()
            }
            Access::Dealt { width, backwards } => {
                let deal = self.deal;
                let mut address = moved_by(text, row, first, bytes * signed(deal));
                if backwards {
                    let back = bytes * (signed(deal) - 1);
                    address = text.set64("add.s64", format_args!("{address}, {}", -back));
                }
                let count = vector * deal;
                let loaded = load_span(text, kind.space(), element_type, address, (count, width.into()), &[]);
                let short = |at: usize| if backwards { deal - 1 - at } else { at };
                (0..deal).map(|at| (0..vector).map(|v| loaded[v * deal + short(at)]).collect()).collect()
            }
            _ => self.single(text, operand, row, first),
        }
    }

    /// Loads elements one by one, or positions.
    fn single(&self, text: &mut Text, operand: usize, row: Reg, first: Reg) -> Elements {
        let kind = self.class.operands[operand].0;
        let start = moved(text, self.class.wide, row, first, self.words.inner(operand));
        let stride = text.parameter(Bank::B64, self.words.inner(operand));
        let mut all = Vec::new();
        for mut address in self.short(text, operand, start) {
            let mut line = Vec::new();
            for at in 0..self.vector {
                if at > 0 {
                    address = text.set64("add.s64", format_args!("{address}, {stride}"));
                }
                line.push(load(text, kind, address, None));
            }
            all.push(line);
        }
        all
    }

    /// Writes the instructions that the elements at each position along the short axis share.
    fn lines(
        &self,
        text: &mut Text,
        body: &Body<'_>,
        loaded: &[Elements],
        reciprocals: Option<Reciprocals>,
    ) -> Vec<Known> {
        let mut line = |short: usize| {
            body.line(text, reciprocals, |text, instruction| self.read(text, instruction, loaded, (short, 0)))
        };
        (0..self.deal).map(&mut line).collect()
    }

    /// The results of `vector` elements at each position along the short axis.
    fn results(
        &self,
        text: &mut Text,
        body: &Body<'_>,
        loaded: &[Elements],
        lines: &[Known],
        (vector, reciprocals): (usize, Option<Reciprocals>),
    ) -> Vec<Vec<Reg>> {
        let positions: Vec<(usize, usize)> =
            (0..self.deal).flat_map(|short| (0..vector).map(move |at| (short, at))).collect();
        let lines = positions.iter().map(|&(short, _)| &lines[short]);
        let results = body.elements(text, lines, reciprocals, |text, nth, instruction| {
            self.read(text, instruction, loaded, positions[nth])
        });
        results.chunks(vector).map(<[Reg]>::to_vec).collect()
    }

    /// Gives a loaded element, or a position, the form that the program reads.
    fn read(
        &self,
        text: &mut Text,
        instruction: Instruction,
        loaded: &[Elements],
        (short, at): (usize, usize),
    ) -> Reg {
        let operand = self.class.operand(instruction);
        unpacked(text, self.class.operands[operand].0, loaded[operand][short][at])
    }
}

/// A count of elements of a thread, by which addresses are moved.
fn signed(count: usize) -> i64 {
    count.cast_signed() as i64
}
