//! The one list of laws.
//!
//! The codes H1 to H9 of regressions and H01 to H06 of host memory name different laws.

#[macro_use]
mod extras;

use std::fmt;

use devarray::{
    Device,
    backend::{
        Capability, Collects, Compute, ForeignMemory, Ipc, Launch, ManagedMemory, MapHost, PeerAccess,
        PoolControl, RegisterHost, Timing,
    },
};

use crate::{Harness, Outcome, checks};

/// Every law: its group, code, name and summary. This is the only list of them; tests, tables and reports
/// come from here.
///
/// Calls back with the given tokens, then the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_law {
    ([$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            buffers {
                B01 alignment "memory starts at a multiple of 256";
                B02 zero_bytes "an array of no elements allocates nothing";
                B03 disjoint "live buffers share no byte";
                B05 zeros "zeros are zeros, also over used memory";
                B06 fill "a fill sets every element of a view and nothing beside it";
                B07 freed_once "every allocation is freed once";
                B08 drop_with_work_pending "an array may be dropped while work uses it";
                B10 comes_back "freed memory can be allocated again";
                B12 cross_threads "arrays and streams may be used and dropped by other threads";
            }
            streams {
                S01 fifo "operations of one stream take effect in order";
                S03 synchronize "after a wait for a stream its work is finished";
                S04 polling "asking an event makes progress, and ready is for good";
                S05 drop_completes "dropping a stream neither cancels its work nor loses its order";
                S06 fork_join "streams that wait by themselves see each other's results";
                S12 a_thousand "a thousand streams at once";
            }
            events {
                E01 idle "an event of a stream without work is ready";
                E03 snapshot "an event captures what came before it and nothing after";
                E04 earlier_events "later events leave earlier ones as they were";
                E06 edge_outlives_event "an edge stays when its event and stream are dropped";
                E07 transitive "whoever waits for a stream also waits for what that stream waited for";
                E10 synchronize "after a wait for an event what it captured is finished";
            }
            copies {
                C02 linear "contiguous copies of every size";
                C03 chain "a long chain of copies over three streams";
                C04 strided "a copy between any two layouts, element by element";
                C05 gaps "bytes between rows are not touched";
                C07 within_one_array "disjoint parts of one array can be copied to each other";
                C09 mismatch "what does not fit is refused and changes nothing";
                C10 broadcast "a source may repeat its elements";
                C14 reversed "reversed axes on either side";
                C17 zero_size "work on no elements never reaches the backend";
                C18 disjoint_halves "two streams may work on disjoint parts at once";
                C19 readers_then_writer "a writer waits for every reader";
                C20 transposed "transposes of extents around a tile";
                C21 many_ways "the same bytes whole, in pieces, by way of another order, on two streams";
            }
            joins {
                J01 concatenate "parts are joined, and stacked, in the order given";
                J02 pad "a margin holds what its mode says";
                J03 repeat "rolled, tiled and repeated elements are where they are due";
            }
            transfers {
                C01 round_trip "what goes to the device comes back";
                C11 host_memory_is_free "host memory is free when the call returns";
                C15 strided "host data of any layout, to and from views of any layout";
                C22 many_in_flight "many transfers in flight do not disturb each other";
            }
            host {
                P03 pinned "pinned memory is zeroed, aligned and an ordinary slice";
                P01 owned "a pinned buffer goes to any view, and comes back";
                P02 used_again "a pinned buffer is used again after each wait";
                C23 polled "asking a transfer makes progress, and it is a future";
                C12 dropped_and_forgotten "a transfer may be dropped or forgotten in flight";
                P06 refused "a transfer that does not fit gives the buffer back";
                C24 scope "borrowed memory is right when the scope ends";
                C13 panic_in_scope "a scope waits before a panic passes";
            }
            between {
                C08 strided "elements of any layout cross to any layout of another device";
                C25 ordered "a copy between devices waits for both sides";
                C26 sizes "large arrays cross in pieces, empty ones without any";
                X14 sides "each side's stream must be its own";
            }
            regressions {
                H1 last_reader "a writer and a free wait for every reader, not for the last alone";
                H2 dropped_stream "work of a dropped stream is waited for";
                H3 kept_error "an error that is kept cancels no wait";
                H4 pinned_as_slice "pinned memory copied to as a slice is complete when the call returns";
                H5 two_contexts "nothing of one context is used in another";
                H6 one_stream_on_two_threads "a stream is one stream, whichever thread uses it";
                H7 source_of_another_device "the source of a copy to another device lives until it was read";
                H8 wrapped_size "no size wraps around";
                H9 dropped_elsewhere "memory may be dropped on any thread";
            }
            algebra {
                L14 transpose_twice "transposing twice gives the same layout";
                L16 permutations "a permutation and its inverse are nothing, two are one";
                L22 flips "flipping twice is nothing, a step of -1 is a flip";
                L19 slices "slices nest, clamp and step";
                L27 new_axes "a new axis squeezed away is nothing";
                L25 broadcasts "broadcasting in two steps is broadcasting in one";
                L33 many_axes "rank is not limited";
                L26 inconsistent_layouts "core believes only what it checked";
            }
            layouts {
                L18 views "views show what the oracle says";
                L10 orders "a copy in any order is the same array";
                L08 reshape "a reshape walks in row-major order, and back";
                L13 ravel "a ravel gives the order asked for";
                L23 split "the parts of a split are disjoint and the whole";
                L28 scalars "0-d arrays and single elements";
                L04 overflow "sizes that overflow are pure errors";
            }
            memory {
                M01 ledger "what is live is named, and its sums are exact";
                M02 limit "what would go over a limit is refused and changes nothing";
                M03 put_off "memory that waits to be given back disturbs nothing, and is given back at the limit";
                M04 short "memory that waits is given back when memory is short";
            }
            programs {
                Q01 sequential "random programs give what running them call by call gives";
            }
            errors {
                E08 contexts_do_not_mix "arrays, streams and events of two contexts do not mix";
                S02 strict_refuses "a strict stream refuses what is not ordered";
                M05 out_of_memory "too much memory is a typed error, and the device stays usable";
                X02 failed_calls_change_nothing "a call that failed changed nothing, and succeeds when tried again";
                X03 every_call_failed_once "every call of a program failed once in turn";
                X06 failing_drop_is_told "a free that fails in a drop is told of";
            }
        }
    };
}

/// One law and the check that enforces it.
#[non_exhaustive]
pub struct Law<D: Device> {
    /// The group, a module of [`checks`].
    pub group: &'static str,
    /// The name, a function of that module.
    pub name: &'static str,
    /// The code, for tables and contracts to cite.
    pub code: &'static str,
    /// Its summary, in one line.
    pub summary: &'static str,
    /// The capability that it tests; none if it applies to every device.
    pub capability: Option<Capability>,
    check: fn(&Harness<D>) -> Outcome,
}

impl<D: Device> Law<D> {
    /// The group and the name, as in names of tests: `"copies::strided"`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.group, self.name)
    }

    /// Runs the check on fresh devices. [`Harness::not_run`] tells afterwards whether something that the law needs is
    /// missing.
    ///
    /// # Errors
    ///
    /// The violation, with the code of this law.
    pub fn check(&self, harness: &Harness<D>) -> Outcome {
        harness.begin();
        (self.check)(harness).map_err(|violation| violation.of_law(self.code))
    }

    /// Whether the law applies to the harness's device. It does not if it tests a capability that the device
    /// does not declare; its check then only makes sure that the refusal names the capability. Every law
    /// applies to a device that does not open.
    #[must_use]
    pub fn applies(&self, harness: &Harness<D>) -> bool {
        let Some(capability) = self.capability else { return true };
        harness.open().map_or(true, |device| device.info().capabilities.extras.has(capability))
    }
}

macro_rules! define_registry {
    ({ $(#[$attribute:meta])* $all:ident $names:ident [$($bound:tt)+] $capability:expr }
     $($group:ident { $($code:ident $name:ident $summary:literal;)* })*) => {
        $(#[$attribute])*
        #[must_use]
        pub fn $all<D: $($bound)+>() -> Vec<Law<D>> {
            vec![$($(Law {
                group: stringify!($group),
                name: stringify!($name),
                code: stringify!($code),
                summary: $summary,
                capability: $capability,
                check: checks::$group::$name,
            },)*)*]
        }

        const $names: &[&str] = &[$($(concat!(stringify!($group), "::", stringify!($name)),)*)*];
    };
}

__for_each_law! { [define_registry] {
    /// Every law that every device keeps, in the order of the registry.
    all NAMES [Device] None
} }

__for_each_law_of! { timing, [define_registry] {
    /// The laws of timed events, for devices with or without them.
    timing TIMING_NAMES [Timing] Some(Capability::EventTiming)
} }

__for_each_law_of! { registered, [define_registry] {
    /// The laws of devices that may pin memory of the program.
    registered REGISTERED_NAMES [RegisterHost] Some(Capability::RegisteredMemory)
} }

__for_each_law_of! { mapped, [define_registry] {
    /// The laws of devices that may map host memory.
    mapped MAPPED_NAMES [MapHost] Some(Capability::MappedMemory)
} }

__for_each_law_of! { managed, [define_registry] {
    /// The laws of devices that may have managed memory.
    managed MANAGED_NAMES [ManagedMemory] Some(Capability::ManagedMemory)
} }

__for_each_law_of! { foreign, [define_registry] {
    /// The laws of devices that may use memory of other code.
    foreign FOREIGN_NAMES [ForeignMemory] Some(Capability::ForeignMemory)
} }

__for_each_law_of! { peer, [define_registry] {
    /// The laws of devices that may reach each other's memory.
    peer PEER_NAMES [PeerAccess] Some(Capability::PeerAccess)
} }

__for_each_law_of! { ipc, [define_registry] {
    /// The laws of devices that may share memory with other processes.
    ipc IPC_NAMES [Ipc] Some(Capability::Ipc)
} }

__for_each_law_of! { pool, [define_registry] {
    /// The laws of devices that may tell of the pool that their memory comes from.
    pool POOL_NAMES [PoolControl] Some(Capability::MemoryPool)
} }

__for_each_law_of! { functions, [define_registry] {
    /// The laws of devices that may compute functions.
    functions FUNCTIONS_NAMES [Compute] Some(Capability::Functions)
} }

__for_each_law_of! { reductions, [define_registry] {
    /// The laws of devices that may reduce elements.
    reductions REDUCTIONS_NAMES [Compute] Some(Capability::Reductions)
} }

__for_each_law_of! { gathers, [define_registry] {
    /// The laws of devices that may pick and put elements by index.
    gathers GATHERS_NAMES [Compute] Some(Capability::Gathers)
} }

__for_each_law_of! { orders, [define_registry] {
    /// The laws of devices that may order elements and combine them by index.
    orders ORDERS_NAMES [Compute] Some(Capability::Orders)
} }

__for_each_law_of! { products, [define_registry] {
    /// The laws of devices that may multiply matrices.
    products PRODUCTS_NAMES [Compute] Some(Capability::Products)
} }

__for_each_law_of! { recordings, [define_registry] {
    /// The laws of recorded work, of devices that may compute functions.
    recordings RECORDINGS_NAMES [Compute] Some(Capability::Functions)
} }

__for_each_law_of! { kernels, [define_registry] {
    /// The laws of devices that may launch kernels of the program's own.
    kernels KERNELS_NAMES [Launch] Some(Capability::Kernels)
} }

__for_each_law_of! { ranks, [define_registry] {
    /// The laws of devices that may exchange elements with other ranks.
    ranks RANKS_NAMES [Collects] Some(Capability::Collectives)
} }

/// Whether a law has this full name.
pub(crate) fn is_name(name: &str) -> bool {
    let all = [
        NAMES,
        TIMING_NAMES,
        REGISTERED_NAMES,
        MAPPED_NAMES,
        MANAGED_NAMES,
        FOREIGN_NAMES,
        PEER_NAMES,
        IPC_NAMES,
        POOL_NAMES,
        FUNCTIONS_NAMES,
        REDUCTIONS_NAMES,
        GATHERS_NAMES,
        ORDERS_NAMES,
        PRODUCTS_NAMES,
        RECORDINGS_NAMES,
        KERNELS_NAMES,
        RANKS_NAMES,
    ];
    all.iter().any(|names| names.contains(&name))
}

impl<D: Device> fmt::Debug for Law<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Law({} {})", self.code, self.full_name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use devarray_mock::MockDevice;

    use super::*;

    #[test]
    fn codes_and_names_are_unique() {
        let laws: Vec<_> = all::<MockDevice>().into_iter().chain(timing()).collect();
        let laws = laws.into_iter().chain(registered()).chain(mapped()).chain(managed());
        let laws = laws.chain(foreign()).chain(peer()).chain(ipc()).chain(pool());
        let laws = laws.chain(functions()).chain(reductions()).chain(gathers());
        let laws: Vec<_> = laws
            .chain(orders())
            .chain(products())
            .chain(recordings())
            .chain(kernels())
            .chain(ranks())
            .collect();
        let codes: BTreeSet<_> = laws.iter().map(|law| law.code).collect();
        let names: BTreeSet<_> = laws.iter().map(Law::full_name).collect();
        assert_eq!((codes.len(), names.len()), (laws.len(), laws.len()));
        assert!(names.iter().all(|name| is_name(name)) && !is_name("copies"));
    }
}
