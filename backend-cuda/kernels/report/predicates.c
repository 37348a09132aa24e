/* Functions of predicates that the CUDA driver's assembler gets wrong, beside the same functions of words, which it gets right.
 *
 *     gcc -O1 -o predicates predicates.c -ldl && ./predicates
 *
 * Needs an NVIDIA driver and a GPU; no toolkit. It loads libcuda.so.1 by itself. Each text is compiled by the driver at the default
 * level and at the optimization levels 0 to 4, run on every combination of its inputs, and compared with what its PTX means.
 * Ends with 0 if everything is right, 1 if something is wrong, 2 if nothing could be run.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long address; /* CUdeviceptr */

static int (*cuInit)(unsigned);
static int (*cuDriverGetVersion)(int *);
static int (*cuDeviceGet)(int *, int);
static int (*cuDeviceGetName)(char *, int, int);
static int (*cuDeviceGetAttribute)(int *, int, int);
static int (*cuDevicePrimaryCtxRetain)(void **, int);
static int (*cuCtxSetCurrent)(void *);
static int (*cuMemAlloc)(address *, size_t);
static int (*cuMemcpyHtoD)(address, const void *, size_t);
static int (*cuMemcpyDtoH)(void *, address, size_t);
static int (*cuMemsetD8)(address, unsigned char, size_t);
static int (*cuModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
static int (*cuModuleGetFunction)(void **, void *, const char *);
static int (*cuModuleUnload)(void *);
static int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static const struct { const char *name; void **to; } SYMBOLS[] = {
    {"cuInit", (void **)&cuInit},
    {"cuDriverGetVersion", (void **)&cuDriverGetVersion},
    {"cuDeviceGet", (void **)&cuDeviceGet},
    {"cuDeviceGetName", (void **)&cuDeviceGetName},
    {"cuDeviceGetAttribute", (void **)&cuDeviceGetAttribute},
    {"cuDevicePrimaryCtxRetain", (void **)&cuDevicePrimaryCtxRetain},
    {"cuCtxSetCurrent", (void **)&cuCtxSetCurrent},
    {"cuMemAlloc_v2", (void **)&cuMemAlloc},
    {"cuMemcpyHtoD_v2", (void **)&cuMemcpyHtoD},
    {"cuMemcpyDtoH_v2", (void **)&cuMemcpyDtoH},
    {"cuMemsetD8_v2", (void **)&cuMemsetD8},
    {"cuModuleLoadDataEx", (void **)&cuModuleLoadDataEx},
    {"cuModuleGetFunction", (void **)&cuModuleGetFunction},
    {"cuModuleUnload", (void **)&cuModuleUnload},
    {"cuLaunchKernel", (void **)&cuLaunchKernel},
};

/* where(x, where(k | x, a, b), where((k & x) | !k, c, a)) for each element: x is a byte, k a truth value that all lanes share, a and
 * b are floats, c is one float. Where x is true the result is a. */
static const char HEAD[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry map(.param .align 8 .b8 p[48])\n.maxntid 256, 1, 1\n{\n"
    ".reg .pred %p<20>; .reg .b32 %r<20>; .reg .b64 %l<8>; .reg .f32 %f<8>;\n"
    "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %tid.x;\nmad.lo.s32 %r2, %r0, 256, %r1;\n"
    "ld.param.b32 %r3, [p+44];\nsetp.ge.u32 %p0, %r2, %r3;\n@%p0 bra END;\n"
    "ld.param.b64 %l0, [p+0];\nld.param.b64 %l1, [p+8];\nld.param.b64 %l2, [p+16];\nld.param.b64 %l3, [p+24];\n"
    "ld.param.u8 %r4, [p+32];\nsetp.ne.u32 %p1, %r4, 0;\nld.param.f32 %f0, [p+40];\n"
    "mad.wide.s32 %l4, %r2, 4, %l0;\nmad.wide.s32 %l5, %r2, 1, %l1;\n"
    "mad.wide.s32 %l6, %r2, 4, %l2;\nmad.wide.s32 %l7, %r2, 4, %l3;\n"
    "ld.global.nc.u8 %r9, [%l5+0];\nld.global.nc.f32 %f2, [%l6+0];\nld.global.nc.f32 %f3, [%l7+0];\n"
    "setp.ne.u32 %p3, %r9, 0;\n";
static const char TAIL[] = "selp.f32 %f6, %f4, %f5, %p3;\nst.global.f32 [%l4+0], %f6;\nEND:\nret;\n}\n";

static const struct { const char *name, *body; } TEXTS[] = {
    {"predicates",
     "or.pred %p4, %p1, %p3;\nselp.f32 %f4, %f2, %f3, %p4;\n"
     "and.pred %p5, %p1, %p3;\nnot.pred %p6, %p1;\nor.pred %p8, %p5, %p6;\nselp.f32 %f5, %f0, %f2, %p8;\n"},
    {"predicates, with an AND with true",
     "mov.pred %p2, 1;\nor.pred %p4, %p1, %p3;\nselp.f32 %f4, %f2, %f3, %p4;\n"
     "and.pred %p5, %p1, %p3;\nnot.pred %p6, %p1;\nand.pred %p7, %p6, %p2;\nor.pred %p8, %p5, %p7;\nselp.f32 %f5, %f0, %f2, %p8;\n"},
    {"predicates, k in a register of each lane",
     "mul.lo.u32 %r10, %r2, 0;\nadd.u32 %r11, %r4, %r10;\nsetp.ne.u32 %p1, %r11, 0;\n"
     "or.pred %p4, %p1, %p3;\nselp.f32 %f4, %f2, %f3, %p4;\n"
     "and.pred %p5, %p1, %p3;\nnot.pred %p6, %p1;\nor.pred %p8, %p5, %p6;\nselp.f32 %f5, %f0, %f2, %p8;\n"},
    {"words of 0 and 1 (the way round)",
     "or.b32 %r14, %r4, %r9;\nsetp.ne.u32 %p4, %r14, 0;\nselp.f32 %f4, %f2, %f3, %p4;\n"
     "and.b32 %r15, %r4, %r9;\nxor.b32 %r16, %r4, 1;\nor.b32 %r17, %r15, %r16;\nsetp.ne.u32 %p8, %r17, 0;\n"
     "selp.f32 %f5, %f0, %f2, %p8;\n"},
};

static void check(int code, const char *what)
{
    if (code == 0) return;
    printf("%s: error %d\n", what, code);
    fflush(stdout);
    _Exit(2);
}

/* Runs a text at a level (-1: the default) and prints what is wrong. */
static int wrong(const char *text, int level, address out, address x, address a, address b)
{
    static const unsigned char X[2] = {0, 1};
    static const float A[2] = {1, 2}, B[2] = {10, 20}, C = 99;
    int option = 7, bad = 0; /* CU_JIT_OPTIMIZATION_LEVEL */
    void *value = (void *)(uintptr_t)level, *module, *function;
    check(cuModuleLoadDataEx(&module, text, level < 0 ? 0 : 1, &option, &value), "cuModuleLoadDataEx");
    check(cuModuleGetFunction(&function, module, "map"), "cuModuleGetFunction");
    for (unsigned k = 0; k < 2; k++) {
        float found[2];
        struct { address out, x, a, b; unsigned char k, gap[7]; float c; unsigned n; } all = {out, x, a, b, (unsigned char)k, {0}, C, 2};
        void *parameters[] = {&all};
        check(cuMemsetD8(out, 0, sizeof found), "cuMemsetD8");
        check(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, 0, parameters, 0), "cuLaunchKernel");
        check(cuMemcpyDtoH(found, out, sizeof found), "cuMemcpyDtoH");
        for (int i = 0; i < 2; i++) {
            int first = k | X[i], second = (k & X[i]) | !k;
            float due = X[i] ? (first ? A[i] : B[i]) : (second ? C : A[i]);
            if (found[i] != due) {
                printf("%s k=%u x=%u gives %g, not %g", bad ? ";" : " WRONG:", k, X[i], found[i], due);
                bad = 1;
            }
        }
    }
    if (!bad) printf(" right");
    check(cuModuleUnload(module), "cuModuleUnload");
    return bad;
}

int main(void)
{
    static const unsigned char X[2] = {0, 1};
    static const float A[2] = {1, 2}, B[2] = {10, 20};
    char name[256] = "", text[8192];
    int device, version, major, minor, bad = 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    address out, x, a, b;
    if (!library) {
        printf("no driver: %s\n", dlerror());
        return 2;
    }
    for (size_t i = 0; i < sizeof SYMBOLS / sizeof *SYMBOLS; i++)
        if (!(*SYMBOLS[i].to = dlsym(library, SYMBOLS[i].name))) {
            printf("the driver has no %s\n", SYMBOLS[i].name);
            return 2;
        }
    check(cuInit(0), "cuInit");
    check(cuDriverGetVersion(&version), "cuDriverGetVersion");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
    check(cuDeviceGetAttribute(&major, 75, device), "cuDeviceGetAttribute");
    check(cuDeviceGetAttribute(&minor, 76, device), "cuDeviceGetAttribute");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuMemAlloc(&out, 8), "cuMemAlloc");
    check(cuMemAlloc(&x, 2), "cuMemAlloc");
    check(cuMemAlloc(&a, 8), "cuMemAlloc");
    check(cuMemAlloc(&b, 8), "cuMemAlloc");
    check(cuMemcpyHtoD(x, X, 2), "cuMemcpyHtoD");
    check(cuMemcpyHtoD(a, A, 8), "cuMemcpyHtoD");
    check(cuMemcpyHtoD(b, B, 8), "cuMemcpyHtoD");
    printf("%s, compute capability %d.%d, driver for CUDA %d.%d\n", name, major, minor, version / 1000, version % 1000 / 10);
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        snprintf(text, sizeof text, "%s%s%s", HEAD, TEXTS[i].body, TAIL);
        printf("%s\n", TEXTS[i].name);
        for (int level = -1; level <= 4; level++) {
            if (level < 0) printf("    default level:");
            else printf("    level %d:", level);
            bad |= wrong(text, level, out, x, a, b);
            printf("\n");
        }
    }
    printf(bad ? "something is wrong\n" : "everything is right\n");
    return bad;
}
