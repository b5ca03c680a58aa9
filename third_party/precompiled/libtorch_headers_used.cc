// Compiles only if GCC takes the precompiled headers of LibTorch for this file, which includes none
// itself. GCC ignores them without a word if an option or a macro of the compilation differs from
// theirs, and each file that uses LibTorch then takes half as long again (docs/decisions/0030).

// clang knows no such headers.
#if defined(__PIC__) && !defined(__clang__) && !defined(ACCEL_HEADERS_ARE_NOT_PRECOMPILED)
static_assert(sizeof(torch::nn::Module) > 0);
#endif
