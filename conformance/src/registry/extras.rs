//! The laws of extras, which are abilities that a device may have beyond the required ones.

/// The laws of extras. Each capability is a group, for devices that implement its trait. Lists the laws of
/// one capability; [`__for_each_law!`](crate::__for_each_law) lists the laws of every device.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_law_of {
    (timing, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            timing {
                T01 elapsed "the time between two events is told when both are finished, and grows";
                T02 orders "a timed event orders as any other";
                T03 contexts_do_not_mix "events of two contexts have no time between them";
                T04 profile "a profiled device gives the same results, and records every operation in order";
            }
        }
    };
    (registered, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            registered {
                H01 copies "copies of registered slices work like others, also nested or neighbouring ones";
                H02 again "pinning ends when the call does";
            }
        }
    };
    (mapped, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            mapped {
                H03 one_memory "host and device see what the other wrote to mapped memory";
                H04 dropped_in_flight "mapped memory may be dropped while operations use it";
            }
        }
    };
    (foreign, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            foreign {
                F01 elements "elements of other code's memory are read and written where they are";
                F02 owner_goes_last "the owner of adopted memory is dropped once, after all work on it";
                F03 no_elements "an array of no elements adopts nothing";
                F04 declared_work "declared work of other code is ordered with all other work";
                F05 released "memory goes out to other code, and comes back";
                F06 refused "memory that does not exist or does not fit is refused with the right error";
                S07 legacy_stream "order passes through the legacy default stream";
                S08 thread_stream "order passes through the default stream of a thread, and from it to the legacy one and back";
            }
        }
    };
    (peer, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            peer {
                X01 strided "elements of any layout cross to any layout of a peer, in place or staged";
                X07 ordered "a copy from a peer waits for both sides, and both wait for it";
                X08 to_and_fro "copies there and back are one program";
                X09 refused "each side's stream must be its own, and what does not fit changes nothing";
            }
        }
    };
    (ipc, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            ipc {
                I01 exportable "exportable memory works like other memory";
                I02 one_memory "two processes use the same memory, and events order their work";
                I03 refused "what cannot be opened is refused by name";
            }
        }
    };
    (managed, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            managed {
                H05 one_memory "managed memory keeps its contents when it moves";
                H06 no_more_than_is_free "a managed allocation that exceeds the free memory is refused";
            }
        }
    };
    (pool, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            pool {
                M10 trim "trimming the pool takes nothing that is in use";
                M11 statistics "the pool counts what is in use, and the most of it";
            }
        }
    };
    (functions, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            functions {
                N01 arithmetic "operations on floats are rounded once, and keep subnormals";
                N02 not_contracted "a product and a sum are rounded twice, fma once";
                N03 halves "operations on f16 and bf16 are rounded to the type, each";
                N04 integers "integers wrap";
                N05 division "integer division by zero, of the minimum by -1, and by negative numbers";
                N06 shifts "shifts by the width or more, and by negative amounts";
                N07 casts "casts are Rust's as";
                N08 comparisons "comparisons with NaN are false, != is true";
                N09 extrema "minimum and maximum of NaN, and of zeros";
                N10 nan "every stored NaN is the canonical NaN";
                N11 truth "every byte but 0 is true, and true is stored as 1";
                N12 select "`where` takes one operand, whatever the other holds";
                N13 elementary "elementary functions of f32 are correctly rounded";
                N14 positions "positions count along the axes of the result";
                N15 scalars "scalars are arguments";
                N16 broadcast "rows, columns and single elements are repeated";
                N17 strided "inputs of any layout, element by element";
                N18 gaps "a result of any layout, and nothing beside it";
                N19 in_place "a result may be an input";
                N20 sixteen "sixteen inputs, and no more";
                N21 empty "a result of no elements enqueues nothing";
                N22 tails "any number of elements, from any element on";
                N23 blocks "large arrays, flat and transposed";
                N24 ordered "functions and copies on other streams wait for each other";
                N25 strict "a strict stream refuses a function that is not ordered";
                N26 refused "what does not fit is refused and changes nothing";
                N27 failed "a call that failed changed nothing, and succeeds when made again";
                N28 random "random functions give what a scalar evaluator gives";
                N29 philox "random numbers are those of Philox, wherever they are cut";
                N30 programs "random programs with functions and gathers give what running them call by call gives";
            }
        }
    };
    (reductions, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            reductions {
                R01 sums "a sum of floats has the value that its order gives";
                R02 layouts "a sum is the same in every layout, alone or among many";
                R03 halves "f16 and bf16 are added as f32 and rounded once";
                R04 integers "sums of integers have 64 bits and wrap";
                R05 extrema "NaN wins, -0 is less than +0";
                R06 places "the first NaN, else the first of equals, in row-major order";
                R07 truth "what is not 0 is true";
                R08 mean "means and variances are quotients of sums";
                R09 empty "reductions of no elements";
                R10 axes "any axes of any layout";
                R11 gaps "a result of any layout, and nothing beside it";
                R12 running "scans, inclusive and exclusive, along any axis";
                R13 ordered "reductions and copies on other streams wait for each other";
            }
        }
    };
    (gathers, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            gathers {
                G01 take "elements at indices of an axis, of any layout, in every mode";
                G02 flat "positions of a flattened view, whatever its strides";
                G03 along_axis "an index for each element, along one axis";
                G04 rows "rows of every length, and many of them";
                G05 put "elements put at indices, and nothing beside them";
                G06 repeats "if an index repeats, the last value stays";
                G07 select "the elements that a mask selects, in order, and their number";
                G08 told "an index out of range is told by the next wait, once, by name";
                G09 waits "every kind of wait reports an index error, one for each operation";
                G10 ordered "gathers and copies on other streams wait for each other";
                G11 refused "what does not fit is refused and enqueues nothing";
                G12 outlived "an index error is reported once, also if its stream was dropped";
            }
        }
    };
    (orders, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            orders {
                O01 sort "one order along any axis of any layout, stable from either end";
                O02 top "the first of the order, with their positions";
                O03 quantiles "quantiles, interpolated between two neighbours";
                O04 searches "places among ascending elements, and counts of intervals";
                O05 counts "how many of each number, and the sums of their weights";
                O06 rows "distinct elements and positions of nonzero elements, written into limited room";
                O07 put "what goes to one place is combined there, and nothing beside it changes";
                O08 segments "slices between offsets are combined";
                O09 sums "floats added by index have the value of a plain sum of the same number of elements";
                O10 told "an index without a place is told by the next wait, once, by name";
                O11 ordered "calls and copies on other streams wait for each other";
                O12 refused "what does not fit is refused and enqueues nothing";
                O13 sparse "rows of a sparse matrix are sums of their products";
            }
        }
    };
    (products, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            products {
                D01 shapes "each element of a product of any shapes and layouts is one chain";
                D02 one_value "a row has one value, alone, in a batch and from transposed operands";
                D03 long "longer products are chains of 4,096, and their sum";
                D04 special "NaN, infinities, zeros and subnormals are those of the chain";
                D05 ordered "products and copies on other streams wait for each other";
                D06 refused "what does not fit is refused and enqueues nothing";
                D07 mapped "a function sees each element of a product, rounded, and further operands";
                D08 updated "the result of the function may replace one of its operands";
                D09 onto "the first chain may start from what is in the result";
                D10 fast "products that need not be exact are within their bound";
            }
        }
    };
    (recordings, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            recordings {
                W01 launches "a launch gives what the recorded calls give, with its own arrays and numbers";
                W02 moved "arrays may swap from launch to launch, and begin elsewhere";
                W03 ordered "launches wait for each other and for other work; a strict stream refuses all of one";
                W04 outlived "a recording may be dropped while it runs";
                W05 refused "what cannot be recorded or launched is refused by name and changes nothing";
                W06 told "an index without a place is told behind each launch";
            }
        }
    };
    (ranks, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            ranks {
                V01 reduced "elements of all ranks are combined in the order of ranks, to the bit";
                V02 moved "each element comes to the right place of the right rank";
                V03 strided "views of any layout are exchanged, and nothing beside them is written";
                V04 ordered "exchanges and work on other streams wait for each other; a strict stream refuses";
                V05 refused "calls that differ are told to all ranks and change nothing";
                V06 gone "a rank that is gone is told of, and nobody waits for it";
                V07 groups "groups of a split exchange among themselves";
                V08 in_place "exchanges in place: a rank's part of the result, and one of the sources";
                V09 counted "ranks may send different numbers of rows; counts that differ are reported";
                V10 not_compared "exchanges that are not compared have the same values as others";
                V11 broken_off "an unchecked communicator that one rank breaks off ends for all";
                V12 programs "random programs of ranks have the bits of vectors";
                V13 recorded "a recorded exchange has the bits of one that is called";
                V14 recorded_refused "recorded exchanges that do not fit are refused, or told to all ranks with their lines";
            }
        }
    };
    (kernels, [$($callback:tt)+] $($before:tt)*) => {
        $($callback)+! {
            $($before)*
            kernels {
                K01 computes "a kernel computes what its host function does";
                K02 strided "arguments of any strides, and nothing beside them";
                K03 tables "tables in constant memory, and values of many bytes";
                K04 shared "a block has the shared memory that it asks for";
                K05 ordered "kernels and other work on other streams wait for each other";
                K06 strict "a strict stream refuses a kernel that is not ordered";
                K07 refused "what is not as declared is refused by name";
                K08 empty "a kernel that has nothing to write is not launched";
                K09 failed "a launch that failed changed nothing, and succeeds when made again";
                K10 programs "random programs with kernels give what running them call by call gives";
                K11 recorded "a recording of kernels gives what the kernels give, with its own arrays";
            }
        }
    };
}
