//! Profiles: named behaviours of machines beyond documented promises.

mod set;

use std::{fmt, str::FromStr};

pub use set::ProfileSet;

/// A machine's behaviour beyond the promises of CUDA's documentation: a named set of
/// [rules](Rules).
///
/// Under any profile, an operation is first judged by the promises. An operation that breaks them
/// but keeps the rules of the device's profile is no finding. If it breaks these rules too, but
/// keeps the rules of other profiles, it is a finding of class [`May`](crate::Class::May) that
/// [names](crate::Finding::passes_under) those profiles. So a program that is right under
/// [`Strict`](Self::Strict) is right under every profile. The device also acts by the rules: it
/// blocks where they say so, and takes the worst choice where they leave one.
///
/// The rules, and the rows of CUDA's semantics that they concern:
///
/// | | row 6: an upload of pageable memory reads its source | row 7: a download to pageable memory blocks | rows 26, 27: stream 0 of other code |
/// |---|---|---|---|
/// | `strict` | at the call, earlier work or not, or later, in stream order | not for certain | either of the two default streams |
/// | `cuda12-discrete` | at the call, earlier work or not | yes | either |
/// | `coherent-host` | in stream order, after the call returned | not for certain | either |
/// | `legacy` | as `strict` | as `strict` | the legacy default stream |
/// | `ptds` | as `strict` | as `strict` | the default stream of its thread |
///
/// Pinned and registered memory, and streams that this library opens, are the same under every
/// profile.
///
/// ```
/// use devarray_mock::{MockDevice, Profile};
///
/// let profile: Profile = "cuda12-discrete".parse()?;
/// let device = MockDevice::builder().profile(profile).build();
/// assert_eq!(device.profile().to_string(), "cuda12-discrete");
/// assert!(profile.rules().pageable_download_blocks && !Profile::Strict.rules().pageable_download_blocks);
/// # Ok::<(), devarray_mock::ParseProfileError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// `strict`: only the promises.
    #[default]
    Strict,
    /// `cuda12-discrete`: CUDA 12 with a card that has its own memory, and reaches pageable host memory only
    /// through a copy that the driver makes during the call.
    Cuda12Discrete,
    /// `coherent-host`: a device that reads pageable host memory by itself, at any time until the upload is
    /// done.
    CoherentHost,
    /// `legacy`: other code uses stream 0 as the legacy default stream. It was built, or linked, without an
    /// option for default streams.
    Legacy,
    /// `ptds`: other code uses stream 0 as the default stream of the calling thread. It was built with
    /// per-thread default streams.
    PerThread,
}

/// The rules of a [`Profile`], a field for each row in which profiles differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Row 6, `cuMemcpyHtoDAsync` of pageable memory: when the source may be read, the most harmless way
    /// first.
    pub pageable_upload: &'static [SourceRead],
    /// Row 7, `cuMemcpyDtoHAsync` to pageable memory: whether the call returns only when the copy, and all
    /// earlier work of its stream, is done.
    pub pageable_download_blocks: bool,
    /// Rows 26 and 27: the stream that other code means by stream 0.
    pub null_stream: NullStream,
}

/// The time when an upload of pageable memory reads its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "these are the three that documentation leaves open")]
pub enum SourceRead {
    /// During the call, which first waits for earlier work of the stream: row 6 (b).
    AfterEarlierWork,
    /// During the call, before earlier work of the stream that has not run: row 6 (a).
    AtOnce,
    /// At the upload's turn in the stream, after the call returned: row 6 (c).
    InStreamOrder,
}

/// The stream that other code means by stream 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two default streams")]
pub enum NullStream {
    /// Unknown. Only the promises that both streams share hold, which are those for the per-thread default
    /// stream.
    Either,
    /// The legacy default stream: ordered with all streams that are not non-blocking.
    Legacy,
    /// The default stream of the calling thread.
    PerThread,
}

impl Profile {
    /// Every profile, the default first.
    pub const ALL: [Self; 5] =
        [Self::Strict, Self::Cuda12Discrete, Self::CoherentHost, Self::Legacy, Self::PerThread];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Cuda12Discrete => "cuda12-discrete",
            Self::CoherentHost => "coherent-host",
            Self::Legacy => "legacy",
            Self::PerThread => "ptds",
        }
    }

    /// Its rules.
    #[must_use]
    pub const fn rules(self) -> Rules {
        use SourceRead::{AfterEarlierWork, AtOnce, InStreamOrder};
        // Choice 0 is the first way: runs are shrunk towards it.
        let strict = Rules {
            pageable_upload: &[InStreamOrder, AfterEarlierWork, AtOnce],
            pageable_download_blocks: false,
            null_stream: NullStream::Either,
        };
        match self {
            Self::Strict => strict,
            Self::Cuda12Discrete => Rules {
                pageable_upload: &[AfterEarlierWork, AtOnce],
                pageable_download_blocks: true,
                ..strict
            },
            Self::CoherentHost => Rules { pageable_upload: &[InStreamOrder], ..strict },
            Self::Legacy => Rules { null_stream: NullStream::Legacy, ..strict },
            Self::PerThread => Rules { null_stream: NullStream::PerThread, ..strict },
        }
    }
}

impl Rules {
    /// Whether an upload of pageable memory may read bytes that earlier work of its stream has not written
    /// yet.
    pub(crate) fn may_read_early(&self) -> bool {
        self.pageable_upload.contains(&SourceRead::AtOnce)
    }

    /// Whether the source of an upload of pageable memory may be reused when the call returns.
    pub(crate) fn source_is_free_at_return(&self) -> bool {
        !self.pageable_upload.contains(&SourceRead::InStreamOrder)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = ParseProfileError;

    fn from_str(text: &str) -> Result<Self, ParseProfileError> {
        let named = Self::ALL.into_iter().find(|profile| profile.name() == text);
        named.ok_or_else(|| ParseProfileError(text.to_owned()))
    }
}

/// The error for a text that names no profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseProfileError(String);

impl fmt::Display for ParseProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Profile::ALL.map(Profile::name).join(", ");
        write!(f, "there is no profile {:?}, only {names}", self.0)
    }
}

impl std::error::Error for ParseProfileError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for profile in Profile::ALL {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
        assert_eq!(Profile::default(), Profile::Strict);
        let error = "Legacy".parse::<Profile>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no profile \"Legacy\", only strict, cuda12-discrete, coherent-host, legacy, ptds"
        );
    }

    /// `strict` allows every behaviour of any other profile.
    #[test]
    fn strict_leaves_open_what_any_other_does() {
        let strict = Profile::Strict.rules();
        for rules in Profile::ALL.map(Profile::rules) {
            assert!(rules.pageable_upload.iter().all(|way| strict.pageable_upload.contains(way)));
            assert!(!rules.pageable_upload.is_empty());
        }
        assert!(!strict.pageable_download_blocks && strict.null_stream == NullStream::Either);
    }
}
