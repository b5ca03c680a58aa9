// Trees that CheckTree() refuses, for the tests of the client, the coordinator and the node.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "upload/core/tree.h"

namespace accel::upload {

struct BadTree {
  std::string what;
  Tree tree;
  std::string error;  // A part of the message.
};

inline TreeEntry FileEntry(std::string path, int64_t size = 1) {
  return {.path = std::move(path), .size = size, .sha256 = std::string(64, 'a')};
}

inline TreeEntry LinkEntry(std::string path, std::string target) {
  return {.path = std::move(path), .link = std::move(target)};
}

inline std::vector<BadTree> BadTrees() {
  std::vector<BadTree> bad = {
      {"nothing", {}, "no file"},
      {"an absolute path", {FileEntry("/etc/x")}, "relative"},
      {"a path out", {FileEntry("../x")}, "relative"},
      {"a path out and back", {FileEntry("a/../../x")}, "relative"},
      {"a dot", {FileEntry("a/./x")}, "relative"},
      {"an empty part", {FileEntry("a//x")}, "relative"},
      {"a folder", {FileEntry("a/")}, "relative"},
      {"a line feed", {FileEntry("a\nb")}, "control"},
      {"a tab", {FileEntry("a\tb")}, "control"},
      {"a DEL", {FileEntry("a\x7f")}, "control"},
      {"no UTF-8", {FileEntry("a\xff")}, "not UTF-8"},
      {"a long path", {FileEntry(std::string(1025, 'x'))}, "1024 bytes"},
      {"a long name", {FileEntry(std::string(256, 'x'))}, "255 bytes"},
      {"a negative size", {FileEntry("a", -1)}, "size"},
      {"a file too large", {FileEntry("big", (int64_t{2} << 30) + 1)}, "big alone has 2048 MiB"},
      {"too much", {FileEntry("a", int64_t{2} << 30), FileEntry("b")}, "more than 2048 MiB"},
      {"not sorted", {FileEntry("b"), FileEntry("a")}, "not sorted"},
      {"twice", {FileEntry("a"), FileEntry("a")}, "not sorted"},
      {"a file as a folder", {FileEntry("a"), FileEntry("a-b"), FileEntry("a/b")}, "folder"},
      {"a link as a folder", {LinkEntry("a", "b"), FileEntry("a/b")}, "folder"},
      {"a link to the root", {LinkEntry("a", "/etc")}, "out of the upload"},
      {"a link out", {LinkEntry("a", "../x")}, "out of the upload"},
      {"a link out of a folder", {LinkEntry("d/a", "../../x")}, "out of the upload"},
      {"a link that goes up late", {LinkEntry("d/a", "b/../c")}, "out of the upload"},
      {"a link with an empty part", {LinkEntry("a", "b//c")}, "out of the upload"},
      {"a link with a line feed", {LinkEntry("a", "b\nc")}, "target"},
  };
  std::string deep = "d";
  for (int i = 0; i < 32; ++i) deep += "/d";
  bad.push_back({"a deep path", {FileEntry(deep)}, "32 folders deep"});
  Tree many;
  for (size_t i = 0; i <= kMaxEntries; ++i) many.push_back(FileEntry(absl::StrCat(100'000 + i)));
  bad.push_back({"too many files", many, "20000 files"});
  return bad;
}

}  // namespace accel::upload
