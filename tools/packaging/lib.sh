# Shared by tools/package and tools/package-cluster, which source it after tools/lib.sh. The same sources give the same bytes.

# Sets version, architecture, root (the folder that becomes the package) and SOURCE_DATE_EPOCH; needs build/release/src/latchkey.
begin_package() {
  version=$("$top/build/release/src/latchkey" --version); version=${version##* }
  architecture=$(dpkg --print-architecture)
  # The timestamp of its files: the commit's, or without a repository that of the newest source.
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null ||
    find "$top/meson.build" "$top/README.md" "$top/src" "$top/tools/packaging" -type f -printf '%Ts\n' | sort -n | tail -n 1)}
  export SOURCE_DATE_EPOCH

  root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
  chmod 755 "$root"
}
put() { install -D -m "$1" "$2" "$root/$3"; }

# depends_on FILE...: the packages of the libraries that these link, with the installed versions as minimum.
depends_on() {
  local library
  objdump -p "$@" | awk '$1 == "NEEDED" { print $2 }' | while read -r library; do
    ldd "$@" | awk -v name="$library" '$1 == name { print $3 }'
  done | xargs -r readlink -f | sed 's|^/usr/lib/|/lib/|' | while read -r library; do
    dpkg -S "$library" "/usr$library" 2>/dev/null | sed -n '1s/:.*//p'
  done | sort -u | while read -r package; do
    printf '%s (>= %s), ' "$package" "$(dpkg-query -W -f '${Version}' "$package" | sed -E 's/^([0-9]+:)?(.*)-[^-]*$/\1\2/')"
  done
}

# finish_package NAME: makes the package of $root in the folder $out.
finish_package() {
  (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$root" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0r touch --no-dereference --date="@$SOURCE_DATE_EPOCH"

  mkdir -p "$out"
  package=$out/$1_${version}_$architecture.deb
  dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
  say "built $package"
}
