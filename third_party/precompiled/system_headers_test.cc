// The same as system_headers_used.cc for the options of a test.

#if defined(__PIC__) && !defined(__clang__) && !defined(ACCEL_HEADERS_ARE_NOT_PRECOMPILED)
static_assert(sizeof(google::protobuf::Message) > 0 && sizeof(testing::Test) > 0);
#endif
