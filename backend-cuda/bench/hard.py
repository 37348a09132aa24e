"""Reductions that are hard: few or very many elements to an outcome, one outcome or tens of millions, thin axes, strides, narrow types.

The words that `devarray bench compute` takes: NAME;EXPR;INPUTS;REDUCE.
"""

CASES = """
all-1e9-f32;x0;f32@1000000000;sum
all-1e9-u8;x0;u8@1000000000;max
all-1e8-i64;x0;i64@100000000;sum
all-count-u8;x0;u8@800000000;count_nonzero
all-offset-f32;x0;f32@200000001/index(1:);sum
all-reversed-f32;x0;f32@200000000/index(::-1);sum
all-step-3-f32;x0;f32@600000000/index(::3);sum
all-squares-f32;(x0-x1)*(x0-x1);f32@200000000,f32@200000000;mean
rows-1-f32;x0;f32@50000000x1;sum@1
rows-2-f32;x0;f32@50000000x2;sum@1
rows-3-f32;x0;f32@50000000x3;sum@1
rows-7-f32;x0;f32@30000000x7;sum@1
rows-16-f16;x0;f16@20000000x16;sum@1
rows-33-f32;x0;f32@8000000x33;sum@1
rows-100-f32;x0;f32@2000000x100;mean@1
rows-1000-f64;x0;f64@200000x1000;sum@1
rows-2000-f16;x0;f16@200000x2000;argmin@1
rows-5000-f32;x0;f32@40000x5000;max@1
rows-20000-f32;x0;f32@10000x20000;var@1
rows-100003-f32;x0;f32@2000x100003;sum@1
rows-1e6-f32;x0;f32@200x1000000;argmax@1
rows-1e8-f32;x0;f32@2x100000000;sum@1
rows-step-2-f32;x0;f32@16384x32768/index(:,::2);sum@1
rows-turned-f32;x0;f32@16384x16384/permute(1,0);sum@1
rows-cast-u8;cast(x0,f32);u8@40000x20000;sum@1
rows-times-row-f32;x0*x1;f32@20000x10000,f32@10000;sum@1
columns-3-f32;x0;f32@67108864x3;sum@0
columns-17-f32;x0;f32@12000000x17;sum@0
columns-100-f32;x0;f32@2000000x100;max@0
columns-1000-f16;x0;f16@400000x1000;sum@0
columns-5000-u8;x0;u8@160000x5000;sum@0
columns-5000-bool;x0;bool@160000x5000;any@0
columns-4000-i8;x0;i8@200000x4000;min@0
columns-10000-f64;x0;f64@10000x10000;sum@0
columns-1e5-f32;x0;f32@2000x100000;sum@0
columns-1e7-f32;x0;f32@20x10000000;sum@0
columns-1e8-f32;x0;f32@2x100000000;sum@0
middle-4-f32;x0;f32@1000000x50x4;sum@1
middle-16-f32;x0;f32@100000x100x16;sum@1
middle-2000-f32;x0;f32@100x1000x2000;sum@1
middle-of-4-f32;x0;f32@100000x4x500;sum@1
outer-and-inner-f32;x0;f32@300x700x900;sum@0,2
turned-three-f32;x0;f32@500x600x700/permute(2,0,1);sum@1
""".split()
