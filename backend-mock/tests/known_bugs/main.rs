//! Real mistakes of real libraries, each with the missing edge. Without the edge, the judge names the mistake;
//! with it, the judge finds nothing. Then the same mistakes in safe code: most cannot be written there,
//! because streams wait automatically, and the rest has another meaning.
#![allow(clippy::unwrap_used)] // helpers of tests

mod csan;
mod pageable;
mod safe;

use devarray_mock::{MockDevice, Schedule, program::Program};
use serde_json::{Value, json};

/// A real mistake, or code that looks like one but is right (without a `kind`). The operations
/// marked `fix` were missing.
struct Exhibit(Value);

impl Exhibit {
    fn all() -> Vec<Self> {
        let files = [include_str!("exhibits.jsonl"), include_str!("cusan.jsonl")];
        files
            .iter()
            .flat_map(|file| file.lines())
            .map(|line| Self(serde_json::from_str(line).unwrap()))
            .collect()
    }

    fn name(&self) -> String {
        format!("{} ({})", self.0["name"], self.0["source"])
    }

    fn program(&self, fixed: bool) -> Program {
        let mut program = self.0.clone();
        let fields = program.as_object_mut().unwrap();
        for field in ["source", "kind"] {
            fields.remove(field);
        }
        fields.insert("id".to_owned(), json!("exhibit"));
        fields.entry("hosts").or_insert_with(|| json!([]));
        let ops = fields["ops"].as_array_mut().unwrap();
        ops.retain_mut(|op| {
            let is_fix = op.as_object_mut().unwrap().remove("fix").is_some();
            fixed || !is_fix
        });
        ops.push(json!({"do": "sync_device"}));
        Program::parse(program.to_string().as_bytes())
            .unwrap_or_else(|error| panic!("{}: {error}", self.name()))
    }

    /// The kind of mistake that is found under a schedule.
    fn found(&self, fixed: bool, schedule: Schedule) -> Option<&'static str> {
        let device = MockDevice::builder().schedule(schedule).build();
        self.program(fixed).play_on_mock(&device).unwrap().err().map(|finding| finding.code.kind())
    }
}

#[test]
fn every_mistake_is_found_and_no_mended_one_is() {
    let exhibits = Exhibit::all();
    assert_eq!(exhibits.len(), 40);
    for exhibit in exhibits {
        // Verdicts do not depend on the schedule. An eager schedule behaves like an idle device, which
        // hides all of these mistakes.
        for schedule in [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy] {
            assert_eq!(
                exhibit.found(false, schedule.clone()),
                exhibit.0["kind"].as_str(),
                "{}",
                exhibit.name()
            );
            assert_eq!(exhibit.found(true, schedule), None, "mended: {}", exhibit.name());
        }
    }
}

/// The twin: a judge that forgets waits finds mistakes in the corrected programs.
#[test]
fn a_judge_that_forgets_waits_is_noticed() {
    let exhibits = Exhibit::all();
    let noticed = exhibits.iter().filter(|exhibit| {
        let device = MockDevice::builder().forgets_waits(true).build();
        exhibit.program(true).play_on_mock(&device).unwrap().is_err()
    });
    assert_eq!(noticed.count(), 12);
}
