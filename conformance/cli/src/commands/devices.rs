//! `devarray devices`: lists backends and devices.

use anyhow::Result;
use clap::Args;
use devarray::{
    Device, Error,
    backend::{DeviceInfo, MemoryInfo},
};
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;
use devarray_mock::MockDevice;
use serde::Serialize;

use crate::{Status, output::Output};

/// The arguments of `devarray devices`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  devarray devices
  devarray devices --json | jq .name")]
#[non_exhaustive]
pub struct Arguments {
    /// Print one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
///
/// # Errors
///
/// Standard output fails.
pub fn run(arguments: &Arguments, output: &mut Output<'_>) -> Result<Status> {
    let (host, mock) = (HostDevice::new(), MockDevice::new());
    let mut rows = cuda_rows();
    rows.push(Row::new(host.info(), host.memory()));
    rows.push(Row::new(mock.info(), mock.memory()));
    for row in rows {
        if arguments.json {
            output.line(serde_json::to_string(&row)?)?;
        } else {
            output.line(row.text())?;
        }
    }
    Ok(Status::Success)
}

fn cuda_rows() -> Vec<Row> {
    let row =
        |info: DeviceInfo| Row::new(&info, CudaDevice::open(info.ordinal).and_then(|device| device.memory()));
    match devarray_cuda::devices() {
        Ok(found) if found.is_empty() => vec![Row::unavailable("cuda", "no device".to_owned())],
        Ok(found) => found.into_iter().map(row).collect(),
        Err(error) => vec![Row::unavailable("cuda", reason(error))],
    }
}

/// The cause without the backend's name, which the line has already.
fn reason(error: Error) -> String {
    match error {
        Error::Unavailable { reason, .. } => reason,
        error => error.to_string(),
    }
}

/// One device, or one backend that has none.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Row {
    Device {
        backend: &'static str,
        device: usize,
        name: String,
        generation: String,
        driver: String,
        memory_free_bytes: Option<usize>,
        memory_total_bytes: Option<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    Unavailable {
        backend: &'static str,
        unavailable: String,
    },
}

impl Row {
    fn new(info: &DeviceInfo, memory: devarray::Result<MemoryInfo>) -> Self {
        let (memory, error) = match memory {
            Ok(memory) => (Some(memory), None),
            Err(error) => (None, Some(reason(error))),
        };
        Self::Device {
            backend: info.backend,
            device: info.ordinal,
            name: info.name.clone(),
            generation: info.generation.clone(),
            driver: info.driver.clone(),
            memory_free_bytes: memory.map(|memory| memory.free_bytes),
            memory_total_bytes: memory.map(|memory| memory.total_bytes),
            error,
        }
    }

    fn unavailable(backend: &'static str, reason: String) -> Self {
        Self::Unavailable { backend, unavailable: reason }
    }

    fn text(&self) -> String {
        match self {
            Self::Unavailable { backend, unavailable } => format!("{backend}: not available: {unavailable}"),
            Self::Device {
                backend,
                device,
                name,
                generation,
                driver,
                memory_free_bytes,
                memory_total_bytes,
                error,
            } => {
                let mut text = format!("{backend} {device}: {name}");
                for (label, value) in [("generation", generation), ("driver", driver)] {
                    if !value.is_empty() {
                        text += &format!(", {label} {value}");
                    }
                }
                if let (Some(free), Some(total)) = (memory_free_bytes, memory_total_bytes) {
                    text += &format!(", memory {} free of {}", size(*free), size(*total));
                }
                if let Some(error) = error {
                    text += &format!(", {error}");
                }
                text
            }
        }
    }
}

/// A number of bytes in a form for people.
fn size(bytes: usize) -> String {
    indicatif::BinaryBytes(bytes as u64).to_string()
}
