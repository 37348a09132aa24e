//! The laws that notice each bug, as a table that is kept in `reports`.

use std::{collections::BTreeMap, env, fmt::Write as _, fs, path::Path};

use devarray_mock::MockDevice;

use crate::{NOTICE_NO_BUG_BELOW, bug::KILLERS, every_law, is_tried};

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/reports/PLANTED_BUGS.md");

/// If set, the table is written again instead of compared.
const WRITE: &str = "DEVARRAY_WRITE_PLANTED_BUGS";

/// The laws that each bug broke, in the order of [`KILLERS`].
pub(crate) struct Matrix<'a> {
    pub(crate) tried: &'a [BTreeMap<String, String>],
}

impl Matrix<'_> {
    /// Writes the committed table again, if the environment asks for it.
    pub(crate) fn write_if_asked(&self) {
        if env::var_os(WRITE).is_some() {
            fs::write(COMMITTED, self.table()).expect("the table can be written");
        }
    }

    /// A message if the committed table differs.
    pub(crate) fn differs_from_the_committed_one(&self) -> Option<String> {
        let table = self.table();
        let committed = fs::read_to_string(COMMITTED).unwrap_or_default();
        // The order of the simulator's work decides which other laws notice a bug.
        let (table, committed) = (table.replace('+', "."), committed.replace('+', "."));
        let differs = table.lines().zip(committed.lines()).find(|(due, found)| due != found);
        (table != committed).then(|| {
            let name = Path::new(COMMITTED).file_name().unwrap_or_default().display();
            format!("{name} is out of date: {differs:?} (now, committed); {WRITE}=1 writes it anew")
        })
    }

    fn table(&self) -> String {
        let laws = every_law::<MockDevice>();
        let mut table = format!(
            "# Planted bugs\n\n\
             Which law of the suite notices which of {} bugs planted in a backend?\n\n\
             `tests/meta` makes this table. It fails if a bug survives the law named for it, if a law notices none, or if the\n\
             table is of other laws or bugs.\n\n\
             `#` the law named for the bug, `+` a law that notices it too, `.` one that does not; blank: not tried, because\n\
             the law is slow, hands the device memory that a bug would ruin, or computes nothing where the bug is in functions.\n\n```text\n",
            KILLERS.len(),
        );
        for digit in [10, 1] {
            let numbers = (1..=KILLERS.len()).map(|number| (number / digit % 10).to_string());
            let _ = writeln!(table, "{:43}{}", "", numbers.collect::<String>());
        }
        for law in &laws {
            let name = law.full_name();
            let row = KILLERS.iter().zip(self.tried).map(|((bug, killer), broken)| {
                match (broken.contains_key(&name), *killer == name, is_tried(&name, *bug, killer)) {
                    (true, true, _) => '#',
                    (true, false, _) => '+',
                    (false, _, true) => '.',
                    (false, _, false) => ' ',
                }
            });
            let _ = writeln!(table, "{:3} {name:38} {}", law.code, row.collect::<String>().trim_end());
        }
        table += "```\n\n| | bug | named for it |\n|---|---|---|\n";
        for (number, (bug, killer)) in (1..).zip(KILLERS) {
            let _ = writeln!(table, "| {number} | {bug:?} | `{killer}` |");
        }
        let _ = writeln!(
            table,
            "\n{} of {} laws notice at least one. No bug of a backend can break the others, which are about core alone;\n\
             `.ci/core_bugs.py` plants one there for each: `{}`.",
            laws.len() - NOTICE_NO_BUG_BELOW.len(),
            laws.len(),
            NOTICE_NO_BUG_BELOW.join("`, `"),
        );
        table
    }
}
