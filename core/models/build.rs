//! Copies sources of core, with the names of what synchronizes threads led elsewhere: once as they
//! are, and once for each planted bug.

use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

/// Sources of core, by the module that they become here.
const SOURCES: [(&str, &str); 5] = [
    ("copy_pool", "staging/copy_pool.rs"),
    ("hook", "memory/hook.rs"),
    ("pinned_pool", "pinned_pool.rs"),
    ("pinned_context", "pinned_pool/context.rs"),
    ("release", "memory/release.rs"),
];

/// Text that is led elsewhere: the file (or any), the text there, how often at least, and the text
/// here.
const LED: [(&str, &str, &str); 9] = [
    ("", "use std::{\n", "use crate::threads::{\n"),
    ("copy_pool", "crate::threads::{", "crate::threads::checked::{"),
    ("copy_pool", "\n#[cfg(test)]\nmod tests;\n", "\n"),
    ("pinned_pool", "\nmod context;\n", "\n#[path = \"pinned_context.rs\"]\nmod context;\n"),
    // Each look is a choice of the model.
    ("copy_pool", "const LOOKS: usize = 2000;", "const LOOKS: usize = 1;"),
    ("hook", "\nthread_local! {", "\nloom::thread_local! {"),
    ("hook", "= const { RefCell::new(Vec::new()) };", "= RefCell::new(Vec::new());"),
    ("hook", "= const { RefCell::new(VecDeque::new()) };", "= RefCell::new(VecDeque::new());"),
    (
        "hook",
        "(|all| all.borrow().is_empty()) == Ok(true)",
        "(|all| all.borrow().is_empty()).is_ok_and(|is| is)",
    ),
];

/// The modules of one copy.
const MODULES: &str = r#"
pub(crate) use crate::threads;
#[path = "FOLDER/around.rs"]
mod around;
pub(crate) use around::*;
#[path = "FOLDER/copy_pool.rs"]
pub(crate) mod copy_pool;
#[path = "FOLDER/pinned_pool.rs"]
pub(crate) mod pinned_pool;
#[path = "FOLDER/models.rs"]
pub(crate) mod models;
pub(crate) mod memory {
    pub(crate) use super::around::memory::*;
    #[path = "FOLDER/hook.rs"]
    pub(crate) mod hook;
    #[path = "FOLDER/release.rs"]
    pub(crate) mod release;
    #[path = "FOLDER/context.rs"]
    mod context;
    pub(crate) use hook::Watch;
    pub(crate) use release::{Pending, PendingReleases, Release, ReleaseLimits, Releases};
}
"#;

/// A bug: its module, the file, and pairs of a text there and its replacement.
struct Planted {
    name: &'static str,
    file: &'static str,
    changes: &'static [(&'static str, &'static str)],
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "missing_acquire",
        file: "copy_pool",
        changes: &[("self.left.load(Ordering::Acquire) == 0", "self.left.load(Ordering::Relaxed) == 0")],
    },
    Planted {
        name: "missing_release",
        file: "copy_pool",
        changes: &[("fetch_sub(shares, Ordering::AcqRel)", "fetch_sub(shares, Ordering::Acquire)")],
    },
    Planted {
        name: "lost_wake_up",
        file: "copy_pool",
        changes: &[(
            "let mut end = lock(&self.end);\n        end.awaited = true;\n        while !self.is_over() {",
            "let is_over = self.is_over();\n        let mut end = lock(&self.end);\n        \
             end.awaited = true;\n        if !is_over {",
        )],
    },
    Planted {
        name: "waiter_is_not_told",
        file: "copy_pool",
        changes: &[("        end.awaited = true;\n", "")],
    },
    Planted {
        name: "sleepers_are_not_closed",
        file: "copy_pool",
        changes: &[(
            "lock(&self.shared.queue).closed = true;\n        self.shared.called.notify_all();",
            "lock(&self.shared.queue).closed = true;",
        )],
    },
    Planted {
        name: "a_share_is_claimed_twice",
        file: "copy_pool",
        changes: &[(
            "let share = self.claimed.fetch_add(1, Ordering::Relaxed);",
            "let share = self.claimed.load(Ordering::Relaxed);\n            \
             self.claimed.store(share + 1, Ordering::Relaxed);",
        )],
    },
    Planted {
        name: "what_is_taken_back_goes_on",
        file: "copy_pool",
        changes: &[(
            "job.claimed.swap(job.shares, Ordering::Relaxed)",
            "job.claimed.load(Ordering::Relaxed)",
        )],
    },
    Planted {
        name: "a_hook_is_marked_outside_the_lock",
        file: "hook",
        changes: &[
            ("        self.is_hooked.store(hook.is_some(), Ordering::Relaxed);\n", ""),
            (
                "let mut current = lock(&self.hook);",
                "self.is_hooked.store(hook.is_some(), Ordering::Relaxed);\n        \
                 let mut current = lock(&self.hook);",
            ),
        ],
    },
    Planted {
        name: "a_hook_is_called_under_the_lock",
        file: "hook",
        changes: &[(
            "let Some(hook) = self.hook() else { return };\n        if !running(&hook).0 {",
            "let kept = lock(&self.hook);\n        let Some(hook) = kept.clone() else { return };\n        \
             if !running(&hook).0 {",
        )],
    },
    Planted {
        name: "nothing_is_reserved",
        file: "pinned_pool",
        changes: &[
            ("        state.asked_bytes += size.get();\n", ""),
            ("        state.asked_bytes -= size.get();\n", ""),
        ],
    },
    Planted {
        name: "what_comes_too_late_is_put_off",
        file: "release",
        changes: &[
            ("        if !state.is_deferring() {\n            return Some(item);\n        }\n", ""),
            (
                "        if is_over {\n            self.flush(&*core);\n        }\n        None",
                "        let _ = is_over;\n        None",
            ),
        ],
    },
    Planted {
        name: "deferring_is_marked_outside_the_lock",
        file: "release",
        changes: &[(
            "self.is_deferring.store(state.is_deferring(), Relaxed);\n        \
             let is_over = state.is_over();\n        drop(state);",
            "let (is_deferring, is_over) = (state.is_deferring(), state.is_over());\n        drop(state);\n        \
             self.is_deferring.store(is_deferring, Relaxed);",
        )],
    },
];

/// A text with one place changed, which there must be.
fn changed(text: &str, file: &str, from: &str, to: &str) -> String {
    assert!(
        text.matches(from).count() == 1,
        "{file} says this {} times:\n{from}",
        text.matches(from).count()
    );
    text.replace(from, to)
}

fn variant(name: &str, planted: Option<&Planted>, out: &Path, root: &mut String) {
    let core = PathBuf::from("../src");
    let folder = out.join(name);
    fs::create_dir_all(&folder).expect("a folder for what is made");
    let own = |text: &str| text.replace("crate::", &format!("crate::{name}::"));
    for (module, path) in SOURCES {
        let mut text = fs::read_to_string(core.join(path)).expect("a source of core");
        for (file, from, to) in LED {
            if file.is_empty() && text.contains(from) || file == module {
                text = changed(&text, path, from, to);
            }
        }
        for (from, to) in
            planted.filter(|planted| planted.file == module).map_or(&[][..], |planted| planted.changes)
        {
            text = changed(&text, path, from, to);
        }
        fs::write(folder.join(format!("{module}.rs")), own(&text)).expect("what is made is written");
    }
    for file in ["around", "context", "models"] {
        let text = fs::read_to_string(format!("src/{file}.rs")).expect("a source of this package");
        fs::write(folder.join(format!("{file}.rs")), own(&text)).expect("what is made is written");
    }
    let _ = write!(
        root,
        "pub(crate) mod {name} {{\n{}}}\n",
        MODULES.replace("FOLDER", &folder.display().to_string())
    );
}

fn main() {
    println!("cargo:rerun-if-changed=../src");
    println!("cargo:rerun-if-changed=src");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to"));
    let mut root = String::new();
    variant("right", None, &out, &mut root);
    for planted in PLANTED {
        variant(planted.name, Some(planted), &out, &mut root);
    }
    fs::write(out.join("variants.rs"), root).expect("what is made is written");
}
