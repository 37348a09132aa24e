//! The parameter blocks of the host match the kernels' blocks: every field of the sources, by name,
//! type and offset.

use std::collections::BTreeMap;

use super::super::{
    join::interleave::{VECTORS, ZIP_VECTORS},
    params::{
        Field, MAX_BOX_LOOPS, MAX_FILL_AXES, MAX_GATHER_AXES, MAX_INNER, MAX_OUTER, MAX_PIECE_AXES,
        MAX_PIECES, MAX_ROW_AXES, MAX_SHORT_ROW, MAX_SOURCES, SHARED,
    },
    rows::{CHUNKS, MIN_ROW_BYTES, NEAR, REPEATS},
    strided_launch::{LINE_BYTES, THREADS},
    tile::{sizes::SECTOR_BYTES, threads::MOST_THREADS},
};

const SOURCES: [&str; 7] = [
    include_str!("../../../kernels/strided/common.cuh"),
    include_str!("../../../kernels/strided/row_table.cuh"),
    include_str!("../../../kernels/strided/rows.cu"),
    include_str!("../../../kernels/strided/gather.cu"),
    include_str!("../../../kernels/strided/tile.cuh"),
    include_str!("../../../kernels/strided/fill.cu"),
    include_str!("../../../kernels/strided/join.cu"),
];

/// A member of a struct as a source declares it: its type as the host names it, the bytes of one,
/// and their number.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    type_name: String,
    size: usize,
    align: usize,
    count: usize,
}

/// The members of a struct with their offsets, its size and its alignment.
type Struct = (Vec<(usize, Member)>, usize, usize);

/// The structs of the sources, laid out as C++ does.
#[derive(Debug, Default)]
struct Declared {
    structs: BTreeMap<String, Struct>,
    constants: BTreeMap<String, usize>,
}

impl Declared {
    fn read(source: &str) -> Self {
        let mut all = Self::default();
        let code: String =
            source.lines().map(|line| line.split("//").next().unwrap().to_owned() + "\n").collect();
        all.constants = constants(&code);
        for part in code.split("\nstruct ").skip(1) {
            let Some((name, rest)) =
                part.split_once(" {").filter(|(name, _)| !name.contains(['\n', '<', ';']))
            else {
                continue; // A template.
            };
            let body = rest.split("\n}").next().unwrap();
            all.declare(name, body);
        }
        all
    }

    /// The name on the host, the size and the alignment of a type.
    fn measured(&self, of: &str) -> (String, usize, usize) {
        let plain = |name: &str, size| (name.to_owned(), size, size);
        match of {
            "u32" => plain("u32", 4),
            "int" => plain("i32", 4),
            "u64" | "const char*" | "char*" => plain("u64", 8),
            "i64" => plain("i64", 8),
            other => {
                let (_, size, align) = self.structs.get(other).unwrap_or_else(|| panic!("{other}?"));
                (other.to_owned(), *size, *align)
            }
        }
    }

    fn declare(&mut self, name: &str, body: &str) {
        if body.contains('(') || body.contains("typedef") || body.contains("bool") {
            return; // Not a parameter.
        }
        let (mut members, mut at, mut most) = (Vec::new(), 0_usize, 1);
        for line in body.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            let start = if line.starts_with("const ") { "const ".len() } else { 0 };
            let (of, names) = line.split_at(start + line[start..].find(' ').unwrap());
            let (type_name, size, align) = self.measured(of);
            for text in names.split(',').map(str::trim) {
                let (name, count) = match text.split_once('[') {
                    None => (text, None),
                    Some((name, count)) => (name, Some(count.trim_end_matches(']'))),
                };
                let type_name = count.map_or(type_name.clone(), |count| format!("[{type_name}; {count}]"));
                let count = count.map_or(1, |count| self.number(count));
                let name = name.to_owned();
                at = at.next_multiple_of(align);
                members.push((at, Member { name, type_name, size, align, count }));
                at += size * count;
                most = most.max(align);
            }
        }
        self.structs.insert(name.to_owned(), (members, at.next_multiple_of(most), most));
    }

    fn number(&self, text: &str) -> usize {
        text.parse().unwrap_or_else(|_| self.constants[text])
    }
}

/// The names that are defined as numbers.
fn constants(code: &str) -> BTreeMap<String, usize> {
    let defined = code.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    defined.filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?))).collect()
}

/// All declarations; `common.cuh` comes before the files that include it.
fn declared(change: impl Fn(&str) -> String) -> Declared {
    Declared::read(&SOURCES.map(change).join("\n"))
}

/// Constants by their names.
macro_rules! named {
    ($($name:ident),*) => { [$((stringify!($name), $name as usize)),*] };
}

/// Constants that both sides have, by their names in the sources.
fn constants_of_both() -> Vec<(&'static str, usize)> {
    let limits = named!(MAX_GATHER_AXES, MAX_ROW_AXES, MAX_OUTER, MAX_INNER, MAX_FILL_AXES, MAX_PIECES);
    let of_joins = named!(MAX_PIECE_AXES, MAX_SOURCES, MAX_SHORT_ROW, MAX_BOX_LOOPS, VECTORS, ZIP_VECTORS);
    let others = [("LINE", LINE_BYTES), ("SECTOR", SECTOR_BYTES), ("JOINED", CHUNKS)];
    let others = others.map(|(name, value)| (name, value as usize));
    [&limits[..], &of_joins, &others, &named!(THREADS, MOST_THREADS, REPEATS, NEAR)].concat()
}

/// Differences between the constants and structs of the host and of the sources, by name.
fn differences(declared: &Declared) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (name, value) in constants_of_both() {
        found.extend((declared.constants[name] != value).then(|| format!("{name} is not {value}")));
    }
    // Tables of rows have room for all rows that fit, if no row is shorter than these.
    let least = |name| declared.constants[name] <= MIN_ROW_BYTES as usize;
    found.extend(["LEAST_ROW", "LEAST_WIDE_ROW"].into_iter().filter(|name| !least(*name)).map(str::to_owned));
    for &(name, len_bytes, fields) in SHARED {
        let Some((members, size, _)) = declared.structs.get(name) else {
            found.push(format!("{name} is in no source"));
            continue;
        };
        if len_bytes != *size {
            found.push(format!("{name} has {len_bytes} bytes, not {size}"));
        }
        // Padding is a field only on the host.
        let padding = |field: &&Field| {
            let covered = |(at, member): &(usize, Member)| {
                (*at..at + member.size * member.count).contains(&field.offset)
            };
            field.name.starts_with("unused") && !members.iter().any(covered)
        };
        let shown = |name: &str, of: &str, at: usize, len_bytes: usize| {
            format!("{name}: {of} at {at}, {len_bytes} bytes")
        };
        let host = fields.iter().filter(|field| !padding(field));
        let host: Vec<_> =
            host.map(|field| shown(field.name, field.type_name, field.offset, field.len_bytes)).collect();
        let theirs = members
            .iter()
            .map(|(at, member)| shown(&member.name, &member.type_name, *at, member.size * member.count));
        let theirs: Vec<_> = theirs.collect();
        let pairs = host.iter().zip(&theirs).filter(|(host, theirs)| host != theirs);
        found.extend(pairs.map(|(host, theirs)| format!("{name}: {host}; {theirs}")));
        if host.len() != theirs.len() {
            found.push(format!("{name}: {} fields, not {}", host.len(), theirs.len()));
        }
    }
    found
}

#[test]
fn every_field_is_where_the_kernels_expect_it() {
    let declared = declared(str::to_owned);
    assert_eq!(differences(&declared), Vec::<String>::new());
    assert_eq!(SHARED.len(), 15);
    let fields: usize = SHARED.iter().map(|(.., fields)| fields.len()).sum();
    assert!(fields > 100, "{fields}");
}

/// In the sources: two fields of one type exchanged; a field of another type, or one too many;
/// another constant.
#[test]
fn a_field_elsewhere_is_seen() {
    for (from, to) in [
        ("u32 tiles, outer_axes;", "u32 outer_axes, tiles;"),
        ("i64 low, high;", "i64 high, low;"),
        ("u32 overlap;", "i64 overlap;"),
        ("int vector_x, element_x;", "int element_x, vector_x;"),
        ("u32 row_bytes;", "u32 group_bytes;"),
        ("i64 src, dst;", "i64 dst, src;"),
        ("#define MAX_OUTER 20", "#define MAX_OUTER 19"),
        ("u32 share;", "u32 share, more;"),
        ("u64 dst, unused;", "u64 unused, dst;"),
        ("u32 first, count;", "u32 count, first;"),
        ("#define LEAST_ROW 64", "#define LEAST_ROW 65"),
        ("#define JOINED 4", "#define JOINED 8"),
        ("#define VECTORS 4", "#define VECTORS 2"),
    ] {
        assert!(SOURCES.iter().any(|source| source.contains(from)), "{from}");
        let changed = declared(|source| source.replacen(from, to, 1));
        assert_ne!(differences(&changed), Vec::<String>::new(), "{from}");
    }
}
