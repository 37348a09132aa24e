//! The newest operations that were issued, for the drawings of findings.

use std::collections::VecDeque;

use crate::finding::{Finding, Operation};

/// The most steps that are kept.
const MOST_STEPS: usize = 64;

/// The most lines of a drawing.
const MOST_LINES: usize = 12;

/// The most columns of a drawing: the host and streams. With the numbers in front, they stay under
/// 100 characters, even if indented.
const MOST_COLUMNS: usize = 5;

/// The width of a column in characters.
const COLUMN: usize = 16;

/// The last steps that were issued, the oldest first.
#[derive(Debug, Default)]
pub(super) struct History(VecDeque<Step>);

/// A step that was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The number of the operation; an action of the host has none.
    pub(super) number: Option<u64>,
    /// The stream; none for the host.
    pub(super) stream: Option<usize>,
    pub(super) kind: &'static str,
    pub(super) of: Of,
}

/// The relation of a step to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// None that can be named.
    Nothing,
    /// It waits for the record of this number.
    Record(u64),
    /// It waits for a stream.
    Stream(usize),
}

/// A line of a drawing before it becomes text.
struct Line {
    step: Step,
    marked: bool,
    /// Whether steps were left out before it.
    after_gap: bool,
}

impl Step {
    pub(super) fn of_operation(operation: &Operation, of: Of) -> Self {
        let number = operation.stream.map(|_| operation.number);
        Self { number, stream: operation.stream, kind: operation.kind, of }
    }

    pub(super) fn of_host(kind: &'static str, of: Of) -> Self {
        Self { number: None, stream: None, kind, of }
    }

    /// Whether it orders other steps.
    fn orders(&self) -> bool {
        matches!(self.kind, "record" | "wait") || self.of != Of::Nothing
    }

    fn text(&self) -> String {
        match self.of {
            Of::Nothing => self.kind.to_owned(),
            Of::Record(record) => format!("{} #{record}", self.kind),
            Of::Stream(stream) => format!("{} {stream}", self.kind),
        }
    }
}

impl History {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, step: Step) {
        if self.0.len() == MOST_STEPS {
            self.0.pop_front();
        } else if self.0.capacity() == 0 {
            self.0.reserve_exact(MOST_STEPS);
        }
        self.0.push_back(step);
    }

    /// Draws the steps around a finding about two or more operations, in the order in which they
    /// were issued: a column for the host and for each stream, with the finding's operations
    /// marked. Steps that do not fit are left out.
    pub(super) fn draw(&self, finding: &Finding) -> Vec<String> {
        if finding.with.is_empty() {
            return Vec::new();
        }
        let wrong = Step::of_operation(&finding.operation, Of::Nothing);
        let mut steps: Vec<(Step, bool)> = Vec::new();
        // Operations that are too old to be kept are drawn first.
        for (with, _) in &finding.with {
            let with = Step::of_operation(with, Of::Nothing);
            if !self.0.contains(&with) {
                steps.push((with, true));
            }
        }
        let old = steps.len();
        let is_with =
            |step: &Step| finding.with.iter().any(|(with, _)| Step::of_operation(with, Of::Nothing) == *step);
        steps.extend(self.0.iter().filter(|&&step| step != wrong).map(|step| (*step, is_with(step))));
        steps.push((wrong, true));
        let columns = columns(&steps, finding);
        let kept = chosen(&steps, &columns);
        let forgetful = self.0.len() == MOST_STEPS;
        let mut lines: Vec<Line> = Vec::new();
        let mut last = None;
        for &index in &kept {
            let (step, marked) = steps[index];
            let after_gap = last.map_or(index > 0 || forgetful && step.number != Some(0), |last: usize| {
                index > last + 1 || (last < old && old <= index)
            });
            lines.push(Line { step, marked, after_gap });
            last = Some(index);
        }
        table(&columns, &lines)
    }
}

/// The columns that are drawn, in order: the finding's, then the columns of steps that order
/// others, as far as there is room.
fn columns(steps: &[(Step, bool)], finding: &Finding) -> Vec<Option<usize>> {
    let mut columns = vec![finding.operation.stream];
    let marked = steps.iter().filter(|(_, marked)| *marked);
    let ordering = steps.iter().rev().filter(|(step, _)| step.orders());
    for (step, _) in marked.chain(ordering) {
        if columns.len() < MOST_COLUMNS && !columns.contains(&step.stream) {
            columns.push(step.stream);
        }
    }
    columns.sort_unstable();
    columns
}

/// The steps that are drawn: the last one, the first marked ones, then the newest that order
/// others, then the newest of the rest.
fn chosen(steps: &[(Step, bool)], columns: &[Option<usize>]) -> Vec<usize> {
    let Some(last) = steps.len().checked_sub(1) else { return Vec::new() };
    let marked = (0..last).filter(|&index| steps[index].1).take(MOST_LINES / 2);
    let ordering = (0..last).rev().filter(|&index| steps[index].0.orders());
    let mut kept = vec![last];
    for index in marked.chain(ordering).chain((0..last).rev()) {
        let drawn = columns.contains(&steps[index].0.stream);
        if kept.len() < MOST_LINES && drawn && !kept.contains(&index) {
            kept.push(index);
        }
    }
    kept.sort_unstable();
    kept
}

fn table(columns: &[Option<usize>], lines: &[Line]) -> Vec<String> {
    let names =
        columns.iter().map(|column| column.map_or("host".to_owned(), |stream| format!("stream {stream}")));
    let numbers = lines.iter().filter_map(|line| line.step.number);
    let width = numbers.map(|number| number.to_string().len() + 1).max().unwrap_or(0);
    let row = |front: &str, cells: &mut dyn Iterator<Item = String>| {
        let cells: String = cells.map(|cell| format!("{cell:COLUMN$}")).collect();
        format!("{front:>width$}  {cells}", width = width + 2).trim_end().to_owned()
    };
    let mut text = vec!["in the order of issue:".to_owned(), row("", &mut names.into_iter())];
    for Line { step, marked, after_gap } in lines {
        if *after_gap {
            text.push(row("...", &mut std::iter::empty()));
        }
        let number = step.number.map_or(String::new(), |number| format!("#{number}"));
        let front = if *marked { format!("> {number:>width$}") } else { number };
        let cell = |column: &Option<usize>| if *column == step.stream { step.text() } else { String::new() };
        text.push(row(&front, &mut columns.iter().map(cell)));
    }
    text
}
