//! The plan of failures: which calls fail, in a form that can be written down.

use std::{fmt, ops::Range, str::FromStr};

use super::{FaultKind, Site};

/// The calls of the backend that fail, and how they fail. With an empty plan, no call fails.
///
/// Calls are counted from 0, either the calls of one site or all calls. If two rules name one call, the first
/// rule counts. Every random choice is drawn from the device's seed, recorded, and repeated with its trace.
///
/// A plan is written and read as rules separated by semicolons:
///
/// | rule | which calls |
/// |---|---|
/// | `copy#3=refused` | the fourth copy |
/// | `any#7=lost` | the eighth call, whatever it is |
/// | `upload@2..5=torn` | the third to the fifth upload |
/// | `any%50=refused` | each, once in fifty times |
/// | `buggify%20` | in each run some sites only, and there each call once in twenty times |
/// | `budget=4096` | allocations of device memory, once 4,096 bytes have been allocated altogether |
/// | `hole=1024` | allocations of more device memory in one piece: memory is free, but in fragments |
/// | `hold` | freed device memory stays taken until the host waits for something |
///
/// ```
/// use devarray_mock::{FaultKind, FaultPlan, Site};
///
/// let plan = FaultPlan::new().nth(Site::Copy, 3, FaultKind::Refused).budget_bytes(4096);
/// assert_eq!(plan.to_string(), "copy#3=refused;budget=4096");
/// assert_eq!("copy#3=refused;budget=4096".parse(), Ok(plan));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FaultPlan {
    pub(super) rules: Vec<Rule>,
    pub(crate) pressure: Pressure,
}

/// Calls of one site, or of any, that fail in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) site: Option<Site>,
    pub(super) when: When,
    pub(super) kind: FaultKind,
}

/// The choice among these calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum When {
    /// The calls with these numbers.
    Window(Range<u64>),
    /// One call in this number, at random.
    OneIn(usize),
    /// One call in this number, at random, at sites that were chosen for this run.
    Buggify(usize),
}

/// Limits of device memory beyond its size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Pressure {
    /// The most bytes that can be allocated in total, freed or not.
    pub(crate) budget_bytes: Option<usize>,
    /// The most bytes that are free in one piece.
    pub(crate) hole_bytes: Option<usize>,
    /// Whether freed memory stays in use until the host waits for something.
    pub(crate) holds_freed: bool,
}

impl FaultPlan {
    /// No call fails.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes call number `n` of the site fail, counted from 0; of any site if `None`.
    #[must_use]
    pub fn nth(self, site: impl Into<Option<Site>>, n: u64, kind: FaultKind) -> Self {
        self.window(site, n..n.saturating_add(1), kind)
    }

    /// Makes the calls of the site with these numbers fail, counted from 0; of any site if `None`. With an
    /// empty window, no call fails.
    #[must_use]
    pub fn window(self, site: impl Into<Option<Site>>, calls: Range<u64>, kind: FaultKind) -> Self {
        self.rule(site.into(), When::Window(calls), kind)
    }

    /// Makes each call of the site, or of any if `None`, fail with a chance of one in `n`: all calls for 1,
    /// none for 0.
    #[must_use]
    pub fn one_in(self, n: usize, site: impl Into<Option<Site>>, kind: FaultKind) -> Self {
        self.rule(site.into(), When::OneIn(n), kind)
    }

    /// In each run, chooses about a quarter of the sites and refuses each of their calls with a chance of one
    /// in `n`: all calls for 1, none for 0. So runs differ more than if every call were equally likely to
    /// fail.
    #[must_use]
    pub fn buggify(self, n: usize) -> Self {
        self.rule(None, When::Buggify(n), FaultKind::Refused)
    }

    /// Device memory is exhausted for good once `bytes` have been allocated in total, freed or not.
    #[must_use]
    pub fn budget_bytes(mut self, bytes: usize) -> Self {
        self.pressure.budget_bytes = Some(bytes);
        self
    }

    /// Device memory is fragmented: at most this many bytes are free in one piece.
    #[must_use]
    pub fn hole_bytes(mut self, bytes: usize) -> Self {
        self.pressure.hole_bytes = Some(bytes);
        self
    }

    /// Freed device memory stays in use until the host waits for a stream or an event: an out-of-memory
    /// condition that waiting cures.
    #[must_use]
    pub fn hold_freed(mut self) -> Self {
        self.pressure.holds_freed = true;
        self
    }

    /// Whether no call fails.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The number of rules that name calls.
    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    fn rule(mut self, site: Option<Site>, when: When, kind: FaultKind) -> Self {
        self.rules.push(Rule { site, when, kind });
        self
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = self.site.map_or("any", Site::name);
        let kind = self.kind.name();
        match &self.when {
            When::Window(calls) if calls.end == calls.start.saturating_add(1) => {
                write!(f, "{site}#{}={kind}", calls.start)
            }
            When::Window(calls) => write!(f, "{site}@{}..{}={kind}", calls.start, calls.end),
            When::OneIn(n) => write!(f, "{site}%{n}={kind}"),
            When::Buggify(n) => write!(f, "buggify%{n}"),
        }
    }
}

impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pressure { budget_bytes, hole_bytes, holds_freed } = self.pressure;
        let rules = self.rules.iter().map(Rule::to_string);
        let budget = budget_bytes.map(|bytes| format!("budget={bytes}"));
        let hole = hole_bytes.map(|bytes| format!("hole={bytes}"));
        let hold = holds_freed.then(|| "hold".to_owned());
        let words: Vec<String> = rules.chain(budget).chain(hole).chain(hold).collect();
        f.write_str(&words.join(";"))
    }
}

impl FromStr for FaultPlan {
    type Err = ParseFaultPlanError;

    fn from_str(text: &str) -> Result<Self, ParseFaultPlanError> {
        let mut rules = text.split(';').filter(|rule| !rule.is_empty()).enumerate();
        rules.try_fold(Self::new(), |plan, (index, rule)| {
            add(plan, rule).map_err(|problem| ParseFaultPlanError {
                rule: rule.to_owned(),
                number: index + 1,
                problem,
            })
        })
    }
}

/// The plan with one more rule, or the mistake in the rule.
fn add(plan: FaultPlan, rule: &str) -> Result<FaultPlan, String> {
    let number = |field: &str, text: &str| {
        text.parse::<u64>().map_err(|_| format!("{field} {text:?} is not a number"))
    };
    let size = |field: &str, text: &str| {
        let number = number(field, text)?;
        usize::try_from(number).map_err(|_| format!("{field} {text:?} is too large"))
    };
    let chance = |text: &str| match size("chance", text)? {
        0 => Err("a call cannot fail once in 0 times".to_owned()),
        n => Ok(n),
    };
    if rule == "hold" {
        return Ok(plan.hold_freed());
    }
    if let Some(n) = rule.strip_prefix("buggify%") {
        return Ok(plan.buggify(chance(n)?));
    }
    let (left, right) =
        rule.split_once('=').ok_or("it has no \"=\", and is neither \"hold\" nor \"buggify%N\"")?;
    match left {
        "budget" => return Ok(plan.budget_bytes(size("budget", right)?)),
        "hole" => return Ok(plan.hole_bytes(size("hole", right)?)),
        _ => {}
    }
    let kind = FaultKind::all().find(|kind| kind.name() == right).ok_or_else(|| {
        format!("{right:?} is no kind of fault: {}", names(FaultKind::all().map(FaultKind::name)))
    })?;
    let at = left
        .find(['#', '@', '%'])
        .ok_or_else(|| format!("{left:?} does not say which calls: SITE#N, SITE@FROM..TO or SITE%N"))?;
    let (site, which) = (&left[..at], &left[at + 1..]);
    let site = match site {
        "any" => None,
        name => {
            let site = name.parse::<Site>();
            let known = || names(["any"].into_iter().chain(Site::all().map(Site::name)));
            Some(site.map_err(|()| format!("{name:?} is no site: {}", known()))?)
        }
    };
    match &left[at..=at] {
        "#" => Ok(plan.nth(site, number("call", which)?, kind)),
        "%" => Ok(plan.one_in(chance(which)?, site, kind)),
        _ => {
            let (from, to) =
                which.split_once("..").ok_or_else(|| format!("window {which:?} is not FROM..TO"))?;
            let calls = number("first call", from)?..number("end of the window", to)?;
            if calls.is_empty() {
                return Err(format!("window {which:?} has no call in it"));
            }
            Ok(plan.window(site, calls, kind))
        }
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// The error for a text that is not a plan: the rule, and the mistake in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseFaultPlanError {
    rule: String,
    /// The number of the rule, from 1.
    number: usize,
    problem: String,
}

impl fmt::Display for ParseFaultPlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} of the plan, {:?}: {}", self.number, self.rule, self.problem)
    }
}

impl std::error::Error for ParseFaultPlanError {}
