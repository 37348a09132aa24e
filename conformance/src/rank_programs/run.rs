//! Programs on a device.
#![allow(unsafe_code)] // goes on without comparing the calls of programs that are right

use devarray::{
    Array, ArrayView, ArrayViewMut, Context, Error, Result, StreamHandle,
    backend::Collects,
    collective::{Combination, Communicator, CommunicatorId},
    ix,
};

use super::{
    RankProgram, Seen,
    calls::{Functions, add, rotate},
    step::{Call, Form, Mistake, Parts, SLOTS, Step, View},
    value::{Kind, Value},
};
use crate::violation::Violation;

impl<D: Collects> Clone for Functions<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Collects> Copy for Functions<D> {}

/// One rank.
struct Player<T: Value, D: Collects> {
    of: Of<D>,
    streams: [StreamHandle<D>; 2],
    arrays: [Array<T, D>; SLOTS],
    /// The communicators of all ranks and of a group; none while it is in use.
    ranks: [Option<Communicator<D>>; 2],
    seen: Seen,
}

impl RankProgram {
    /// Plays a rank of it in a new communicator, and gives what that saw. All ranks are given one id.
    ///
    /// # Errors
    ///
    /// A call failed.
    ///
    /// # Panics
    ///
    /// In a program [with a mistake](Self::with_mistake), if that is to panic.
    pub fn run<D: Collects>(
        &self,
        context: &Context<D>,
        id: &CommunicatorId,
        rank: usize,
        functions: Functions<D>,
    ) -> Result<Seen, Violation> {
        let ranks = Communicator::join(context, id, rank, self.ranks);
        self.play(ranks.map_err(|error| self.told(rank, &error))?, functions)
    }

    /// Plays a rank of it in a communicator of as many ranks, and gives what that saw.
    ///
    /// # Errors
    ///
    /// A call failed.
    ///
    /// # Panics
    ///
    /// In a program [with a mistake](Self::with_mistake), if that is to panic.
    pub fn play<D: Collects>(
        &self,
        ranks: Communicator<D>,
        functions: Functions<D>,
    ) -> Result<Seen, Violation> {
        let rank = ranks.rank();
        let seen = match self.kind {
            Kind::F32 => self.play_of::<f32, D>(ranks, functions),
            Kind::F64 => self.play_of::<f64, D>(ranks, functions),
            Kind::U8 => self.play_of::<u8, D>(ranks, functions),
            Kind::I32 => self.play_of::<i32, D>(ranks, functions),
            Kind::U64 => self.play_of::<u64, D>(ranks, functions),
        };
        seen.map_err(|error| self.told(rank, &error))
    }

    fn told(&self, rank: usize, error: &Error) -> Violation {
        Violation::new(format!("{self:?}: rank {rank}: {error}"))
    }

    fn play_of<T: Value, D: Collects>(
        &self,
        ranks: Communicator<D>,
        functions: Functions<D>,
    ) -> Result<Seen> {
        let (rank, context) = (ranks.rank(), ranks.context().clone());
        let streams = [context.stream()?, context.stream()?];
        let ranks = [Some(ranks), None];
        let array = |slot| {
            let shape = [self.ranks, View::width(slot, self.len)];
            Array::from_slice(&streams[slot % 2], &shape, &self.begin::<T>(rank, slot))
        };
        let arrays = [array(0)?, array(1)?, array(2)?];
        let mut player =
            Player { of: Of { len: self.len, rank, functions }, streams, arrays, ranks, seen: Seen::new() };
        for (steps, launches) in self.parts() {
            let has_mistake =
                self.wrong.is_some_and(|wrong| wrong.rank == rank && steps.contains(&wrong.step));
            match launches.filter(|_| !has_mistake && player.records(&self.steps[steps.clone()])) {
                Some(launches) => player.launch(&self.steps[steps], launches)?,
                None => {
                    for at in (0..launches.unwrap_or(1)).flat_map(|_| steps.clone()) {
                        let wrong = self.wrong.filter(|wrong| (wrong.rank, wrong.step) == (rank, at));
                        match wrong.map(|wrong| wrong.how) {
                            None => player.step(&self.steps[at])?,
                            Some(Mistake::Ends) => return Ok(player.seen),
                            Some(mistake) => player.mistake(mistake)?,
                        }
                    }
                }
            }
        }
        player.look()?;
        Ok(player.seen)
    }
}

/// A view of rows of an array.
fn view<'a, T: Value, D: Collects>(
    array: &'a ArrayViewMut<'_, T, D>,
    of: &View,
    rows: usize,
    len: usize,
) -> Result<ArrayView<'a, T, D>> {
    let (end, axes) = placed(of, len);
    array.as_view().index(&ix![..rows, of.start..end; of.step.cast_signed()])?.flip(&axes[..])
}

fn view_mut<'a, T: Value, D: Collects>(
    array: &'a mut ArrayViewMut<'_, T, D>,
    of: &View,
    rows: usize,
    len: usize,
) -> Result<ArrayViewMut<'a, T, D>> {
    let (end, axes) = placed(of, len);
    array.reborrow().index(&ix![..rows, of.start..end; of.step.cast_signed()])?.flip(&axes[..])
}

/// The end of the columns of a view, and the axes that run backwards.
fn placed(of: &View, len: usize) -> (usize, Vec<usize>) {
    let end = len.checked_sub(1).map_or(of.start, |last| of.start + last * of.step + 1);
    (end, (0..2).filter(|&axis| of.flips[axis]).collect())
}

impl<T: Value, D: Collects> Player<T, D> {
    fn look(&mut self) -> Result<()> {
        let mut bits = Vec::new();
        for array in &self.arrays {
            bits.extend(array.to_vec(&self.streams[0])?.into_iter().map(Value::bits));
        }
        self.seen.push(bits);
        Ok(())
    }

    /// A call that fits none of the others'.
    fn mistake(&mut self, mistake: Mistake) -> Result<()> {
        let (stream, [Some(ranks), _]) = (&self.streams[0], &mut self.ranks) else { return Ok(()) };
        match mistake {
            Mistake::Skipped | Mistake::Ends => Ok(()),
            Mistake::Barrier => ranks.barrier(),
            Mistake::Broadcast => ranks.broadcast(stream, 0, &mut Array::full(stream, &[1], 7_u16)?),
            Mistake::OtherType => {
                ranks.all_reduce(stream, Combination::Sum, &Array::full(stream, &[1], 7_u16)?).map(drop)
            }
            Mistake::Panics => panic!("on purpose"),
        }
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match &step.call {
            Call::Look => self.look(),
            Call::Split(colors) => {
                let color = colors[self.of.rank];
                self.ranks[1] = self.ranks[0].as_mut().map_or(Ok(None), |ranks| ranks.split(color))?;
                Ok(())
            }
            Call::Uncheck => {
                // SAFETY: all ranks are at this step, and go on with the same calls in one order. Where one does
                // not, by a planted mistake, the simulator compares the calls.
                self.ranks[0] = self.ranks[0].take().map(|ranks| unsafe { ranks.into_unchecked() });
                Ok(())
            }
            _ => {
                let which = usize::from(step.group);
                let Some(mut ranks) = self.ranks[which].take() else { return Ok(()) };
                let on = &self.streams[step.parts[self.of.rank].stream].clone();
                let arrays = &mut self.arrays.each_mut().map(Array::view_mut);
                let exchanged = self.of.exchange(on, step, arrays, &mut ranks);
                self.ranks[which] = Some(ranks);
                exchanged
            }
        }
    }

    /// Whether steps can be recorded: functions of the host read elements back.
    fn records(&self, steps: &[Step]) -> bool {
        self.of.functions.0.is_some() || !steps.iter().any(|step| matches!(step.call, Call::Add))
    }

    /// Records steps of one communicator, and launches them this many times.
    fn launch(&mut self, steps: &[Step], launches: usize) -> Result<()> {
        let Some(first) = steps.first() else { return Ok(()) };
        let Some(ranks) = &mut self.ranks[usize::from(first.group)] else { return Ok(()) };
        let stream = &self.streams[first.parts[self.of.rank].stream];
        let [one, two, three] = self.arrays.each_mut();
        let of = &self.of;
        let recorded = stream.record_work(
            (&mut *one, &mut *two, &mut *three, &mut *ranks),
            |on, (one, two, three, ranks)| {
                let arrays = &mut [one, two, three];
                steps.iter().try_for_each(|step| of.exchange(on, step, arrays, ranks))
            },
        )?;
        for _ in 0..launches {
            recorded.launch(stream, (&mut *one, &mut *two, &mut *three, &mut *ranks))?;
        }
        Ok(())
    }
}

/// The way of a rank to make exchanges, on any stream.
struct Of<D: Collects> {
    len: usize,
    /// The rank among all.
    rank: usize,
    functions: Functions<D>,
}

type Arrays<'a, T, D> = [ArrayViewMut<'a, T, D>; SLOTS];

impl<D: Collects> Of<D> {
    /// Copies a new array to where it goes.
    fn keep<T: Value>(
        &self,
        on: &StreamHandle<D>,
        new: &ArrayView<'_, T, D>,
        (arrays, to): (&mut Arrays<'_, T, D>, View),
        (rows, row): (usize, Option<usize>),
    ) -> Result<()> {
        let mut to = view_mut(&mut arrays[to.slot], &to, rows, self.len)?;
        match row {
            Some(row) => to.index(&ix![row])?.copy_from(on, new),
            None => to.copy_from(on, new),
        }
    }

    fn exchange<T: Value>(
        &self,
        stream: &StreamHandle<D>,
        step: &Step,
        arrays: &mut Arrays<'_, T, D>,
        ranks: &mut Communicator<D>,
    ) -> Result<()> {
        let (n, at, len) = (ranks.ranks(), ranks.rank(), self.len);
        let Parts { from, to, .. } = step.parts[self.rank];
        let Ok([source, target]) = arrays.get_disjoint_mut([from.slot, to.slot]) else { return Ok(()) };
        let source = view(source, &from, n, len)?;
        let mut target = view_mut(target, &to, n, len)?;
        match &step.call {
            Call::AllReduce(combination, Form::New) => {
                let new = ranks.all_reduce(stream, *combination, &source)?;
                self.keep(stream, &new.view(), (arrays, to), (n, None))
            }
            Call::AllReduce(combination, Form::Into) => {
                ranks.all_reduce_into(stream, *combination, &source, &mut target)
            }
            Call::AllReduce(combination, Form::InPlace) => {
                ranks.all_reduce_in_place(stream, *combination, &mut target)
            }
            Call::Reduce(combination, root, Form::InPlace) => {
                ranks.reduce_in_place(stream, *combination, root % n, &mut target)
            }
            Call::Reduce(combination, root, _) => {
                match ranks.reduce(stream, *combination, root % n, &source)? {
                    Some(new) => self.keep(stream, &new.view(), (arrays, to), (n, None)),
                    None => Ok(()),
                }
            }
            Call::ReduceScatter(combination, Form::New) => {
                let new = ranks.reduce_scatter(stream, *combination, &source)?;
                self.keep(stream, &new.view(), (arrays, to), (n, Some(to.row % n)))
            }
            Call::ReduceScatter(combination, Form::Into) => {
                let mut row = target.index(&ix![to.row % n])?;
                ranks.reduce_scatter_into(stream, *combination, &source, &mut row)
            }
            Call::ReduceScatter(combination, Form::InPlace) => {
                ranks.reduce_scatter_in_place(stream, *combination, &mut target)
            }
            Call::Broadcast(root) => ranks.broadcast(stream, root % n, &mut target),
            Call::AllGather(Form::New) => {
                let new = ranks.all_gather(stream, &source.index(&ix![from.row % n])?)?;
                self.keep(stream, &new.view(), (arrays, to), (n, None))
            }
            Call::AllGather(Form::Into) => {
                ranks.all_gather_into(stream, &source.index(&ix![from.row % n])?, &mut target)
            }
            Call::AllGather(Form::InPlace) => ranks.all_gather_in_place(stream, &mut target),
            Call::AllToAll(Form::New) => {
                let new = ranks.all_to_all(stream, &source)?;
                self.keep(stream, &new.view(), (arrays, to), (n, None))
            }
            Call::AllToAll(_) => ranks.all_to_all_into(stream, &source, &mut target),
            Call::Counted(counts, form) => {
                let sent = &counts[at][..n];
                let received: Vec<usize> = counts[..n].iter().map(|of| of[at]).collect();
                let (rows, given) = (received.iter().sum::<usize>(), sent.iter().sum::<usize>());
                let source = source.slice_axis(0, ..given)?;
                let mut target = target.slice_axis(0, ..rows)?;
                if *form == Form::Into {
                    return ranks.all_to_all_counted_into(stream, &source, sent, &mut target, &received);
                }
                let (new, counts) = ranks.all_to_all_counted(stream, &source, sent)?;
                assert_eq!(counts, received, "the rows from each rank");
                target.copy_from(stream, &new)
            }
            Call::Transfer(one, two) => {
                let [one, two] = [one % n, two % n];
                if one == two {
                    return Ok(());
                }
                if at == one {
                    ranks.send(stream, two, &source.index(&ix![from.row % n])?)?;
                } else if at == two {
                    ranks.receive_into(stream, one, &mut target.index(&ix![to.row % n])?)?;
                }
                Ok(())
            }
            Call::Rotate(by) => {
                let source = source.index(&ix![from.row % n])?;
                rotate(stream, ranks, by % n, &source, &mut target.index(&ix![to.row % n])?)
            }
            Call::Barrier => ranks.barrier(),
            Call::Add => add(stream, self.functions, &source, &mut target),
            Call::Copy => target.copy_from(stream, &source),
            Call::Fill(seed) => target.fill(stream, T::drawn(&mut crate::Rng::new(*seed))),
            Call::Look | Call::Split(_) | Call::Uncheck => Ok(()),
        }
    }
}
