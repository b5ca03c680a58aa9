"""Checks that a file includes the headers of the names that it uses, itself or through our own headers.

The compiler does not find a forgotten header, because most files are compiled with the headers of the standard library,
Abseil and googletest already parsed (docs/decisions/0030). Builds without that, such as `-c opt`, would fail, and the
check of pure cores would not see what a core uses.
"""

import re

from tools.checks.cpp import is_code
from tools.checks.includes import includes

TITLE = "a file uses a name whose header neither it nor one of our headers that it includes has"

_STANDARD = {
    "algorithm": "all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if equal equal_range fill fill_n find"
                 " find_first_of find_if"
                 " find_if_not for_each generate lower_bound max max_element min min_element minmax mismatch none_of nth_element"
                 " partial_sort partition partition_point remove_if replace reverse rotate search shuffle sort stable_sort"
                 " transform unique upper_bound",
    "array": "array",
    "atomic": "atomic atomic_flag memory_order_acquire memory_order_relaxed memory_order_release",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "abs ceil exp floor isfinite isinf isnan lround pow round sqrt",
    "condition_variable": "condition_variable",
    "cstdint": "int16_t int32_t int64_t int8_t intptr_t uint16_t uint32_t uint64_t uint8_t uintptr_t",
    "cstdio": "fclose fflush fopen fprintf fputs fread fwrite perror printf remove rename snprintf",
    "cstdlib": "_Exit abort atof atoi exit free getenv malloc quick_exit strtol strtoull",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strsignal",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception uncaught_exceptions",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream",
    "functional": "bind cref function greater hash less plus ref reference_wrapper",
    "future": "async future promise",
    "initializer_list": "initializer_list",
    "iostream": "cerr cin clog cout",
    "iterator": "advance back_inserter distance inserter istreambuf_iterator make_move_iterator next prev ssize",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag scoped_lock unique_lock",
    "numeric": "accumulate gcd inner_product iota lcm midpoint reduce",
    "optional": "make_optional nullopt optional",
    "queue": "priority_queue queue",
    "random": "bernoulli_distribution mt19937 mt19937_64 normal_distribution random_device uniform_int_distribution"
              " uniform_real_distribution",
    "regex": "regex regex_match regex_replace regex_search smatch",
    "set": "multiset set",
    "span": "span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "domain_error invalid_argument length_error logic_error out_of_range overflow_error runtime_error",
    "string": "getline stod stoi stol stoll stoul stoull string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code generic_category make_error_code system_category system_error",
    "thread": "jthread this_thread thread",
    "tuple": "apply forward_as_tuple ignore make_tuple tie tuple tuple_element tuple_size",
    "type_traits": "conditional_t decay_t enable_if_t is_base_of_v is_same is_same_v remove_cvref_t true_type",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "as_const declval exchange forward make_pair move pair swap",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
_ABSEIL = {
    "absl/container/flat_hash_map.h": "flat_hash_map",
    "absl/container/flat_hash_set.h": "flat_hash_set",
    "absl/functional/any_invocable.h": "AnyInvocable",
    "absl/status/status.h": "AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError"
                            " FailedPreconditionError InternalError InvalidArgumentError NotFoundError OkStatus"
                            " OutOfRangeError PermissionDeniedError ResourceExhaustedError Status StatusCode"
                            " UnauthenticatedError UnavailableError UnimplementedError UnknownError",
    "absl/status/statusor.h": "StatusOr",
    "absl/strings/ascii.h": "AsciiStrToLower AsciiStrToUpper StripAsciiWhitespace ascii_isalnum ascii_isdigit ascii_isspace"
                            " ascii_isxdigit ascii_tolower",
    "absl/strings/escaping.h": "Base64Escape Base64Unescape BytesToHexString CEscape CHexEscape HexStringToBytes",
    "absl/strings/match.h": "EndsWith EqualsIgnoreCase StartsWith StrContains",
    "absl/strings/numbers.h": "SimpleAtob SimpleAtod SimpleAtoi SimpleHexAtoi",
    "absl/strings/str_cat.h": "AlphaNum Hex StrAppend StrCat",
    "absl/strings/str_format.h": "StrAppendFormat StrFormat",
    "absl/strings/str_join.h": "StrJoin",
    "absl/strings/str_replace.h": "StrReplaceAll",
    "absl/strings/str_split.h": "ByAnyChar MaxSplits SkipEmpty StrSplit",
    "absl/strings/string_view.h": "string_view",
    "absl/strings/strip.h": "ConsumePrefix ConsumeSuffix StripPrefix StripSuffix",
    "absl/synchronization/mutex.h": "Condition CondVar Mutex MutexLock ReaderMutexLock ReleasableMutexLock",
    "absl/synchronization/notification.h": "Notification",
    "absl/time/clock.h": "GetCurrentTimeNanos Now SleepFor",
    "absl/time/time.h": "Duration FormatDuration FormatTime FromUnixNanos FromUnixSeconds InfiniteDuration InfiniteFuture"
                        " Milliseconds Minutes ParseDuration Seconds Time ToDoubleSeconds ToInt64Milliseconds ToUnixNanos"
                        " ToUnixSeconds ZeroDuration",
}


def _headers(names_by_header):
    return {name: header for header, names in names_by_header.items() for name in names.split()}


_BY_SPACE = {"std": _headers(_STANDARD), "absl": _headers(_ABSEIL)}
_MACRO = re.compile(r"(?P<gmock>(EXPECT|ASSERT)_THAT|EXPECT_CALL|ON_CALL|MOCK_METHOD)|TEST(_F|_P)?|(EXPECT|ASSERT)_[A-Z]+")
# Headers that provide the names of other headers: the standard says so, or they could not be written otherwise.
_ALSO = {
    "absl/status/statusor.h": {"absl/status/status.h"},
    "absl/time/clock.h": {"absl/time/time.h"},
    "errno.h": {"cerrno"},
    "gmock/gmock.h": {"gtest/gtest.h"},
    "string": {"string_view"},
}


def _reached(tree, path):
    """Returns all foreign headers that a file includes, itself or through our own headers."""
    foreign, ours, waiting = set(), {path}, [path]
    while waiting:
        for _, header in includes(tree, waiting.pop()):
            if header not in tree:
                foreign.update({header}, _ALSO.get(header, ()))
            elif header not in ours:
                ours.add(header)
                waiting.append(header)
    return foreign


def _used(tree, path):
    """Yields (line, name, header) for each name that is written with its namespace, and for each macro."""
    code = [token for token in tree.tokens(path) if is_code(token)]
    for name, bracket in zip(code, code[1:]):
        macro = bracket.text == "(" and name.kind == "name" and _MACRO.fullmatch(name.text)
        if name.text == "errno":
            yield name.line, "errno", "cerrno"
        if macro:
            yield name.line, name.text, "gmock/gmock.h" if macro["gmock"] else "gtest/gtest.h"
    code = [token for token in code if token.text != "ranges"]  # std::ranges::sort has the header of std::sort.
    for i, space in enumerate(code[:-2]):
        if space.text in _BY_SPACE and code[i + 1].text == "::":
            name = next((token.text for token in code[i + 1:i + 4] if token.text != "::"), "")
            header = _BY_SPACE[space.text].get(name)
            if header:
                yield space.line, f"{space.text}::{name}", header


def faults(tree):
    found = []
    for path in tree.paths(".cc", ".h"):
        reached, told = _reached(tree, path), set()
        for line, name, header in _used(tree, path):
            if header not in reached | told:
                told.add(header)
                found.append(f"{path}:{line}: {name} needs <{header}>")
    return found
