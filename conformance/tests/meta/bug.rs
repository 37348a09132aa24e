//! The bugs that are planted, the law that each must break, and the kinds they are of.

/// What is wrong with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Nothing: the twin that must pass.
    None,
    CopyDoesNothing,
    CopyLosesLastByte,
    CopyLosesLastRun,
    CopyLosesLastOfManyRuns,
    CopyStopsAt64KiB,
    CopyWritesGaps,
    CopySwapsSides,
    CopyIgnoresReversal,
    CopyIgnoresSourceOffset,
    CopyIgnoresDestinationOffset,
    FillLosesLastElement,
    FillRepeatsFirstByte,
    UploadLosesLastByte,
    UploadIgnoresOffset,
    DownloadLosesLastByte,
    DownloadIgnoresOffset,
    EveryOtherCopyOutOfOrder,
    FillsOutOfOrder,
    UploadsOutOfOrder,
    DownloadsOutOfOrder,
    FreeAtOnce,
    FreeForgets,
    OutOfMemoryMislabelled,
    OutOfMemoryForGood,
    OutOfMemoryLeaks,
    HostMemoryHoldsWhatItHeld,
    RecordCapturesNothing,
    RecordMissesTheLast,
    WaitIgnored,
    SynchronizeReturnsAtOnce,
    SynchronizeMissesTheLast,
    EventSynchronizeReturnsAtOnce,
    QueryNeverReady,
    QueryReadyAtOnce,
    QueryReadyOnce,
    FewStreams,
    ExtrasDeclaredButRefused,
    ExtrasWorkUndeclared,
    TimeStandsStill,
    TimedRecordCapturesNothing,
    RegisterRefusesOverlap,
    UnregisterFails,
    MappedIsACopy,
    ManagedIsACopy,
    ManagedOutOfMemoryMislabelled,
}

impl Bug {
    /// How many variants there are, `None` among them.
    pub(crate) const COUNT: usize = Self::ManagedOutOfMemoryMislabelled as usize + 1;

    /// Whether it is in an extra, and all that every device does is right. Only such a device may be given memory of
    /// the program's own: one that is finished too late would write into it when it is somebody else's.
    pub(crate) const fn is_of_an_extra(self) -> bool {
        self as usize >= Self::ExtrasDeclaredButRefused as usize || matches!(self, Self::None)
    }
}

/// Each bug, and the law that must notice it.
pub(crate) const KILLERS: &[(Bug, &str)] = &[
    (Bug::CopyDoesNothing, "copies::linear"),
    (Bug::CopyLosesLastByte, "copies::linear"),
    (Bug::CopyLosesLastRun, "copies::gaps"),
    (Bug::CopyLosesLastOfManyRuns, "copies::transposed"),
    (Bug::CopyStopsAt64KiB, "copies::linear"),
    (Bug::CopyWritesGaps, "copies::gaps"),
    (Bug::CopySwapsSides, "copies::linear"),
    (Bug::CopyIgnoresReversal, "copies::reversed"),
    (Bug::CopyIgnoresSourceOffset, "copies::within_one_array"),
    (Bug::CopyIgnoresDestinationOffset, "copies::gaps"),
    (Bug::FillLosesLastElement, "buffers::fill"),
    (Bug::FillRepeatsFirstByte, "buffers::fill"),
    (Bug::UploadLosesLastByte, "transfers::round_trip"),
    (Bug::UploadIgnoresOffset, "transfers::strided"),
    (Bug::DownloadLosesLastByte, "transfers::round_trip"),
    (Bug::DownloadIgnoresOffset, "transfers::round_trip"),
    (Bug::EveryOtherCopyOutOfOrder, "streams::fifo"),
    (Bug::FillsOutOfOrder, "streams::fifo"),
    (Bug::UploadsOutOfOrder, "transfers::round_trip"),
    (Bug::DownloadsOutOfOrder, "transfers::round_trip"),
    (Bug::FreeAtOnce, "buffers::drop_with_work_pending"),
    (Bug::FreeForgets, "buffers::comes_back"),
    (Bug::OutOfMemoryMislabelled, "errors::out_of_memory"),
    (Bug::OutOfMemoryForGood, "errors::out_of_memory"),
    (Bug::OutOfMemoryLeaks, "errors::out_of_memory"),
    (Bug::HostMemoryHoldsWhatItHeld, "host::pinned"),
    (Bug::RecordCapturesNothing, "events::snapshot"),
    (Bug::RecordMissesTheLast, "events::snapshot"),
    (Bug::WaitIgnored, "streams::fork_join"),
    (Bug::SynchronizeReturnsAtOnce, "streams::synchronize"),
    (Bug::SynchronizeMissesTheLast, "streams::synchronize"),
    (Bug::EventSynchronizeReturnsAtOnce, "events::synchronize"),
    (Bug::QueryNeverReady, "streams::polling"),
    (Bug::QueryReadyAtOnce, "streams::polling"),
    (Bug::QueryReadyOnce, "streams::polling"),
    (Bug::FewStreams, "streams::a_thousand"),
    (Bug::ExtrasDeclaredButRefused, "timing::elapsed"),
    (Bug::ExtrasWorkUndeclared, "timing::elapsed"),
    (Bug::TimeStandsStill, "timing::elapsed"),
    (Bug::TimedRecordCapturesNothing, "timing::orders"),
    (Bug::RegisterRefusesOverlap, "registered::copies"),
    (Bug::UnregisterFails, "registered::again"),
    (Bug::MappedIsACopy, "mapped::one_memory"),
    (Bug::ManagedIsACopy, "managed::one_memory"),
    (Bug::ManagedOutOfMemoryMislabelled, "managed::no_more_than_is_free"),
];
