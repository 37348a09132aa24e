//! The places in which cuBLASLt is looked for, and what is said if it is nowhere.

use std::{collections::HashMap, fs, path::PathBuf};

use devarray_cuda::{
    cublaslt::NAMED,
    library::{Place, Surroundings, open_first, places},
};

fn surroundings(variables: &[(&str, String)]) -> Surroundings {
    let variables: HashMap<_, _> = variables.iter().cloned().collect();
    Surroundings::of(|name| variables.get(name))
}

/// The files among places, below a root.
fn files(places: &[Place], root: &std::path::Path) -> Vec<PathBuf> {
    let below = |place: &Place| match place {
        Place::File(path) => Some(path.strip_prefix(root).unwrap_or(path).to_path_buf()),
        _ => None,
    };
    places.iter().filter_map(below).collect()
}

#[test]
#[cfg(unix)]
fn the_order_is_that_of_pathfinder() {
    let root = tempfile::tempdir().unwrap();
    for directory in [
        "venv/lib/python3.9/site-packages",
        "venv/lib/python3.12/site-packages",
        "conda/lib/python3.11/site-packages",
    ] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    let at = |name: &str| root.path().join(name).display().to_string();
    let found = places(
        &NAMED,
        &[13, 12],
        &surroundings(&[
            ("PYTHONPATH", format!("{}::{}", at("one"), at("two"))),
            ("VIRTUAL_ENV", at("venv")),
            ("CONDA_PREFIX", at("conda")),
            ("CUDA_HOME", at("home")),
            ("CUDA_PATH", at("path")),
        ]),
    );
    let system = |major: u32| Place::System(format!("libcublasLt.so.{major}"));
    let loaded = |major: u32| Place::Loaded(format!("libcublasLt.so.{major}"));
    assert_eq!(found[..2], [loaded(13), loaded(12)]);
    let mut due: Vec<String> = Vec::new();
    for packages in ["one", "two"] {
        due.push(packages.to_owned());
    }
    due.extend(
        ["venv/lib/python3.12", "venv/lib/python3.9", "conda/lib/python3.11"]
            .map(|python| format!("{python}/site-packages")),
    );
    let in_packages = |packages: &String| {
        let of = |major: u32| {
            [format!("cu{major}"), "cublas".to_owned()]
                .map(|part| PathBuf::from(format!("{packages}/nvidia/{part}/lib/libcublasLt.so.{major}")))
        };
        [of(13), of(12)].concat()
    };
    let mut due: Vec<PathBuf> = due.iter().flat_map(in_packages).collect();
    due.extend(["conda/lib/libcublasLt.so.13", "conda/lib/libcublasLt.so.12"].map(PathBuf::from));
    let loader = found.iter().position(|place| *place == system(13)).unwrap();
    assert_eq!(files(&found[..loader], root.path()), due);
    assert_eq!(found[loader + 1], system(12));
    let mut homes: Vec<PathBuf> = Vec::new();
    for home in ["home", "path"] {
        for major in [13, 12] {
            homes.extend(["lib64", "lib"].map(|lib| format!("{home}/{lib}/libcublasLt.so.{major}").into()));
        }
    }
    assert_eq!(files(&found[loader..], root.path()), homes);
}

#[test]
#[cfg(unix)]
fn interpreters_in_the_path_have_packages() {
    let root = tempfile::tempdir().unwrap();
    for directory in [
        "with/bin",
        "with/lib/python3.10/dist-packages",
        "without/bin",
        "without/lib/python3.10/site-packages",
    ] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
    }
    fs::write(root.path().join("with/bin/python3"), "").unwrap();
    let at = |name: &str| root.path().join(name).display().to_string();
    let path = format!("{}:{}", at("without/bin"), at("with/bin"));
    let found = files(&places(&NAMED, &[12], &surroundings(&[("PATH", path)])), root.path());
    let due = ["cu12", "cublas"].map(|part| {
        PathBuf::from(format!("with/lib/python3.10/dist-packages/nvidia/{part}/lib/libcublasLt.so.12"))
    });
    assert_eq!(found, due);
}

#[test]
fn without_variables_the_process_and_the_loader_are_asked() {
    let found = places(&NAMED, &[12], &Surroundings::default());
    assert!(matches!(&found[..], [Place::Loaded(_), Place::System(_)]), "{found:?}");
}

#[test]
fn the_first_that_will_do_is_taken_and_the_rest_is_told() {
    let some = places(&NAMED, &[13, 12], &Surroundings::default());
    let mut tried = Vec::new();
    let found = open_first(&some, |place| {
        tried.push(place.clone());
        match tried.len() {
            1 => None,
            2 => Some(Err("is broken".to_owned())),
            _ => Some(Ok(tried.len())),
        }
    });
    assert_eq!((found, &tried[..]), (Ok(3), &some[..3]));
    let refused = open_first::<()>(&some, |place| (*place == some[1]).then(|| Err("is broken".to_owned())))
        .unwrap_err();
    for place in &some {
        assert!(refused.contains(&place.to_string()), "{refused}");
    }
    assert!(refused.contains(&format!("{} (is broken)", some[1])), "{refused}");
}
