//! Copies the modules of the command line that read texts, so that targets have them without the
//! rest of it.

use std::{
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

const MODULES: [&str; 7] = ["calls", "functions", "golden", "integer", "limits", "object", "steps"];

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder for what is copied");
    for entry in from.read_dir().into_iter().flatten() {
        let path = entry.expect("an entry of a folder").path();
        let to = to.join(path.file_name().expect("an entry has a name"));
        if path.is_dir() {
            copied(&path, &to);
        } else {
            fs::copy(&path, to).expect("a source of the command line");
        }
    }
}

fn main() {
    let sources = Path::new("../cli/src");
    println!("cargo:rerun-if-changed={}", sources.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to"));
    let mut modules = String::new();
    for module in MODULES {
        let folder = out.join(module);
        copied(&sources.join(module), &folder);
        // A module that is included by path looks for its own modules next to its file.
        let root = folder.join("mod.rs");
        fs::copy(sources.join(format!("{module}.rs")), &root).expect("a source of the command line");
        let _ =
            writeln!(modules, "#[allow(dead_code, unused_imports)]\n#[path = {root:?}]\npub mod {module};");
    }
    fs::write(out.join("command_line.rs"), modules).expect("what is made is written");
}
