//! Tables of 16 entries, and polynomials, for the functions that are computed in wide registers.

/// A table in two registers of AVX-512.
pub(super) type Table = [f64; 16];

/// The least mantissa whose logarithm the table serves, as the bits of an `f32`. The greatest is
/// twice that, and there are 16 intervals between them.
pub(super) const LEAST: u32 = 0x3f33_0000;

/// About `1 / c` for the middle `c` of each interval, as an `f32`. It is 1 around 1.
pub(super) const INVERSE: Table = [
    1.398_907_184_600_83,
    1.340_314_149_856_567_4,
    1.286_432_266_235_351_6,
    1.236_715_078_353_881_8,
    1.190_697_669_982_910_2,
    1.147_982_120_513_916,
    1.108_225_107_192_993_2,
    1.071_129_798_889_160_2,
    1.036_437_273_025_512_7,
    1.0,
    0.948_148_190_975_189_2,
    0.895_104_944_705_963_1,
    0.847_682_178_020_477_3,
    0.805_031_478_404_998_8,
    0.766_467_094_421_386_7,
    0.731_428_623_199_462_9,
];

/// The logarithms of the reciprocals of the entries of [`INVERSE`].
pub(super) const LOG: Table = [
    -0.335_691_349_380_139_5,
    -0.292_904_026_677_480_9,
    -0.251_872_701_711_453_26,
    -0.212_458_734_101_899_1,
    -0.174_539_412_626_609_38,
    -0.138_005_723_310_861_47,
    -0.102_759_733_026_446_36,
    -0.068_713_978_229_725,
    -0.035_789_132_997_294_48,
    0.0,
    0.053_244_469_349_668_436,
    0.110_814_310_926_598_46,
    0.165_249_503_511_777_75,
    0.216_873_898_719_405_7,
    0.265_963_511_244_235_7,
    0.312_755_639_223_383_73,
];

/// `(log(1 + r) - r) / r²` for `|r| <= 0.02966`; the error of the logarithm is 2^-43.
pub(super) const LOG_TAIL: [f64; 6] = [
    -0.500_000_000_002_661_8,
    0.333_333_333_335_699_4,
    -0.249_999_945_535_594_26,
    0.199_999_951_586_076_03,
    -0.166_831_735_294_194_3,
    0.143_003_873_167_407_54,
];

/// `2^(n / 16)`, with `n` sixteenths subtracted from the bits, in the unit of the exponent.
pub(super) const POWERS: Table = [
    f64::from_bits(0x3ff0_0000_0000_0000),
    f64::from_bits(0x3fef_b558_6cf9_890f),
    f64::from_bits(0x3fef_72b8_3c7d_517b),
    f64::from_bits(0x3fef_387a_6e75_6238),
    f64::from_bits(0x3fef_06fe_0a31_b715),
    f64::from_bits(0x3fee_dea6_4c12_3422),
    f64::from_bits(0x3fee_bfda_d536_2a27),
    f64::from_bits(0x3fee_ab07_dd48_5429),
    f64::from_bits(0x3fee_a09e_667f_3bcd),
    f64::from_bits(0x3fee_a114_73eb_0187),
    f64::from_bits(0x3fee_ace5_422a_a0db),
    f64::from_bits(0x3fee_c491_82a3_f090),
    f64::from_bits(0x3fee_e89f_995a_d3ad),
    f64::from_bits(0x3fef_199b_dd85_529c),
    f64::from_bits(0x3fef_5818_dcfb_a487),
    f64::from_bits(0x3fef_a4af_a2a4_90da),
];

/// `(e^r - 1 - r) / r²` for `|r| <= ln 2 / 32`; the error of the exponential is 2^-45.
pub(super) const EXP_TAIL: [f64; 4] =
    [0.499_999_999_961_704_2, 0.166_666_666_661_195_84, 0.041_667_318_979_378_77, 0.008_333_426_520_711_666];

/// `(tanh z / z - 1) / z²` in `z²`, for `|z| <= ln 2 / 4`; the error is 2^-47.
pub(super) const TANH_TAIL: [f64; 5] = [
    -0.333_333_333_333_166_34,
    0.133_333_333_055_457_03,
    -0.053_968_179_917_142_73,
    0.021_862_570_994_493_707,
    -0.008_598_559_201_088_407,
];
