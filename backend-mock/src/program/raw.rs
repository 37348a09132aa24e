//! The JSON form, field by field, before anything is checked.

use serde::{Deserialize, Serialize};

use super::Expect;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object that is a program")]
pub(super) struct RawProgram {
    pub(super) id: String,
    pub(super) buffers: Vec<RawBuffer>,
    pub(super) hosts: Vec<RawHost>,
    pub(super) streams: usize,
    pub(super) events: usize,
    pub(super) ops: Vec<RawOp>,
    #[serde(default)]
    pub(super) expect: Option<Expect>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object that is a buffer")]
pub(super) struct RawBuffer {
    pub(super) id: String,
    pub(super) bytes: usize,
    pub(super) init: bool,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object that is a host memory")]
pub(super) struct RawHost {
    pub(super) id: String,
    pub(super) bytes: usize,
}

/// An operation: its kind, and whatever fields it has. A flat form lets every error name its field.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, expecting = "an object that is an operation")]
pub(super) struct RawOp {
    #[serde(rename = "do")]
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) event: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) buf: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) src: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) src_off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) src_pitch: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host_off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dst: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dst_off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dst_pitch: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) off: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) len: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) width: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) height: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<u8>,
}
