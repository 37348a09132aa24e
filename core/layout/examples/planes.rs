//! Plans some copies of one image: some are one run, some are rows, and some are scattered.

use devarray_layout::{
    Layout, LayoutError, Order,
    copy::{Limits, Plan},
    ix,
};

fn main() -> Result<(), LayoutError> {
    let image = Layout::contiguous(&[480, 640, 3], Order::C)?; // row, column, channel
    let copies = [
        ("all of it", image.clone()),
        ("upper half", image.index(&ix![..240])?),
        ("centre", image.index(&ix![120..360, 160..480])?),
        ("every other row", image.index(&ix![..;2])?),
        ("mirrored", image.index(&ix![.., ..;-1])?),
        ("planes", image.permute(&[2, 0, 1])?),
    ];
    for (name, source) in &copies {
        let dense = Layout::contiguous(source.shape(), Order::C)?;
        let plan = Plan::new(&dense, source, 1, Limits::default())?;
        println!("{name:16} {:9} bytes in {:7} runs", plan.len_bytes(), plan.runs().count());
    }
    let runs = |source: &Layout| {
        let dense = Layout::contiguous(source.shape(), Order::C)?;
        Ok::<_, LayoutError>(Plan::new(&dense, source, 1, Limits::default())?.runs().count())
    };
    assert_eq!(
        (runs(&copies[1].1)?, runs(&copies[2].1)?),
        (1, 240),
        "a half is one run, the centre its rows"
    );
    Ok(())
}
