//! Places in which the library is looked for. Reads directories; opens nothing.

use std::{
    cmp::Reverse,
    env,
    ffi::OsStr,
    fmt, fs,
    path::{Path, PathBuf},
};

/// The surroundings that decide where the library is looked for: variables of the process.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Surroundings {
    /// `PYTHONPATH`: directories of packages.
    pub python_path: Vec<PathBuf>,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<PathBuf>,
    /// `CONDA_PREFIX`.
    pub conda_prefix: Option<PathBuf>,
    /// `PATH`: where interpreters are looked for.
    pub path: Vec<PathBuf>,
    /// `PYTHONUSERBASE`, or Python's default for it.
    pub user_base: Option<PathBuf>,
    /// `CUDA_HOME`.
    pub cuda_home: Option<PathBuf>,
    /// `CUDA_PATH`.
    pub cuda_path: Option<PathBuf>,
}

impl Surroundings {
    /// The variables of this process, now.
    #[must_use]
    pub fn of_process() -> Self {
        Self::of(|name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    /// Makes the surroundings from `variable`, which returns the value of an environment variable.
    pub fn of<V: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<V>) -> Self {
        let one = |name: &str| variable(name).map(|value| PathBuf::from(value.as_ref()));
        let several = |name: &str| -> Vec<PathBuf> {
            variable(name).map_or_else(Vec::new, |value| {
                // An empty entry would be the working directory, which is nobody's intention here.
                env::split_paths(value.as_ref()).filter(|path| !path.as_os_str().is_empty()).collect()
            })
        };
        let user_base = || {
            let (variable, directory) =
                if cfg!(windows) { ("APPDATA", "Python") } else { ("HOME", ".local") };
            one(variable).map(|path| path.join(directory))
        };
        Self {
            python_path: several("PYTHONPATH"),
            virtual_env: one("VIRTUAL_ENV"),
            conda_prefix: one("CONDA_PREFIX"),
            path: several("PATH"),
            user_base: one("PYTHONUSERBASE").or_else(user_base),
            cuda_home: one("CUDA_HOME"),
            cuda_path: one("CUDA_PATH"),
        }
    }

    /// The directories of Python packages, in the order in which they are searched, each once.
    fn packages(&self) -> Vec<PathBuf> {
        let mut packages = self.python_path.clone();
        let interpreters = self.path.iter().filter(|directory| {
            let names = if cfg!(windows) { &["python.exe"][..] } else { &["python3", "python"] };
            names.iter().any(|name| directory.join(name).is_file())
        });
        let prefixes = interpreters.filter_map(|bin| if cfg!(windows) { Some(&**bin) } else { bin.parent() });
        let named = [&self.virtual_env, &self.conda_prefix].into_iter().flatten().map(PathBuf::as_path);
        for prefix in named.chain(prefixes).chain(self.user_base.as_deref()) {
            packages.extend(packages_of(prefix));
        }
        let mut seen = Vec::new();
        for directory in packages {
            if !seen.contains(&directory) {
                seen.push(directory);
            }
        }
        seen
    }
}

/// The directories of packages of an interpreter: of every version that is there.
fn packages_of(prefix: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![prefix.join("Lib").join("site-packages")];
    }
    // Debian's own packages are beside the administrator's.
    let libs: &[PathBuf] = if prefix == Path::new("/usr") {
        &["/usr/local/lib".into(), "/usr/lib".into()]
    } else {
        &[prefix.join("lib")]
    };
    let mut packages = Vec::new();
    for lib in libs {
        let entries = fs::read_dir(lib).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")))
            .collect();
        versions.sort_by_key(|path| Reverse(version(path)));
        for version in versions {
            packages.extend(["site-packages", "dist-packages"].map(|name| version.join(name)));
        }
    }
    packages.retain(|directory| directory.is_dir());
    packages
}

/// The number in `python3.12` after the point.
fn version(path: &Path) -> u32 {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.rsplit_once('.').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// One place to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A library of this name, if the process has loaded it.
    Loaded(String),
    /// A file, if it is there.
    File(PathBuf),
    /// A library of this name, which the system's loader finds.
    System(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loaded(name) => write!(f, "{name} among what is loaded"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::System(name) => write!(f, "{name} by the system's loader"),
        }
    }
}

/// A library of NVIDIA's, and its directories. `{}` stands for a major version.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Named {
    /// The file's name on Windows.
    pub windows: &'static str,
    /// The file's name elsewhere.
    pub others: &'static str,
    /// Directories among Python packages, on Windows.
    pub windows_packages: &'static [&'static str],
    /// Directories among Python packages, elsewhere.
    pub packages: &'static [&'static str],
}

/// The places, in order. `majors`: the major versions that will do, the best first.
#[must_use]
pub fn places(library: &Named, majors: &[u32], surroundings: &Surroundings) -> Vec<Place> {
    let name = |major: u32| {
        let name = if cfg!(windows) { library.windows } else { library.others };
        name.replace("{}", &major.to_string())
    };
    let files = |root: &Path, windows: &[&str], others: &[&str]| -> Vec<Place> {
        let directories = if cfg!(windows) { windows } else { others };
        let in_each = |major: u32| {
            let of = move |directory: &&str| directory.replace("{}", &major.to_string());
            directories.iter().map(of).map(move |directory| root.join(directory).join(name(major)))
        };
        majors.iter().copied().flat_map(in_each).map(Place::File).collect()
    };
    let mut places: Vec<Place> = majors.iter().map(|&major| Place::Loaded(name(major))).collect();
    for packages in &surroundings.packages() {
        places.extend(files(packages, library.windows_packages, library.packages));
    }
    if let Some(prefix) = &surroundings.conda_prefix {
        places.extend(files(prefix, &["Library/bin", "Library/bin/x64"], &["lib"]));
    }
    places.extend(majors.iter().map(|&major| Place::System(name(major))));
    for home in [&surroundings.cuda_home, &surroundings.cuda_path].into_iter().flatten() {
        places.extend(files(home, &["bin/x64", "bin"], &["lib64", "lib"]));
    }
    places
}
