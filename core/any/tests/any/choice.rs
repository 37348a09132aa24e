//! Choosing devices by name.

use std::process::Command;

use devarray::Device as _;
use devarray_any::{AnyDevice, BUILT_IN, ChooseError};

/// A test is run again in a process with this variable, and prints its choice.
const VARIABLE: &str = "DEVARRAY_DEVICE";

fn refused(name: &str) -> ChooseError {
    AnyDevice::named(name).expect_err(name)
}

#[test]
fn a_name_is_a_backend_and_perhaps_a_number() {
    for (name, backend) in [("mock", "mock"), (" mock\n", "mock"), ("host", "host")] {
        let device = AnyDevice::named(name).expect(name);
        assert_eq!((device.backend(), device.info().backend), (backend, backend));
    }
    for name in ["gpu", "Mock", "mock,cuda", "cuda 1", ":1", "1", "auto:0", ""] {
        assert_eq!(refused(name), ChooseError::Unknown { name: name.to_owned() });
    }
    for (name, backend) in [
        ("cuda:", "cuda"),
        ("cuda:x", "cuda"),
        ("cuda:-1", "cuda"),
        ("cuda:+1", "cuda"),
        ("cuda:1:2", "cuda"),
        ("cuda: 1", "cuda"),
        ("cuda:99999999999999999999999", "cuda"),
        ("mock:0", "mock"),
        ("host:1", "host"),
    ] {
        assert_eq!(refused(name), ChooseError::Number { name: name.to_owned(), backend });
    }
}

#[test]
fn errors_say_what_is_built_in() {
    assert_eq!(BUILT_IN, ["cuda", "host", "mock"]);
    let texts = ["gpu", "cuda:x", "mock:3"].map(|name| refused(name).to_string());
    assert_eq!(
        texts,
        [
            r#"no device is called "gpu"; built in are "cuda", "host", "mock""#,
            r#""cuda:x" names no device: the GPUs are "cuda:0", "cuda:1" and so on"#,
            r#""mock:3" names no device: there is one device "mock""#,
        ]
    );
    assert_eq!(
        ChooseError::NotBuiltIn { backend: "cuda" }.to_string(),
        r#""cuda" is not built in, for devarray-any was built without its feature "cuda"; built in are "cuda", "host", "mock""#
    );
}

/// On a machine with a thousand GPUs this test fails.
#[test]
fn a_gpu_that_is_not_there_says_so() {
    let ChooseError::Open { name, error } = refused("cuda:1000") else { panic!("it opened") };
    assert_eq!(name, "cuda:1000");
    assert!(matches!(*error, devarray::Error::Unavailable { backend: "cuda", .. }), "{error}");
}

#[test]
fn devices_are_asked_for_their_own() {
    let device = AnyDevice::named("mock").expect("the simulator");
    assert!(device.as_mock().is_some_and(|mock| mock.report().findings.is_empty()));
    assert!(device.as_cuda().is_none() && device.as_host().is_none());
    let stream = device.open_stream().expect("a stream");
    assert!(stream.as_mock().is_some() && stream.as_cuda().is_none());
    let host = AnyDevice::named("host").expect("the CPU");
    assert!(host.as_host().is_some_and(|host| host.threads() > 0) && host.as_mock().is_none());
    assert_eq!(format!("{device:?}"), format!("{:?}", device.as_mock().expect("the simulator")));
}

/// Run again by the test below, in a process with the variable.
#[test]
#[ignore = "a part of the_variable_names_a_device"]
fn tell_the_choice() {
    match AnyDevice::from_env() {
        Ok(device) => println!("chosen: {}", device.backend()),
        Err(error) => println!("chosen: {error}"),
    }
}

fn choice_with(value: Option<&str>) -> String {
    let mut test = Command::new(std::env::current_exe().expect("a path"));
    test.args(["--exact", "choice::tell_the_choice", "--ignored", "--nocapture"]).env_remove(VARIABLE);
    if let Some(value) = value {
        test.env(VARIABLE, value);
    }
    let output = test.output().expect("the test runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let choice = text.lines().find_map(|line| line.split("chosen: ").nth(1));
    choice.unwrap_or_else(|| panic!("no choice in {text}")).to_owned()
}

#[test]
fn the_variable_names_a_device() {
    assert_eq!(choice_with(Some("mock")), "mock");
    assert_eq!(choice_with(Some("host")), "host");
    assert_eq!(choice_with(Some("gpu")), refused("gpu").to_string());
    // The CPU is built in, so there is a best device.
    let best = AnyDevice::best().expect("a GPU or the CPU").backend();
    assert!(["cuda", "host"].contains(&best));
    for value in [None, Some(""), Some(" "), Some("auto")] {
        assert_eq!(choice_with(value), best, "{value:?}");
    }
}
