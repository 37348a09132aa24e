//! Explanations of copies.

use super::{
    super::{MemorySpeed, explain_copy},
    AT, plan, sides_at,
};

fn explained(shape: &[usize], dst: &[isize], src: &[isize], width: usize) -> String {
    let (dst, src) = sides_at(shape, (dst, 0), (src, 0));
    explain_copy(MemorySpeed::default(), &plan(&dst, &src, width), AT.dst, AT.src).join("\n")
}

#[test]
fn each_family_says_why() {
    for (shape, dst, src, width, parts) in [
        (&[64, 64][..], &[64, 1][..], &[64, 1][..], 4, "driver | contiguous"),
        (&[512, 512], &[512, 1], &[1024, 1], 4, "rows_aligned | multiple of 16 B"),
        (&[512, 511], &[511, 1], &[1023, 1], 4, "rows_ | same axis"),
        (&[512, 512], &[512, 1], &[1, 512], 4, "tile_4:tile_packed | 16 B loaded | different axes"),
        (&[200, 200], &[200, 1], &[1, 200], 1, "tile_1:tile_packed_8 | 8 B stored | fetched together"),
        (&[8192, 4096], &[4096, 1], &[1, 8192], 4, "tile_4:tile_packed_evict_last | stay in the cache"),
        // Runs over two axes: words of 16 bytes and of 8 bytes, and elements that start anywhere.
        (
            &[304, 312, 312],
            &[312 * 312, 312, 1],
            &[1, 304, 304 * 312],
            1,
            "tile_1:tile_packed_fused  | 312 steps to the end of an axis | 16 B stored | ends of an axis",
        ),
        (
            &[304, 302, 308],
            &[308 * 302, 308, 1],
            &[1, 304, 304 * 302],
            1,
            "tile_1:tile_packed_fused_8 | 308 steps to the end of an axis | 8 B stored | ends of an axis",
        ),
        (
            &[301, 313, 313],
            &[313 * 313, 313, 1],
            &[1, 301, 301 * 313],
            2,
            "tile_2:tile_table_shifted_fused | start anywhere | ends of an axis",
        ),
        (
            &[313, 313, 313],
            &[313 * 313, 313, 1],
            &[1, 313, 313 * 313],
            1,
            "tile_1:tile_linear_shifted_fused | 313 steps to the end of an axis",
        ),
        // All of these are rows. The first ends within a sector.
        (
            &[64009, 253],
            &[253, 1],
            &[1, 64009],
            1,
            "tile_1:tile_periodic_shifted | 253 rows of 80 B | 253 elements a period | all rows of a tile",
        ),
        (&[8192, 4096], &[4096, 1], &[0, 1], 4, "rows_again | only writing counts"),
        (&[512, 512], &[512, 1], &[1024, 2], 2, "rows_stride_2 | 2 B loaded, 16 B stored | picked"),
        (&[512, 512], &[512, 1], &[1024, 2], 1, "rows_stride_1 | 16 B loaded, 16 B stored | picked"),
        (&[512, 512], &[512, 1], &[2560, 5], 1, "rows_stride_1 | 1 B loaded, 16 B stored | picked"),
        (&[4096, 3], &[3, 1], &[512, 1], 4, "gather_4 | 4 B stored | too short"),
    ] {
        let text = explained(shape, dst, src, width);
        assert!(parts.split(" | ").all(|part| text.contains(part)), "{parts}: {text}");
    }
}

/// The first line has the numbers of the copy's loops and no others.
#[test]
fn the_first_line_says_how_the_copy_is_divided() {
    let first_line = |shape: &[usize], dst: &[isize], src: &[isize], width| {
        explained(shape, dst, src, width).lines().next().map(str::to_owned).unwrap()
    };
    assert_eq!(
        first_line(&[512, 512], &[512, 1], &[1024, 1], 4),
        "kernel rows:rows_aligned rows of 2048 B over 1 loops; 256 blocks of 256 threads, 0 B shared"
    );
    // A thread stores 16 of the 128 bytes of a run.
    assert_eq!(
        first_line(&[512, 512], &[512, 1], &[1, 512], 4),
        "kernel tile_4:tile_packed 32 rows of 128 B to 32 runs of 32 elements, 8 threads along a run; \
         256 blocks of 256 threads, 4256 B shared"
    );
    // A thread stores 8 of 152 bytes; that makes 19 threads, which is no power of two.
    let line = first_line(&[304, 302, 308], &[308 * 302, 308, 1], &[1, 304, 304 * 302], 1);
    assert!(line.contains(
        "152 rows of 128 B to 128 runs of 152 elements, 19 threads along a run, 24 elements of overlap, \
         308 steps to the end of an axis;"
    ));
}

#[test]
fn large_copies_say_how_many_launches() {
    let text = explained(&[1 << 16, 1 << 15], &[1 << 15, 1], &[1, 1 << 16], 4);
    assert!(text.contains("the first of 8 launches"), "{text}");
    assert_eq!(explained(&[0, 2], &[2, 1], &[1, 1], 4), "nothing to copy");
}
