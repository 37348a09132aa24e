//! The expected result of a program, and its actual one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Program;
use crate::finding::Finding;

/// The expected result of a program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a program is right or wrong")]
pub enum Expect {
    /// It is right, and leaves these bytes in its pinned memories, in hexadecimal.
    Ok {
        /// The bytes, by the memory's name.
        hosts: BTreeMap<String, String>,
    },
    /// It is wrong.
    Error {
        /// The family of mistakes.
        kind: String,
        /// The first operation that is wrong.
        op: usize,
        /// The earlier operations that it is not ordered with.
        with: Vec<usize>,
    },
}

/// The result of a program, as its line of output.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The name of the program.
    pub id: String,
    /// `"ok"` or `"error"`.
    pub verdict: &'static str,
    /// The family of mistakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The operation that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<u64>,
    /// The earlier operations that it is not ordered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<Vec<u64>>,
    /// The bytes of each pinned memory at the end, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<BTreeMap<String, String>>,
}

impl Verdict {
    /// The verdict on a program that was played: the mistake, or the bytes of its pinned memories.
    #[must_use]
    pub fn new(program: &Program, played: &Result<Vec<Vec<u8>>, Finding>) -> Self {
        let id = program.id().to_owned();
        match played {
            Ok(hosts) => {
                let hosts = program.hosts().map(str::to_owned).zip(hosts.iter().map(|bytes| hex(bytes)));
                let hosts = Some(hosts.collect());
                Self { id, verdict: "ok", kind: None, op: None, with: None, hosts }
            }
            Err(finding) => Self {
                id,
                verdict: "error",
                kind: Some(finding.code.kind()),
                op: Some(finding.operation.number),
                with: Some(finding.with.iter().map(|(operation, _)| operation.number).collect()),
                hosts: None,
            },
        }
    }

    /// Whether it is the expected result: the same mistake at the same operation, naming at least
    /// one of the expected earlier operations and no other; or the same bytes.
    #[must_use]
    pub fn meets(&self, expect: &Expect) -> bool {
        match expect {
            Expect::Ok { hosts } => self.hosts.as_ref().is_some_and(|found| {
                let same = |((host, bytes), (other, expected)): ((&String, &String), (&String, &String))| {
                    host == other && bytes.eq_ignore_ascii_case(expected)
                };
                found.len() == hosts.len() && found.iter().zip(hosts).all(same)
            }),
            Expect::Error { kind, op, with } => {
                let named = self.with.as_deref().unwrap_or_default();
                let expected = |number: &u64| with.iter().any(|&index| index as u64 == *number);
                self.kind == Some(kind.as_str())
                    && self.op == Some(*op as u64)
                    && named.iter().all(expected)
                    && named.is_empty() == with.is_empty()
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}
