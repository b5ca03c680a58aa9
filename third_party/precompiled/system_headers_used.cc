// The same as libtorch_headers_used.cc for files that do not use LibTorch.

#if defined(__PIC__) && !defined(__clang__) && !defined(ACCEL_HEADERS_ARE_NOT_PRECOMPILED)
static_assert(sizeof(google::protobuf::Message) > 0);
#endif
