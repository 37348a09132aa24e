//! A launch that is looked up equals the launch that would be chosen.

use super::{
    super::{
        Addresses,
        family::choose,
        launch_cache::{Choice, KEPT, LaunchCache},
        strided_copy::StridedCopy,
        tile::Scale,
    },
    AT, SCALES, plan, sides_at,
};

const DST: u64 = AT.dst;
const SRC: u64 = AT.src;

fn copy(shape: &[usize], dst: &[isize], src: &[isize], width: usize, (to, from): (u64, u64)) -> StridedCopy {
    let (dst, src) = sides_at(shape, (dst, 0), (src, 0));
    StridedCopy::of(&plan(&dst, &src, width), Addresses { dst: to, src: from }).unwrap()
}

/// Copies for each family of kernels, at these addresses.
fn copies(at: (u64, u64)) -> Vec<StridedCopy> {
    let mut all = Vec::new();
    for width in [1, 2, 4, 8, 16] {
        for (rows, columns) in [(512, 512), (520, 264), (401, 123), (1000, 24)] {
            let [r, c] = [rows, columns].map(usize::cast_signed);
            all.push(copy(&[columns, rows], &[r, 1], &[1, c], width, at));
            all.push(copy(&[rows, columns], &[c, 1], &[2 * c, 1], width, at));
            all.push(copy(&[rows, columns], &[c, 1], &[2 * c, 2], width, at));
            all.push(copy(&[rows, columns], &[3 * c, 3], &[7 * c, 7], width, at));
        }
        // Runs over two axes.
        all.push(copy(&[120, 4, 200], &[800, 200, 1], &[1, 120, 480], width, at));
        all.push(copy(&[121, 4, 201], &[804, 201, 1], &[1, 121, 484], width, at));
    }
    all
}

#[test]
fn what_is_looked_up_is_what_would_be_chosen() {
    let mut cache = LaunchCache::default();
    for scale in SCALES {
        for lines in [(0, 0), (1, 0), (0, 3), (1000, 7)] {
            let at = (DST + 128 * lines.0, SRC + 128 * lines.1);
            for (number, copy) in copies(at).into_iter().enumerate() {
                // First one copy after the other, so that none is found; then three in turn, so
                // that all are found.
                let fresh = choose(&copy, scale);
                assert_eq!(*cache.launch(copy.clone(), scale), fresh, "{number} at {scale:?}");
                let moved = copies((DST + (5 << 20), SRC - 128)).swap_remove(number);
                let fresh_moved = choose(&moved, scale);
                assert_eq!(*cache.launch(moved, scale), fresh_moved, "{number} at {scale:?}");
                assert_eq!(*cache.launch(copy, scale), fresh, "{number} at {scale:?}");
                assert!(cache.0.len() <= KEPT);
            }
        }
    }
}

#[test]
fn addresses_that_lie_otherwise_in_their_lines_do_not_fit() {
    let mut others = 0;
    for (mine, other) in copies((DST, SRC)).into_iter().zip(copies((DST + 16, SRC + 48))) {
        let mut choice = Choice::new(mine, Scale::Large);
        assert!(!choice.fits(&other, Scale::Large));
        choice.move_to(&other);
        others += usize::from(choice.launch != choose(&other, Scale::Large));
    }
    assert!(others > 0, "each would have been right");
}

#[test]
fn a_copy_that_is_made_again_is_chosen_once() {
    let mut cache = LaunchCache::default();
    let several = |shift: u64| copies((DST + shift, SRC)).into_iter().take(KEPT);
    for copy in several(0) {
        cache.launch(copy, Scale::Large);
    }
    // A launch that is found has the mark; a launch that is chosen anew has not.
    for choice in &mut cache.0 {
        choice.launch.grid = 0;
    }
    for shift in [0, 1 << 20, 128] {
        assert!(several(shift).all(|copy| cache.launch(copy, Scale::Large).grid == 0));
    }
    assert!(several(16).all(|copy| cache.launch(copy, Scale::Large).grid > 0));
    assert_eq!(cache.0.len(), KEPT);
    // Equal loops at another scale, or with elements of another width, make another copy.
    let first = copies((DST, SRC)).swap_remove(0);
    assert!(!Choice::new(first.clone(), Scale::Large).fits(&first, Scale::Small));
    for second in &copies((DST, SRC))[1..] {
        assert!(!Choice::new(first.clone(), Scale::Large).fits(second, Scale::Large));
    }
}
