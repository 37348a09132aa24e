//! Launches of a stream's last copies, for those that are made again: loops copy the same shapes over and over, and to choose a
//! kernel takes about as long as to launch it.

use std::fmt;

use super::{
    axes::Problem,
    choose,
    launch::{LINE_BYTES, Launch},
    tile::Scale,
};

/// So many are kept: about 2 KiB each, and all are looked at before a choice is made.
const KEPT: usize = 8;

/// What was chosen for one copy.
#[derive(Debug)]
struct Choice {
    problem: Problem,
    scale: Scale,
    launch: Launch,
}

impl Choice {
    fn new(problem: Problem, scale: Scale) -> Self {
        let launch = choose(&problem, scale);
        Self { problem, scale, launch }
    }

    /// Whether the same is chosen for another copy: its loops are the same, and its addresses lie the same in their lines, further than
    /// which no choice looks.
    fn fits(&self, problem: &Problem, scale: Scale) -> bool {
        let Problem { axes, width, src, dst, src_begin, src_end, len_bytes } = problem;
        let apart = |a: u64, b: u64| a.wrapping_sub(b);
        let mine = &self.problem;
        apart(*src, mine.src).is_multiple_of(LINE_BYTES.into())
            && apart(*dst, mine.dst).is_multiple_of(LINE_BYTES.into())
            && apart(*src, *src_begin) == apart(mine.src, mine.src_begin)
            && apart(*src_end, *src) == apart(mine.src_end, mine.src)
            && (*len_bytes, *width, scale) == (mine.len_bytes, mine.width, self.scale)
            && *axes == mine.axes
    }

    /// Moves both sides to where those of another copy are.
    fn move_to(&mut self, problem: &Problem) {
        let mine = &mut self.problem;
        let (src, dst) = (problem.src.wrapping_sub(mine.src), problem.dst.wrapping_sub(mine.dst));
        let at = self.launch.params.operands_mut();
        for address in [&mut at.src, &mut at.src_begin, &mut at.src_end] {
            *address = address.wrapping_add(src);
        }
        at.dst = at.dst.wrapping_add(dst);
        (mine.src, mine.dst) = (problem.src, problem.dst);
        (mine.src_begin, mine.src_end) = (problem.src_begin, problem.src_end);
    }
}

/// What was chosen for the last copies, the latest first.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "the latest is moved to the front")]
pub struct Chosen(Vec<Box<Choice>>);

impl Chosen {
    /// The launch for one problem: as [`choose`] would choose it.
    pub(super) fn launch(&mut self, problem: Problem, scale: Scale) -> &Launch {
        match self.0.iter().position(|choice| choice.fits(&problem, scale)) {
            Some(at) => {
                self.0[..=at].rotate_right(1);
                self.0[0].move_to(&problem);
            }
            None => {
                self.0.truncate(KEPT - 1);
                self.0.insert(0, Box::new(Choice::new(problem, scale)));
            }
        }
        &self.0[0].launch
    }
}

#[cfg(test)]
mod tests {
    use devarray::{Layout, backend::Capabilities, copy::Plan};

    use super::*;
    use crate::strided::Addresses;

    const DST: u64 = 1 << 41;
    const SRC: u64 = 1 << 40;

    fn problem(
        shape: &[usize],
        dst: &[isize],
        src: &[isize],
        width: usize,
        (to, from): (u64, u64),
    ) -> Problem {
        let layout = |strides| Layout::new(shape, strides, 0).unwrap();
        let plan = Plan::new(&layout(dst), &layout(src), width, &Capabilities::default()).unwrap();
        Problem::of(&plan, Addresses { dst: to, src: from }).unwrap()
    }

    /// Copies of each family, at these addresses.
    fn problems(at: (u64, u64)) -> Vec<Problem> {
        let mut all = Vec::new();
        for width in [1, 2, 4, 8, 16] {
            for (rows, columns) in [(512, 512), (520, 264), (401, 123), (1000, 24)] {
                let [r, c] = [rows, columns].map(usize::cast_signed);
                all.push(problem(&[columns, rows], &[r, 1], &[1, c], width, at));
                all.push(problem(&[rows, columns], &[c, 1], &[2 * c, 1], width, at));
                all.push(problem(&[rows, columns], &[c, 1], &[2 * c, 2], width, at));
                all.push(problem(&[rows, columns], &[3 * c, 3], &[7 * c, 7], width, at));
            }
            // Runs over two axes.
            all.push(problem(&[120, 4, 200], &[800, 200, 1], &[1, 120, 480], width, at));
            all.push(problem(&[121, 4, 201], &[804, 201, 1], &[1, 121, 484], width, at));
        }
        all
    }

    const SCALES: [Scale; 5] = [Scale::Small, Scale::Middle, Scale::Large, Scale::Stream, Scale::FastStream];

    #[test]
    fn what_is_looked_up_is_what_would_be_chosen() {
        let mut chosen = Chosen::default();
        for scale in SCALES {
            for lines in [(0, 0), (1, 0), (0, 3), (1000, 7)] {
                let at = (DST + 128 * lines.0, SRC + 128 * lines.1);
                for (number, problem) in problems(at).into_iter().enumerate() {
                    // One after the other, so that none is found, and three in turn, so that all are.
                    let fresh = choose(&problem, scale);
                    assert_eq!(*chosen.launch(problem.clone(), scale), fresh, "{number} at {scale:?}");
                    let moved = problems((DST + (5 << 20), SRC - 128)).swap_remove(number);
                    let fresh_moved = choose(&moved, scale);
                    assert_eq!(*chosen.launch(moved, scale), fresh_moved, "{number} at {scale:?}");
                    assert_eq!(*chosen.launch(problem, scale), fresh, "{number} at {scale:?}");
                    assert!(chosen.0.len() <= KEPT);
                }
            }
        }
    }

    #[test]
    fn addresses_that_lie_otherwise_in_their_lines_do_not_fit() {
        let mut others = 0;
        for (mine, other) in problems((DST, SRC)).into_iter().zip(problems((DST + 16, SRC + 48))) {
            let mut choice = Choice::new(mine, Scale::Large);
            assert!(!choice.fits(&other, Scale::Large));
            choice.move_to(&other);
            others += usize::from(choice.launch != choose(&other, Scale::Large));
        }
        assert!(others > 0, "each would have been right");
    }

    #[test]
    fn a_copy_that_is_made_again_is_chosen_once() {
        let mut chosen = Chosen::default();
        let several = |shift: u64| problems((DST + shift, SRC)).into_iter().take(KEPT);
        for problem in several(0) {
            chosen.launch(problem, Scale::Large);
        }
        // What is found has the mark, what is chosen anew has not.
        for choice in &mut chosen.0 {
            choice.launch.grid = 0;
        }
        for shift in [0, 1 << 20, 128] {
            assert!(several(shift).all(|problem| chosen.launch(problem, Scale::Large).grid == 0));
        }
        assert!(several(16).all(|problem| chosen.launch(problem, Scale::Large).grid > 0));
        assert_eq!(chosen.0.len(), KEPT);
        // The same loops at another scale, and of elements of another width, are other copies.
        let first = problems((DST, SRC)).swap_remove(0);
        assert!(!Choice::new(first.clone(), Scale::Large).fits(&first, Scale::Small));
        for second in &problems((DST, SRC))[1..] {
            assert!(!Choice::new(first.clone(), Scale::Large).fits(second, Scale::Large));
        }
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chosen({} launches)", self.0.len())
    }
}
