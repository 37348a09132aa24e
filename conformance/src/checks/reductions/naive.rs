//! A naive form of the order of additions, by its description.

/// A function that combines two elements, the earlier one first.
pub(in crate::checks) type Combined<T> = fn(T, T) -> T;

/// The total of all elements, before it is combined with the identity; `None` if there are none.
pub(in crate::checks) fn total<T: Copy>(values: &[T], combine: Combined<T>) -> Option<T> {
    let mut values = values.to_vec();
    while values.len() > 1 {
        values = values.chunks(16_384).map(|segment| segment_total(segment, combine)).collect();
    }
    values.first().copied()
}

fn segment_total<T: Copy>(segment: &[T], combine: Combined<T>) -> T {
    let mut lanes: Vec<T> = segment.iter().copied().take(1024).collect();
    for (at, &value) in segment.iter().enumerate().skip(1024) {
        lanes[at % 1024] = combine(lanes[at % 1024], value);
    }
    while lanes.len() > 1 {
        lanes = lanes
            .chunks(2)
            .map(|pair| match pair {
                [a, b] => combine(*a, *b),
                alone => alone[0],
            })
            .collect();
    }
    lanes[0]
}

/// A scan: each element combined with all elements before it, or only those before it.
pub(super) fn running<T: Copy>(values: &[T], identity: T, exclusive: bool, combine: Combined<T>) -> Vec<T> {
    (0..values.len())
        .map(|at| {
            let (mut before, mut start) = (identity, 0);
            for digit in (0..usize::BITS).rev().map(|digit| 1 << digit).filter(|digit| at & digit != 0) {
                before = combine(before, halves(&values[start..start + digit], combine));
                start += digit;
            }
            if exclusive { before } else { combine(before, values[at]) }
        })
        .collect()
}

/// The total of the left half combined with the total of the right half.
fn halves<T: Copy>(block: &[T], combine: Combined<T>) -> T {
    if let [one] = block {
        return *one;
    }
    let (left, right) = block.split_at(block.len() / 2);
    combine(halves(left, combine), halves(right, combine))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_worked_out_by_hand() {
        let trace = |values: &[f64]| total(values, |a, b| a * 3.0 - b);
        assert_eq!(trace(&[5.0]), Some(5.0));
        assert_eq!(trace(&[1.0, 2.0, 3.0]), Some((1.0 * 3.0 - 2.0) * 3.0 - 3.0), "the third has no partner");
        assert_eq!(trace(&[1.0, 2.0, 3.0, 4.0]), Some((1.0 * 3.0 - 2.0) * 3.0 - (3.0 * 3.0 - 4.0)));
        assert_eq!(total::<f64>(&[], |a, _| a), None);
        let before = running(&[1.0, 2.0, 3.0, 4.0], 0.0, true, |a, b| a * 3.0 - b);
        assert_eq!(before, [0.0, -1.0, -(1.0 * 3.0 - 2.0), -(1.0 * 3.0 - 2.0) * 3.0 - 3.0]);
        assert_eq!(running(&[1, 2, 3], 0, false, |a, b| a + b), [1, 3, 6]);
    }
}
