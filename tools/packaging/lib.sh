# Shared by tools/package, tools/package-cluster and tools/package-clients, which source it after tools/lib.sh. The same sources
# give the same bytes.

packaged=$top/build/packaged
maintainer="${DEBFULLNAME:-latchkey} <${DEBEMAIL:-latchkey@example.com}>"

# The flags for every processor that a package is for: x86-64-v2 (SSE4.2, POPCNT) has been in each since 2009 to 2013. On arm64
# the base of the architecture is enough, whose newer atomic instructions are chosen when they are there.
processor_flags() { [ "$(dpkg --print-architecture)" != amd64 ] || echo -march=x86-64-v2; }

# set_flags FOLDER FLAG...: compiles with these from now on.
set_flags() {
  local folder=$1 list; shift
  list=$([ $# -eq 0 ] || printf ",'%s'" "$@"); list="[${list#,}]"
  [ "$(cat "$folder/flags" 2>/dev/null)" != "$list" ] || return 0
  meson configure "$folder" "-Dc_args=$list" "-Dcpp_args=$list" >/dev/null || die "meson could not configure ${folder#"$top"/}"
  printf %s "$list" >"$folder/flags"
}

# configure_profiled NAME PROFILE FLAG...: configures build/NAME as tools/native/packaged.ini says, with a profile (or none: '').
# Functions that have changed since it was made are compiled without it, and that is no warning.
configure_profiled() {
  local name=$1 profile=$2 flags=("${@:3}")
  "$top/tools/boringssl"
  configure "$name" -Dboringssl_prefix=../boringssl
  if [ -n "$profile" ]; then
    # Named from the build directory, and so that meson, which tries the compiler in a folder below, finds it there too.
    ln -sf "../${profile##*/}" "$top/build/$name/"
    flags+=("-fprofile-use=../${profile##*/}" -Wno-profile-instr-unprofiled -Wno-profile-instr-out-of-date -Wno-backend-plugin)
  fi
  set_flags "$top/build/$name" "${flags[@]}"
}

# build_packaged TARGET...: builds these with the profile that tools/profile made, and with everything but the C library, zlib,
# libcurl and libpq linked in.
build_packaged() {
  local profile=$top/tools/packaging/profile.xz data='' flags
  if [ -e "$profile" ]; then
    # Its name changes with it, so that ninja builds anew.
    data=$top/build/profile.$(sha256sum "$profile" | cut -c1-16)
    [ -e "$data" ] || { mkdir -p "$top/build" && xz -dc "$profile" >"$data.text" &&
      llvm-profdata-19 merge -o "$data.new" "$data.text" && rm "$data.text" && mv "$data.new" "$data"; } || die "$profile cannot be read"
  fi
  mapfile -t flags < <(processor_flags)
  configure_profiled packaged "$data" "${flags[@]}"
  build packaged "$@"
}

# Sets version, architecture, root (the folder that becomes the package) and SOURCE_DATE_EPOCH; needs build/packaged/src/latchkey.
begin_package() {
  version=$("$packaged/src/latchkey" --version); version=${version##* }
  architecture=$(dpkg --print-architecture)
  # The timestamp of its files: the commit's, or without a repository that of the newest source.
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null ||
    find "$top/meson.build" "$top/README.md" "$top/src" "$top/tools/packaging" -type f -printf '%Ts\n' | sort -n | tail -n 1)}
  export SOURCE_DATE_EPOCH

  root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
  chmod 755 "$root"
}
put() { install -D -m "$1" "$2" "$root/$3"; }

# put_program TARGET PATH: a program of build/packaged, without its symbols.
put_program() {
  put 755 "$packaged/$1" "$2"
  llvm-strip-19 --remove-section=.comment "$root/$2"
}

# put_documents NAME: licence and changelog.
put_documents() {
  local name=$1 folder=$root/usr/share/doc/$1
  put 644 "$top/tools/packaging/copyright" "usr/share/doc/$name/copyright"
  printf '%s (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n' "$name" "$version" "$version" "$maintainer" \
    "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$folder/changelog.gz"
  chmod 644 "$folder/changelog.gz"
}

# put_components NAME TARGET...: the list of components (SBOM) of these targets, and the licences of what is linked in.
put_components() {
  local name=$1 folder=$root/usr/share/doc/$1 component; shift
  "$top/tools/packaging/sbom.py" --build "$packaged" --boringssl "$top/build/boringssl" --name "$name" --version "$version" \
    --time "$SOURCE_DATE_EPOCH" "$@" >"$folder/sbom.cdx.json"
  # The licences of most ask that they go with the program.
  python3 -c '
import json, sys
for each in json.load(sys.stdin)["components"]:
    if {"name": "latchkey:linked", "value": "static"} in each["properties"]:
        print(each["name"])' <"$folder/sbom.cdx.json" | while read -r component; do
    [ "$component" != boringssl ] || component=android-libboringssl
    [ ! -e "/usr/share/doc/$component/copyright" ] || put 644 "/usr/share/doc/$component/copyright" "usr/share/doc/$name/licences/$component"
  done
  chmod 644 "$folder/sbom.cdx.json"
}

# depends_on FILE...: the packages of the libraries that these link, each with the lowest version that has the symbols they use.
depends_on() {
  local scratch; scratch=$(mktemp -d)
  mkdir "$scratch/debian"; printf 'Source: latchkey\n\nPackage: latchkey\nArchitecture: any\n' >"$scratch/debian/control"
  (cd "$scratch" && dpkg-shlibdeps -O --warnings=0 "${@/#/-e}" 2>/dev/null) | sed -n 's/^shlibs:Depends=\(.*\)$/\1, /p'
  rm -rf "$scratch"
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
