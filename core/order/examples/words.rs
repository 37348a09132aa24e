//! Counts the words of a text, and finds the three most frequent: words become numbers, which are
//! counted and sorted.

use devarray_order::{Combining, OrderError, bincount, put, top_k, unique_all};

fn main() -> Result<(), OrderError> {
    let text = "the cat and the dog and the bird saw the cat";
    let words: Vec<&str> = text.split(' ').collect();
    // A word of up to eight letters is a number that sorts as the word does.
    let number =
        |word: &&str| word.bytes().chain([0; 8]).take(8).fold(0, |sum, letter| sum << 8 | u64::from(letter));
    let numbers: Vec<u64> = words.iter().map(number).collect();

    let found = unique_all(&numbers);
    let word = |which: usize| words[found.firsts[which]];
    let counts: Vec<u32> = found.counts.iter().map(|&count| u32::try_from(count).expect("few")).collect();
    let (most, which) = top_k(&counts, 3, true)?;
    for (count, &which) in most.iter().zip(&which) {
        println!("{count} x {}", word(which));
    }
    assert_eq!(which.iter().map(|&which| word(which)).collect::<Vec<_>>(), ["the", "and", "cat"]);
    assert_eq!(most, [4, 2, 2], "equals keep their order");

    // For each word, the number of letters that it adds to the text.
    let indices: Vec<u32> = found.inverse.iter().map(|&which| u32::try_from(which).expect("few")).collect();
    assert_eq!(bincount(&indices, found.values.len())?, found.counts);
    let lengths: Vec<i32> = words.iter().map(|word| i32::try_from(word.len()).expect("short")).collect();
    let mut letters = vec![0; found.values.len()];
    put(&mut letters, &indices, &lengths, Combining::Sum)?;
    assert_eq!(letters[which[0]], 12);
    Ok(())
}
