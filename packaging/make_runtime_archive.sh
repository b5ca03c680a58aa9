#!/usr/bin/env bash
# Packs the runtime: make_runtime_archive.sh OUT.tar.gz LIBRARY HEADERS CONFIG VERSION LICENSE LIBRARY-OF-THE-SYSTEM…,
# where HEADERS lists paths of headers from the root of the checkout. The same inputs give the same bytes.
set -euo pipefail
out=$1 library=$2 headers=$3 config=$4 license=$6
version=$(sed -n 's/.*kVersion[^"]*"\([^"]*\)".*/\1/p' "$5")
shift 6
[ -n "$version" ]
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
root=$top/accel-$version
cmake=$root/lib/cmake/accel
mkdir -p "$cmake" "$root/include"
cp -L "$library" "$root/lib/libaccel.a"
while read -r header; do install -D -m 644 "$header" "$root/include/$header"; done <"$headers"
cp -L "$license" "$root/LICENSE"
sed -e "s/@SYSTEM_LIBRARIES@/$*/" -e "s/@VERSION@/$version/" "$config" >"$cmake/accel-config.cmake"
cat >"$cmake/accel-config-version.cmake" <<VERSION
set(PACKAGE_VERSION "$version")
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
VERSION
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$top" -c "accel-$version" | gzip -n >"$out"
